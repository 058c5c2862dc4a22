package verdicts

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestVerdictOfOverwrittenHeap ends programs that have written past the end of a block of the heap, over the
// runtime's data, and others that have not: the verdict names the block, and no facts about threads come from the
// overwritten data. A thread that prints that it has found the damage does not hide it.
func TestVerdictOfOverwrittenHeap(t *testing.T) {
	llvm := func(major int) func() omptest.Runtime {
		return func() omptest.Runtime { return omptest.RuntimeOf(t, major) }
	}
	for _, tt := range []struct {
		name     string
		compiler omptest.Compiler
		flags    string
		runtime  func() omptest.Runtime
	}{
		{"libgomp-O0", omptest.GCC, "-O0", func() omptest.Runtime { return omptest.Libgomp(t) }},
		{"libgomp-O2", omptest.GCC, "-O2", func() omptest.Runtime { return omptest.Libgomp(t) }},
		{"libomp-16-O0", "", "-O0", llvm(16)},
		{"libomp-19-O2", "", "-O2", llvm(19)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: "verdict_overwritten", Compiler: tt.compiler,
				Flags: []string{tt.flags, "-g"}})
			for _, how := range []string{"0", "1", "2"} {
				run := omptest.Run{Exe: exe, Runtime: tt.runtime(), Mode: omptest.Kernel, Args: []string{how}}
				_, pic := e2e.Diagnose(t, omptest.Dump(t, run).Core)
				said := ""
				for _, v := range pic.Verdicts {
					if v.Kind == picture.VerdictOverwritten {
						said += v.Summary + "\n"
					}
				}
				const want = "the heap was overwritten behind a block of 200B"
				if strings.Contains(said, want) != (how != "1") {
					t.Errorf("%s: %q", how, said)
				}
				checkBelieved(t, pic, how != "0")
			}
		})
	}
}

// checkBelieved requires that either all threads have roles and states, or no thread has.
func checkBelieved(t *testing.T, pic *picture.Picture, whole bool) {
	t.Helper()
	for _, th := range pic.Threads {
		known := th.Role != picture.RoleUnknown && th.Role != picture.RoleNone
		if known != whole || !whole && th.State != nil {
			t.Errorf("LWP %d: role %v, state %v", th.LWP, th.Role, th.State)
		}
	}
}

// TestVerdictOfOverrunStack ends a program that has written through its own stack over that of another thread:
// the verdict is a stack overflow, and the other thread's stack is reported as overwritten, not as missing from
// the core.
func TestVerdictOfOverrunStack(t *testing.T) {
	for _, compiler := range []omptest.Compiler{omptest.GCC, omptest.LLVM} {
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(string(compiler)+level, func(t *testing.T) {
				run := omptest.Run{Mode: omptest.Kernel, Runtime: omptest.RuntimeOf(t, 16)}
				run.Env = []string{"OMP_STACKSIZE=1M"}
				run.Exe = omptest.Compile(t, omptest.Build{Program: "verdict_stack_next", Compiler: compiler,
					Flags: []string{level, "-g"}})
				if compiler == omptest.GCC {
					run.Runtime = omptest.Libgomp(t)
				}
				status, pic := e2e.Diagnose(t, omptest.Dump(t, run).Core)
				found := (expectation{}).faults(pic.Verdicts)
				if status != cli.ExitCrash || len(found) != 1 || found[0].Kind != picture.VerdictStackOverflow {
					t.Errorf("exit status %d, verdicts %+v, want one stack overflow", status, found)
				}
				said := 0
				for _, th := range pic.Threads {
					if strings.Contains(strings.Join(th.Errors, "\n"), "its own stack into that of this thread") {
						said++
					}
				}
				if said != 1 || strings.Contains(strings.Join(pic.Warnings, "\n"), "reads as zeros") {
					t.Errorf("%d threads are said to be overwritten, want 1; warnings %q", said, pic.Warnings)
				}
			})
		}
	}
}

// TestVerdictOfStackInStack looks at programs with a thread that has frames in the stack of another one, where no guard
// was accessed: the crash of either thread, or their hang, is a consequence of the stack overflow. Fibers and the
// handlers of signals that have their stack there are none: see borrowedStacks.
func TestVerdictOfStackInStack(t *testing.T) {
	checkCrashes(t, crashesInStack())
	checkHangs(t, hangsInStack())
}

// intoStack is part of the text about the overflow of verdict_stack_into, whose environment is stackEnv.
const intoStack = "overflowed its stack of 1M in overrun verdict_stack_into.c:"

var stackEnv = []string{"OMP_STACKSIZE=1M"}

func crashesInStack() (cases []crashCase) {
	for way, says := range []string{"dereferenced a null pointer in overrun", "dereferenced a null pointer in use"} {
		cases = append(cases, crashCase{
			program: "verdict_stack_into", args: []string{strconv.Itoa(way)}, env: stackEnv,
			kind: picture.VerdictStackOverflow,
			has: []string{
				intoStack, ", into the stack of thread", "The crash is probably a consequence: thread ", says,
			},
		})
	}
	return cases
}

func hangsInStack() []hangCase {
	return []hangCase{{
		name: "2", program: "verdict_stack_into", args: []string{"2"}, env: stackEnv,
		kind:  picture.VerdictStackOverflow,
		has:   []string{intoStack, ", into the stack of thread", "The stack overflow above may be the cause"},
		lacks: []string{"as a fiber or coroutine does"}, handled: true,
	}}
}

// borrowedStacks returns programs with a fiber, or the handler of a signal, that has its stack in a frame of another
// thread.
func borrowedStacks() (out []expectation) {
	for _, way := range []string{"2", "3"} {
		out = append(out, expectation{program: "verdict_stack_into", args: []string{way, "1"}, env: stackEnv,
			never: e2e.OwnCore})
	}
	return out
}
