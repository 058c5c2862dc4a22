package unwind_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// compile builds a program of testdata.
func compile(t testing.TB, cc, source string, flags ...string) string {
	t.Helper()
	omptest.Needs(t, "a C compiler")
	path, err := exec.LookPath(cc)
	if err != nil {
		t.Fatalf("no compiler: %v: apt-get install %s", err, cc)
	}
	exe := filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	args := append([]string{"-o", exe, filepath.Join("testdata", source), "-pthread", "-w"}, flags...)
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", cc, strings.Join(args, " "), err, out)
	}
	return exe
}

// TestStacksAsGdb checks that the stacks of testdata/stacks.c equal gdb's, frame for frame.
func TestStacksAsGdb(t *testing.T) {
	const threads, least = 11, 80 // of stacks.c; fewer frames would be a stack cut short
	for _, c := range []struct {
		name, cc, how string
		flags         []string
	}{
		{"gcc O0", "gcc", "null", []string{"-O0"}},
		{"gcc O2", "gcc", "vdso", []string{"-O2", "-fomit-frame-pointer"}},
		{"gcc O3", "gcc", "jump", []string{"-O3", "-fomit-frame-pointer"}},
		{"gcc Os", "gcc", "leaf", []string{"-Os", "-g", "-no-pie"}},
		{"gcc static", "gcc", "null", []string{"-O2", "-static"}},
		{"gcc static-pie", "gcc", "vdso", []string{"-O2", "-static-pie"}},
		{"gcc cet", "gcc", "abort", []string{"-O2", "-fcf-protection=full", "-mno-red-zone"}},
		{"clang O0", "clang-16", "jump", []string{"-O0"}},
		{"clang O2", "clang-16", "null", []string{"-O2", "-fomit-frame-pointer"}},
		{"clang O3", "clang-16", "leaf", []string{"-O3", "-fomit-frame-pointer"}},
		{"clang O1 frame pointer", "clang-16", "vdso", []string{"-O1", "-fno-omit-frame-pointer"}},
		{"gcc debug_frame", "gcc", "abort", []string{"-O2", "-g", "-fomit-frame-pointer",
			"-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}},
		{"clang debug_frame", "clang-16", "leaf", []string{"-O2", "-g", "-gdwarf-4", "-fomit-frame-pointer",
			"-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}},
		{"clang zdebug_frame", "clang-16", "null", []string{"-O2", "-g", "-gz=zlib", "-fomit-frame-pointer",
			"-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			exe := compile(t, c.cc, "stacks.c", c.flags...)
			r := omptest.Dump(t, omptest.Run{Exe: exe, Mode: omptest.Kernel, Args: []string{c.how}})
			if n := compareWithGdb(t, exe, r.Core); n < least {
				t.Errorf("%d frames in %d threads, want at least %d", n, threads, least)
			}
		})
	}
}
