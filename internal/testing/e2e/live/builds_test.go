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

const (
	oddBuildsSource  = "odd_builds.c"
	oddFortranSource = "odd_builds.f90"
)

// oddBuild is a build that users make in a way of their own.
type oddBuild struct {
	name    string
	family  string // of the runtime, as in a row of the results
	runtime func(t *testing.T) omptest.Runtime
	build   func(t *testing.T, source, exe string)
	bare    bool // without lines
	fortran bool
	cxx     bool
}

func libomp16(t *testing.T) omptest.Runtime  { return omptest.RuntimeOf(t, 16) }
func libgomp12(t *testing.T) omptest.Runtime { return omptest.Libgomp(t) }

// libompOf returns a function that returns LLVM's runtime of one release.
func libompOf(release int) func(t *testing.T) omptest.Runtime {
	return func(t *testing.T) omptest.Runtime { return omptest.RuntimeOf(t, release) }
}

// compileWith returns a function that compiles by a compiler with some flags.
func compileWith(compiler string, flags ...string) func(t *testing.T, source, exe string) {
	return func(t *testing.T, source, exe string) {
		t.Helper()
		args := slices.Concat([]string{"-g", "-O2", "-fopenmp"}, flags, []string{"-o", exe, source})
		if filepath.Ext(source) == ".f90" {
			args = append(args, "-fno-inline", "-J", filepath.Dir(exe))
		}
		e2e.RunCompiler(t, exec.Command(omptest.Program(t, compiler), args...))
	}
}

// plainWith returns a function that compiles by a compiler with some flags, without -g.
func plainWith(compiler string, flags ...string) func(t *testing.T, source, exe string) {
	return func(t *testing.T, source, exe string) {
		t.Helper()
		args := slices.Concat([]string{"-O2", "-fopenmp"}, flags, []string{"-o", exe, source})
		e2e.RunCompiler(t, exec.Command(omptest.Program(t, compiler), args...))
	}
}

// released returns a function that compiles by GCC of one release; the suffix is that of the language's files.
func released(release int, ext string, flags ...string) func(t *testing.T, source, exe string) {
	return func(t *testing.T, source, exe string) {
		t.Helper()
		args := append([]string{"-g", "-O2", "-fopenmp", "-o", exe}, flags...)
		library := ""
		switch ext {
		case ".c":
			args = append(args, source)
		case ".cc":
			args, library = append(args, "-x", "c++", source, "-x", "none"), "stdc++"
		case ".f90":
			args, library = append(args, source, "-fno-inline", "-J", filepath.Dir(exe)), "gfortran"
		}
		if library != "" { // the system's
			file, err := exec.Command(omptest.Program(t, "gcc"), "-print-file-name=lib"+library+".so").Output()
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, "-L"+filepath.Dir(string(file)), "-l"+library)
		}
		e2e.RunCompiler(t, exec.Command(omptest.ReleasedGCC(t, release, ext), args...))
	}
}

