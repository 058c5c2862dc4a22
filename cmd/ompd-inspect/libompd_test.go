package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// buildLibompd makes the C library and the program that it starts, as `make
// libompd.so` does, and returns their directory.
func buildLibompd(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "ompd-inspect"), "."},
		{"make", "-s", "-C", "../..", "-o", "build", "libompd.so", "LIBOMPD=" + filepath.Join(dir, "libompd.so")},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return dir
}

// TestLibompdServesThePlugin puts our library in the place of LLVM's under LLVM's
// gdb plugin, on stripped runtimes, for cores and a process.
func TestLibompdServesThePlugin(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier"})
	env := []string{"OMP_DEBUG=enabled"}
	for _, s := range settings {
		env = append(env, s.env)
	}
	library := buildLibompd(t)
	for _, major := range []int{16, 19} {
		rt := omptest.RuntimeOf(t, major)
		dir, _ := symbolFile(t, rt.Lib)
		p := plugin{major: major, library: library, symbols: dir, runtime: rt}
		t.Run(rt.Name+"/core", func(t *testing.T) {
			core := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: env})
			p.args = []string{exe, core.Core}
			checkPlugin(t, p)
			if loaded := p.run(t, "python print(open('/proc/self/maps').read())"); !strings.Contains(loaded, filepath.Join(library, "libompd.so")) {
				t.Error("gdb has not loaded our library")
			}
		})
		t.Run(rt.Name+"/process", func(t *testing.T) {
			proc := omptest.Start(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Live, Env: env})
			p.args = []string{"-p", fmt.Sprint(proc.PID)}
			checkPlugin(t, p)
		})
	}
}
