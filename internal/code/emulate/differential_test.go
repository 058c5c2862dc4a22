package emulate_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// programs print the results of functions for many arguments.
var programs = []string{"../accesspath/testdata/functions.c", "testdata/atomics.c"}

// builds are the compiler commands for them.
var builds = []string{
	"gcc -O2 -no-pie -fcf-protection", "gcc -O1 -fPIE -pie -fstack-protector-all", "gcc -Os -fPIE -pie",
	"gcc -O0 -no-pie",
	"clang-16 -O2 -fPIE -pie", "clang-16 -O1 -no-pie", "clang-16 -O0 -fPIE -pie",
	"clang-16 -O3 -march=haswell -fno-plt -fPIE -pie",
}

// crossBuilds are the compiler options for aarch64.
var crossBuilds = []string{"-O0 -march=armv8.1-a", "-O1 -march=armv8.1-a", "-O2 -march=armv8.2-a+lse",
	"-O2 -mbranch-protection=standard -march=armv8.4-a", "-Os -fPIC -march=armv8.1-a"}

// crossCompiler is the compiler command for aarch64.
const crossCompiler = "clang-16 --target=aarch64-linux-gnu -DFUNCTIONS_ONLY -ffreestanding -nostdlib -static " +
	"-fsigned-char -Wl,--entry=helper -fuse-ld=lld "

// TestDifferential compares the results of functions on the processor with those of a Caller.
func TestDifferential(t *testing.T) {
	omptest.Needs(t, "compilers")
	for _, program := range programs {
		for _, build := range builds {
			t.Run(filepath.Base(program)+"/"+build, func(t *testing.T) {
				t.Parallel()
				exe := compile(t, build, program)
				compare(t, exe, output(t, exe))
			})
		}
	}
}

// TestDifferentialAArch64 compares the results of a Caller on aarch64 code with those of this processor.
func TestDifferentialAArch64(t *testing.T) {
	omptest.Needs(t, "compilers")
	for _, program := range programs {
		want := output(t, compile(t, "gcc -O1", program))
		for _, build := range crossBuilds {
			t.Run(filepath.Base(program)+"/"+build, func(t *testing.T) {
				t.Parallel()
				compare(t, compile(t, crossCompiler+build, program), want)
			})
		}
	}
}

func compile(t *testing.T, command, program string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "functions")
	words := append(strings.Fields(command), "-fwrapv", "-o", exe, program)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return exe
}

func output(t *testing.T, exe string) []byte {
	t.Helper()
	out, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// image is a program's file, read at the addresses in the file.
type image struct{ *elfx.File }

func (f image) ReadMemory(a callbacks.Address, p []byte) error {
	for len(p) > 0 {
		b, err := f.DataAt(a.Offset, len(p))
		if err != nil {
			return &callbacks.FaultError{Address: a, Err: err}
		}
		p = p[copy(p, b):]
		a = a.Add(uint64(len(b)))
	}
	return nil
}

// compare calls the function of each line of a program's output.
func compare(t *testing.T, exe string, out []byte) {
	t.Helper()
	lines, known := compareKnown(t, exe, out)
	for name, n := range lines {
		if known[name] != n {
			t.Errorf("%s: %d of %d results are unknown", name, n-known[name], n)
		}
	}
}

// compareKnown compares the results of the functions of each line of a program's output, if a Caller finds them. It
// returns the number of results, and of those that it finds, of each function.
func compareKnown(t *testing.T, exe string, out []byte) (lines, known map[string]int) {
	t.Helper()
	f, c, err := elfx.OpenPath(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	caller, err := emulate.NewCaller(f.Arch(), image{f})
	if err != nil {
		t.Fatal(err)
	}
	entries, wrong, total := map[string]uint64{}, map[string]bool{}, 0
	lines, known = map[string]int{}, map[string]int{}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); total++ {
		var name string
		var a, b, want int64
		if _, err := fmt.Sscan(sc.Text(), &name, &a, &b, &want); err != nil {
			t.Fatalf("%q: %v", sc.Text(), err)
		}
		if _, ok := entries[name]; !ok {
			s, ok := f.Lookup(name)
			if !ok {
				t.Fatalf("no function %s", name)
			}
			entries[name] = s.Value
		}
		out, err := caller.Call(entries[name], 0, []uint64{uint64(a), uint64(b)}, 0)
		lines[name]++
		if errors.Is(err, emulate.ErrOpaque) {
			continue
		}
		known[name]++
		if (err != nil || int64(out.Result) != want) && !wrong[name] {
			wrong[name] = true
			t.Errorf("%s(%d, %d) = %d, error %v, want %d", name, a, b, int64(out.Result), err, want)
		}
	}
	if total < 12000 || len(entries) < 28 {
		t.Errorf("only %d results of %d functions", total, len(entries))
	}
	return lines, known
}
