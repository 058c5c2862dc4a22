package live

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const oddBuildsSource = "odd_builds.c"

// oddBuild is a build that users make in a way of their own.
type oddBuild struct {
	name    string
	runtime func(t *testing.T) omptest.Runtime
	build   func(t *testing.T, source, exe string)
}

func libomp16(t *testing.T) omptest.Runtime  { return omptest.RuntimeOf(t, 16) }
func libgomp12(t *testing.T) omptest.Runtime { return omptest.Libgomp(t) }

// compileWith returns a function that compiles by a compiler with some flags.
func compileWith(compiler string, flags ...string) func(t *testing.T, source, exe string) {
	return func(t *testing.T, source, exe string) {
		t.Helper()
		args := slices.Concat([]string{"-g", "-O2", "-fopenmp"}, flags, []string{"-o", exe, source})
		e2e.RunCompiler(t, exec.Command(omptest.Program(t, compiler), args...))
	}
}

// boltWith returns a function that compiles a program and has LLVM's BOLT move and split its functions by a strategy.
func boltWith(strategy, compiler string, flags ...string) func(t *testing.T, source, exe string) {
	return func(t *testing.T, source, exe string) {
		t.Helper()
		compileWith(compiler, append(flags, "-Wl,--emit-relocs")...)(t, source, exe+".before")
		bolt := omptest.PackageFile(t, "bolt-19", "usr/lib/llvm-19/bin/llvm-bolt")
		e2e.RunCompiler(t, exec.Command(bolt, exe+".before", "-o", exe, "-split-functions",
			"-split-strategy="+strategy, "-split-all-cold", "-update-debug-sections"))
	}
}

// linkMusl links a program with a distribution's static libgomp and musl.
func linkMusl(t *testing.T, source, exe string) {
	t.Helper()
	musl := func(name string) string { return omptest.PackageFile(t, "musl-dev", "usr/"+name) }
	object := func(name string) string { return musl("lib/x86_64-linux-musl/" + name) }
	gcc := omptest.Program(t, "gcc")
	file := func(name string) string {
		path, err := exec.Command(gcc, "-print-file-name="+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(path))
	}
	e2e.RunCompiler(t, exec.Command(gcc, "-g", "-O1", "-fopenmp", "-static", "-nostdlib", "-nostdinc",
		"-isystem", musl("include/x86_64-linux-musl"), "-isystem", file("include"), "-o", exe,
		object("crt1.o"), object("crti.o"), file("crtbeginT.o"), source, filepath.Join("testdata", "glibc_names.c"),
		file("libgomp.a"), file("libgcc.a"), file("libgcc_eh.a"), object("libc.a"), file("crtend.o"), object("crtn.o")))
}

func oddBuilds() []oddBuild {
	return []oddBuild{
		// BOLT damages GCC's line tables of DWARF 5.
		{"BOLT, GCC", libgomp12, boltWith("random2", "gcc", "-gdwarf-4")},
		{"BOLT, clang", libomp16, boltWith("random2", "clang-16")},
		{"BOLT, each block, GCC", libgomp12, boltWith("all", "gcc", "-gdwarf-4")},
		{"BOLT, each block, clang", libomp16, boltWith("all", "clang-16")},
		{"musl, static", libgomp12, linkMusl},
	}
}

// TestOddBuilds looks at a deadlock and at its healthy twin in builds whose files differ from those of compilers alone:
// the names, lines and holders are right, in a process and in its core.
func TestOddBuilds(t *testing.T) {
	omptest.NeedsMore(t, "BOLT and musl")
	source := filepath.Join("testdata", oddBuildsSource)
	for _, b := range oddBuilds() {
		t.Run(b.name, func(t *testing.T) {
			exe, runtime := filepath.Join(t.TempDir(), "program"), b.runtime(t)
			b.build(t, source, exe)
			pid := startTarget(t, runtime, []string{exe, "0"})
			awaitStates(t, pid, 2, "wait_lock")
			core := gcore(t, pid)
			for _, target := range []string{fmt.Sprint(pid), core} {
				_, pic := e2e.Diagnose(t, target)
				checkOddDeadlock(t, pic)
			}
			pic := awaitStates(t, startTarget(t, runtime, []string{exe, "1"}), 1, "wait_lock")
			for _, v := range pic.Verdicts {
				if v.Severity == picture.SeverityHang {
					t.Errorf("a hang is reported in the healthy twin: %s", v.Summary)
				}
			}
		})
	}
}

// checkOddDeadlock checks the verdict on the deadlock of odd_builds.c, and the stacks of its threads.
func checkOddDeadlock(t *testing.T, pic *picture.Picture) {
	t.Helper()
	var hangs []picture.Verdict
	for _, v := range pic.Verdicts {
		if v.Severity == picture.SeverityHang && v.Kind != picture.VerdictBarrierMissing { // a consequence
			hangs = append(hangs, v)
		}
	}
	if len(hangs) != 1 || hangs[0].Kind != picture.VerdictDeadlock || len(hangs[0].Threads) != 2 {
		t.Fatalf("the hangs are %+v", hangs)
	}
	for _, w := range pic.Warnings {
		if strings.Contains(w, "without proof") {
			t.Errorf("warning: %s", w)
		}
	}
	line := lineOf(t, oddBuildsSource, "  omp_set_lock(two);")
	waiting := 0
	for _, th := range pic.Threads {
		var names []string
		for _, f := range th.UserStack {
			if f.Kind == picture.FrameUser {
				names = append(names, f.Function)
			}
		}
		if !slices.Contains(hangs[0].Threads, th.LWP) {
			if len(names) != 2 || names[1] != "main" { // the region's function, and the function that forked it
				t.Errorf("thread %d is in %q", th.LWP, names)
			}
			continue
		}
		waiting++
		i := slices.IndexFunc(th.UserStack, func(f picture.Frame) bool { return f.Kind == picture.FrameUser })
		if f := th.UserStack[max(i, 0)]; len(names) != 3 || names[0] != "transfer" || names[2] != "main" ||
			filepath.Base(f.File) != oddBuildsSource || f.Line != line {
			t.Errorf("thread %d is in %q, at %+v", th.LWP, names, f)
		}
	}
	if waiting != 2 {
		t.Errorf("%d threads of the verdict are listed, want 2", waiting)
	}
}
