package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// GoLane is one build of the Go program.
type GoLane struct {
	Name     string
	compiler omptest.Compiler
	Modes    []omptest.Mode
	Flags    []string
}

// Run builds the Go program in the lane and returns how to run it.
func (l GoLane) Run(t testing.TB, mode omptest.Mode) omptest.Run {
	r := omptest.Run{Exe: omptest.CompileGo(t, l.compiler, l.Flags...), Runtime: omptest.RuntimeOf(t, 16), Mode: mode}
	if l.compiler == omptest.GCC {
		r.Runtime = omptest.Libgomp(t)
	}
	return r
}

// GoLanes are the builds of the Go program.
var GoLanes = []GoLane{
	{"libomp", omptest.LLVM, []omptest.Mode{omptest.Kernel, omptest.Gcore}, nil},
	{"libgomp", omptest.GCC, []omptest.Mode{omptest.Kernel, omptest.Gcore}, nil},
	{"libgomp stripped", omptest.GCC, []omptest.Mode{omptest.Gcore}, []string{"-ldflags=-s -w"}},
	{"libomp pie stripped", omptest.LLVM, []omptest.Mode{omptest.Kernel}, []string{"-buildmode=pie", "-ldflags=-s -w"}},
}

// CheckGo compares a picture of the Go program with the truth. With symbols the C functions have names,
// too.
func CheckGo(t *testing.T, pic *picture.Picture, r *omptest.Result, symbols bool) {
	t.Helper()
	CheckPicture(t, pic, r, symbols)
	for _, th := range pic.Threads {
		if len(th.Errors) > 0 {
			t.Errorf("LWP %d: %v", th.LWP, th.Errors)
		}
		if want := r.Truth.Goroutines[th.LWP]; th.Goroutine != want {
			t.Errorf("LWP %d runs goroutine %d, want %d", th.LWP, th.Goroutine, want)
		}
		for _, f := range th.Stack {
			if f.How != "" {
				t.Errorf("LWP %d: %s was guessed by %s", th.LWP, f.Function, f.How)
			}
		}
	}
	callIn := []string{"main.goMember", "runtime.cgocallbackg", "runtime.cgocallback", "crosscall2", "goMember",
		outlined}
	fork := []string{"runtime.asmcgocall", "runtime.cgocall", "main.solve", "main.solve", "runtime.goexit"}
	toC := []string{"truth_end|truth_hold", "runtime.asmcgocall", "runtime.cgocall"}
	want := map[int][]string{
		0: slices.Concat(toC, callIn, fork),
		1: {"truth_hold", outlined},
		2: slices.Concat(toC, callIn),
		3: slices.Concat([]string{"runtime.futex", "runtime.mcall", "runtime.gopark"}, callIn),
	}
	var forker int64
	for _, tt := range r.Truth.Threads {
		if tt.ThreadNum == 0 {
			forker = r.Truth.Goroutines[tt.LWP]
		}
	}
	for _, tt := range r.Truth.Threads {
		th := FindThread(pic, tt.LWP)
		checkOrder(t, th.LWP, th.Stack, want[tt.ThreadNum], symbols)
		last := th.UserStack[len(th.UserStack)-1]
		if last.Function != "main.solve" || last.Goroutine != forker {
			t.Errorf("LWP %d: its user stack ends in %s of goroutine %d, want main.solve of %d", th.LWP, last.Function,
				last.Goroutine, forker)
		}
	}
}

// cNames are the functions without a name in a stripped program.
var cNames = []string{"truth_end|truth_hold", "truth_hold", "goMember", outlined}

// outlined is the function of the parallel region, by either compiler.
const outlined = "team|.omp_outlined."

// checkOrder requires functions on a stack, innermost first, possibly with others between them.
func checkOrder(t *testing.T, lwp int, stack []picture.Frame, want []string, symbols bool) {
	t.Helper()
	if !symbols {
		want = slices.DeleteFunc(slices.Clone(want), func(w string) bool { return slices.Contains(cNames, w) })
	}
	i := 0
	for _, f := range stack {
		if i < len(want) && slices.ContainsFunc(strings.Split(want[i], "|"),
			func(w string) bool { return f.Function == w || f.In == w }) {
			i++
		}
	}
	if i < len(want) {
		var names []string
		for _, f := range stack {
			names = append(names, f.Function)
		}
		t.Errorf("LWP %d: no %s after %v in %v", lwp, want[i], want[:i], names)
	}
}
