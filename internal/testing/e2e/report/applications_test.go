package report

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// teamOf is the number of threads of the applications' teams.
const teamOf = 4

// application is a program that was not written for these tests, from a package of the distribution: stripped.
type application struct {
	pkg, file string
	args      func(sequences string) []string
	forks     []int // parallel regions to look at, from 1
}

func applications() []application {
	return []application{
		{pkg: "fasttree", file: "usr/bin/fasttreeMP", forks: []int{1, 2, 5},
			args: func(s string) []string { return []string{"-nt", s} }},
		{pkg: "muscle", file: "usr/bin/muscle", forks: []int{1, 2, 3},
			args: func(s string) []string { return []string{"-align", s, "-output", "/dev/null", "-threads", "4"} }},
	}
}

// TestReportOfApplications reads cores of such programs, taken while all threads of a team were in a parallel
// region, and compares each with the runtime's answers that gdb got in each thread there.
func TestReportOfApplications(t *testing.T) {
	for _, a := range applications() {
		for _, fork := range a.forks {
			t.Run(fmt.Sprintf("%s/%d", a.pkg, fork), func(t *testing.T) {
				t.Parallel()
				run := omptest.Run{
					Exe: omptest.PackageFile(t, a.pkg, a.file), Runtime: omptest.Libgomp(t), Args: a.args(sequences(t)),
				}
				checkEntered(t, omptest.DumpInside(t, run, fork, teamOf))
			})
		}
	}
}

// sequences returns a file of 60 sequences with a common origin, in the format of biology programs. Content and
// path are always the same.
func sequences(t *testing.T) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	origin := make([]byte, 200)
	for i := range origin {
		origin[i] = "ACGT"[r.IntN(4)]
	}
	var text bytes.Buffer
	for n := range 60 {
		one := slices.Clone(origin)
		for range 30 {
			one[r.IntN(len(one))] = "ACGT"[r.IntN(4)]
		}
		fmt.Fprintf(&text, ">s%d\n%s\n", n, one)
	}
	fresh, path := filepath.Join(t.TempDir(), "fasta"), filepath.Join(os.TempDir(), "ompd-inspect-sequences.fasta")
	// another test may read it
	if err := errors.Join(os.WriteFile(fresh, text.Bytes(), 0o644), os.Rename(fresh, path)); err != nil {
		t.Fatal(err)
	}
	return path
}

// blas returns a program that calls a library of the distribution to do its work.
func blas(t *testing.T, mode omptest.Mode) omptest.Run {
	t.Helper()
	lib := omptest.PackageFile(t, "libopenblas0-openmp", "usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0")
	return omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "blas", Compiler: omptest.GCC}), Runtime: omptest.Libgomp(t),
		Env: []string{"OMPD_BLAS=" + lib, "OMP_NUM_THREADS=4"}, Mode: mode,
	}
}

// TestReportOfRegionsInLibrary checks the report on parallel regions in the code of a library.
func TestReportOfRegionsInLibrary(t *testing.T) {
	pic := checkEntered(t, omptest.DumpInside(t, blas(t, omptest.Kernel), 1, teamOf))
	for _, th := range pic.Threads {
		calls := func(name string) bool {
			return slices.ContainsFunc(th.UserStack, func(f picture.Frame) bool { return f.Function == name })
		}
		if !calls("cblas_dgemm") || !calls("main") {
			t.Errorf("LWP %d: the way from main into the library is not in %+v", th.LWP, th.UserStack)
		}
	}
}

// TestReportOfCrashInLibrary has the library crash in a region, in any thread, and reads the kernel's core.
func TestReportOfCrashInLibrary(t *testing.T) {
	r := omptest.Dump(t, blas(t, omptest.Segv))
	pic := e2e.Report(t, r.Core)
	at := pic.Target.Place
	if pic.Target.Signal != "SIGSEGV" || len(pic.Threads) != teamOf || at == nil || at.State != "work_parallel" ||
		e2e.IntOf(at.TeamSize) != teamOf || e2e.IntOf(at.Level) != 1 {
		t.Fatalf("%s at %+v, %d threads", pic.Target.Signal, at, len(pic.Threads))
	}
	if len(pic.Target.Frames) == 0 || !strings.HasPrefix(pic.Target.Frames[0].Module, "libopenblas") {
		t.Errorf("frames %+v", pic.Target.Frames)
	}
	var nums []int
	for _, th := range pic.Threads {
		nums = append(nums, e2e.IntOf(th.ThreadNum))
		if e2e.IntOf(th.TeamSize) != teamOf || th.State == nil || th.State.Name == "undefined" {
			t.Errorf("LWP %d: %+v", th.LWP, th)
		}
	}
	slices.Sort(nums)
	if !slices.Equal(nums, []int{0, 1, 2, 3}) {
		t.Errorf("thread numbers %v", nums)
	}
}

