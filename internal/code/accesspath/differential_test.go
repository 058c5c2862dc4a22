package accesspath

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// builds are the compiler commands for the program of the differential test.
var builds = []string{
	"gcc -O2 -no-pie -fcf-protection", "gcc -O1 -fPIE -pie -fstack-protector-all", "gcc -Os -fPIE -pie",
	"gcc -O0 -no-pie",
	"clang-16 -O2 -fPIE -pie", "clang-16 -O1 -no-pie", "clang-16 -O0 -fPIE -pie",
	"clang-16 -O3 -march=haswell -fno-plt -fPIE -pie",
}

// TestDifferential compares the results of functions on the processor with those of the executor, for many
// arguments.
func TestDifferential(t *testing.T) {
	omptest.Needs(t, "compilers")
	for _, build := range builds {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			exe := filepath.Join(t.TempDir(), "functions")
			words := append(strings.Fields(build), "-fwrapv", "-o", exe, "testdata/functions.c")
			if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", words, err, out)
			}
			out, err := exec.Command(exe).Output()
			if err != nil {
				t.Fatal(err)
			}
			differential(t, openLibrary(t, exe), out)
		})
	}
}

// crossBuilds are the compiler options for another processor.
var crossBuilds = []string{"-O0", "-O1", "-O2 -mbranch-protection=standard", "-O3 -march=armv8.2-a", "-Os -fPIC"}

// TestDifferentialAArch64 compares the executor for aarch64 with the results of the same functions on this
// processor.
func TestDifferentialAArch64(t *testing.T) {
	omptest.Needs(t, "compilers")
	exe := filepath.Join(t.TempDir(), "functions")
	if out, err := exec.Command("gcc", "-O1", "-fwrapv", "-o", exe,
		"testdata/functions.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, build := range crossBuilds {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			lib := filepath.Join(t.TempDir(), "functions")
			args := append([]string{"--target=aarch64-linux-gnu", "-DFUNCTIONS_ONLY", "-ffreestanding", "-nostdlib",
				"-static",
				"-Wl,--entry=helper", "-fuse-ld=lld", "-fwrapv", "-o", lib, "testdata/functions.c"},
				strings.Fields(build)...)
			if msg, err := exec.Command("clang-16", args...).CombinedOutput(); err != nil {
				t.Fatalf("clang-16 %v: %v\n%s", args, err, msg)
			}
			differential(t, openLibrary(t, lib), out)
		})
	}
}

// differential evaluates each line of the program's output.
func differential(t *testing.T, l *library, out []byte) {
	cfg := l.config()
	cfg.Follow = func(c symbolic.Target) bool { return c.Name == "" } // not functions of the C library
	paths := map[string][]symbolic.Path{}
	wrong := map[string]int{}
	lines := 0
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); lines++ {
		var name string
		var a, b, want int64
		if _, err := fmt.Sscan(sc.Text(), &name, &a, &b, &want); err != nil {
			t.Fatalf("%q: %v", sc.Text(), err)
		}
		if _, ok := paths[name]; !ok {
			s, ok := l.file.Lookup(name)
			if !ok {
				t.Fatalf("no function %s", name)
			}
			var err error
			if paths[name], err = Run(cfg, s.Value); err != nil {
				t.Fatal(err)
			}
		}
		got, err := evalPaths(paths[name], symbolic.Env{Mem: l, Args: []uint64{uint64(a), uint64(b)}})
		if err != nil || int64(got) != want {
			if wrong[name]++; wrong[name] == 1 {
				t.Errorf("%s(%d, %d) = %d, error %v, want %d", name, a, b, int64(got), err, want)
			}
		}
	}
	if lines < 30000 || len(paths) < 40 {
		t.Errorf("only %d results of %d functions", lines, len(paths))
	}
}