// insideWith returns a function that links a program with the static runtime of a release of GCC.
func insideWith(release int) func(t *testing.T, source, exe string) {
	return func(t *testing.T, source, exe string) {
		t.Helper()
		compileWith("gcc", "-static", "-L"+omptest.StaticLibgomps(t)[release])(t, source, exe)
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
	const llvm, gnu, inside = "libomp", "libgomp", "libgomp.a"
	all := []oddBuild{
		// BOLT damages GCC's line tables of DWARF 5.
		{name: "BOLT, GCC", family: gnu, runtime: libgomp12, build: boltWith("random2", "gcc", "-gdwarf-4")},
		{name: "BOLT, clang", family: llvm, runtime: libomp16, build: boltWith("random2", "clang-16")},
		{name: "BOLT, each block, GCC", family: gnu, runtime: libgomp12, build: boltWith("all", "gcc", "-gdwarf-4")},
		{name: "BOLT, each block, clang", family: llvm, runtime: libomp16, build: boltWith("all", "clang-16")},
		{name: "musl, static", family: inside, runtime: libgomp12, build: linkMusl},
		{name: "GCC, static libgomp 9", family: inside, runtime: libgomp12, build: insideWith(9)},
		{name: "GCC, -flto", family: gnu, runtime: libgomp12, build: compileWith("gcc", "-flto")},
		{name: "GCC, -g1", family: gnu, runtime: libgomp12, build: compileWith("gcc", "-g1")},
		{name: "GCC 14, -gz=zstd", family: gnu, runtime: libgomp12, build: released(14, ".c", "-gz=zstd")},
		{name: "GCC, no -g", family: gnu, runtime: libgomp12, build: plainWith("gcc"), bare: true},
		{name: "clang, -flto", family: llvm, runtime: libomp16,
			build: compileWith("clang-16", "-flto", "-fuse-ld=lld")},
		{name: "clang, -g1", family: llvm, runtime: libomp16, build: compileWith("clang-16", "-g1")},
		{name: "clang, -gz=zstd", family: llvm, runtime: libomp16, build: compileWith("clang-16", "-gz=zstd")},
		{name: "clang, no -g", family: llvm, runtime: libomp16, build: plainWith("clang-16"), bare: true},
		{name: "gfortran 12", family: gnu, runtime: libgomp12, build: compileWith("gfortran"), fortran: true},
	}
	for _, release := range []int{9, 11, 13} {
		all = append(all, oddBuild{name: fmt.Sprintf("clang, libomp %d", release), family: llvm,
			runtime: libompOf(release), build: compileWith("clang-16")})
	}
	for _, release := range []int{13, 14, 15, 16} {
		all = append(all,
			oddBuild{name: fmt.Sprintf("g++ %d", release), family: gnu, runtime: libgomp12,
				build: released(release, ".cc"), cxx: true},
			oddBuild{name: fmt.Sprintf("gfortran %d", release), family: gnu, runtime: libgomp12,
				build: released(release, ".f90"), fortran: true})
	}
	return all
}

// TestOddBuilds looks at a deadlock and at its healthy twin in builds that are not those of the matrices: the names,
// lines and holders are right, in a process and in its core.
func TestOddBuilds(t *testing.T) {
	omptest.NeedsMore(t, "BOLT, musl and other compilers")
	for _, b := range oddBuilds() {
		t.Run(b.name, func(t *testing.T) {
			source := oddBuildsSource
			if b.fortran {
				source = oddFortranSource
			}
			exe, runtime := filepath.Join(t.TempDir(), "program"), b.runtime(t)
			b.build(t, filepath.Join("testdata", source), exe)
			row := omptest.SupportPart{Runtime: b.family, Release: runtime.Major, Target: "build", Build: b.name}
			if b.family == "libgomp.a" {
				row.Release = 0
			}
			count := omptest.RecordSupport(t, row)
			t.Run("deadlock", func(t *testing.T) {
				pid := startTarget(t, runtime, []string{exe, "0"})
				awaitStates(t, pid, 2, "wait_lock")
				core := gcore(t, pid)
				for _, target := range []string{fmt.Sprint(pid), core} {
					kind := "process"
					if target == core {
						kind = "core"
					}
					t.Run(kind, func(t *testing.T) {
						defer count(t)
						_, pic := e2e.Diagnose(t, target)
						checkOddDeadlock(t, pic, b)
					})
				}
			})
			t.Run("healthy", func(t *testing.T) {
				defer count(t)
				pic := awaitStates(t, startTarget(t, runtime, []string{exe, "1"}), 1, "wait_lock")
				for _, v := range pic.Verdicts {
					if v.Severity == picture.SeverityHang {
						t.Errorf("a hang is reported in the healthy twin: %s", v.Summary)
					}
				}
			})
		})
	}
}

// checkOddDeadlock checks the verdict on the deadlock of a build, and the stacks of its threads.
func checkOddDeadlock(t *testing.T, pic *picture.Picture, b oddBuild) {
	t.Helper()
	source, text, transfer, outer := oddBuildsSource, "  omp_set_lock(two);", "transfer", "main"
	if b.cxx {
		transfer += "(int)"
	}
	frames := 2 // of the region's function, and of the function that forked it
	if b.fortran {
		source, text = oddFortranSource, "    call omp_set_lock(two)"
		transfer, outer = "deeds::transfer_money", "odd_builds"
		frames = 3 // the program has a C function main that calls the main program
	}
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
	line, file := lineOf(t, source, text), source
	if b.bare {
		line, file = 0, "."
	}
	waiting := 0
	for _, th := range pic.Threads {
		var names []string
		for _, f := range th.UserStack {
			if f.Kind == picture.FrameUser {
				names = append(names, f.Function)
			}
		}
		if !slices.Contains(hangs[0].Threads, th.LWP) {
			if len(names) != frames || names[1] != outer {
				t.Errorf("thread %d is in %q", th.LWP, names)
			}
			continue
		}
		waiting++
		i := slices.IndexFunc(th.UserStack, func(f picture.Frame) bool { return f.Kind == picture.FrameUser })
		if f := th.UserStack[max(i, 0)]; len(names) != frames+1 || names[0] != transfer || names[2] != outer ||
			filepath.Base(f.File) != file || f.Line != line {
			t.Errorf("thread %d is in %q, at %+v", th.LWP, names, f)
		}
	}
	if waiting != 2 {
		t.Errorf("%d threads of the verdict are listed, want 2", waiting)
	}
}