// checkEntered compares a picture with the facts known of the core.
func checkEntered(t *testing.T, e *omptest.Entered) *picture.Picture {
	t.Helper()
	pic := e2e.Report(t, e.Core, "--native")
	if len(pic.Runtimes) != 1 || len(e.Threads) != teamOf || len(pic.Threads) != teamOf || pic.Target.PID != e.PID {
		t.Fatalf("%d runtimes, %d of %d threads of process %d, %v", len(pic.Runtimes), len(pic.Threads), len(e.Threads),
			pic.Target.PID, pic.Warnings)
	}
	for _, want := range e.Threads {
		got := e2e.FindThread(pic, want.LWP)
		if got == nil || len(got.Errors) > 0 {
			t.Fatalf("LWP %d: %+v", want.LWP, got)
		}
		numbers := map[string]int{
			"omp_get_thread_num": e2e.IntOf(got.ThreadNum), "omp_get_num_threads": e2e.IntOf(got.TeamSize),
			"omp_get_level": e2e.IntOf(got.Level), "omp_get_active_level": e2e.IntOf(got.ActiveLevel),
		}
		for call, n := range numbers {
			if n != want.Told[call] {
				t.Errorf("LWP %d: %s tells %d, the picture has %d", want.LWP, call, want.Told[call], n)
			}
		}
		checkEnteredState(t, e, want, got)
		checkEnteredStack(t, want, got)
	}
	checkEnteredRegion(t, e, pic)
	return pic
}

// checkEnteredState requires that the last thread works, and that the others are in the region, which cannot end
// before: they work, or wait for each other.
func checkEnteredState(t *testing.T, e *omptest.Entered, want omptest.EnteredThread, got *picture.Thread) {
	t.Helper()
	impossible := []picture.StateName{"idle", "undefined", "work_serial", "wait_barrier_explicit"}
	if got.State == nil || slices.Contains(impossible, got.State.Name) || want.LWP == e.Last &&
		got.State.Name != "work_parallel" {
		t.Errorf("LWP %d: state %+v", want.LWP, got.State)
	}
	if want.LWP == e.Last && (len(got.UserStack) == 0 || uint64(*got.UserStack[0].PC) != e.Function) {
		t.Errorf("LWP %d is not at the begin %#x of its part: %+v", want.LWP, e.Function, got.UserStack)
	}
}

// checkEnteredStack compares a native stack with gdb's.
func checkEnteredStack(t *testing.T, want omptest.EnteredThread, got *picture.Thread) {
	t.Helper()
	var pcs []uint64
	for _, f := range got.Stack {
		if !f.Inlined {
			pcs = append(pcs, uint64(*f.PC))
		}
	}
	if !slices.Equal(pcs, want.Stack) {
		t.Errorf("LWP %d: stack %#x, gdb has %#x", want.LWP, pcs, want.Stack)
	}
}

// checkEnteredRegion checks the single region of level 1 (threads may be in regions within it): its function, its
// members, and that every thread's own frames lead to the call that forked it.
func checkEnteredRegion(t *testing.T, e *omptest.Entered, pic *picture.Picture) {
	t.Helper()
	outer := slices.DeleteFunc(slices.Clone(pic.Regions), func(r picture.Region) bool { return r.Level != 1 })
	if len(outer) != 1 {
		t.Fatalf("regions %+v", pic.Regions)
	}
	r := outer[0]
	if r.Function == nil || r.Function.Address == nil || uint64(*r.Function.Address) != e.Function {
		t.Errorf("the region's function is %+v, GOMP_parallel was told %#x", r.Function, e.Function)
	}
	for _, want := range e.Threads {
		if want.Member >= len(r.Threads) || r.Threads[want.Member] != want.LWP {
			t.Errorf("members %v, number %d is LWP %d", r.Threads, want.Member, want.LWP)
		}
		th := e2e.FindThread(pic, want.LWP)
		if !slices.ContainsFunc(th.UserStack, func(f picture.Frame) bool {
			return f.PC != nil &&
				uint64(*f.PC) == e.Return
		}) {
			t.Errorf("LWP %d: its frames do not lead to the call at %#x: %+v", want.LWP, e.Return, th.UserStack)
		}
	}
}
