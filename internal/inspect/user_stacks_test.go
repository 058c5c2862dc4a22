package inspect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// pseudo maps each state to the frame that stands for the runtime's activity in the user's model. Work has no such
// frame.
var pseudo = map[string]string{
	"wait_barrier_explicit":           "<OMP-explicit_barrier>",
	"wait_barrier_implicit":           "<OMP-implicit_barrier>",
	"wait_barrier_implicit_parallel":  "<OMP-implicit_barrier>",
	"wait_barrier_implicit_workshare": "<OMP-implicit_barrier>",
	"wait_lock":                       "<OMP-lock_wait>",
	"wait_critical":                   "<OMP-critical_section_wait>",
	"wait_ordered":                    "<OMP-ordered_section_wait>",
	"wait_taskwait":                   "<OMP-taskwait>",
	"wait_taskgroup":                  "<OMP-taskgroup_wait>",
	"work_reduction":                  "<OMP-reduction>",
	"overhead":                        "<OMP-overhead>",
	"idle":                            "<OMP-idle>",
}

// TestUserModel checks the stacks of all programs by the rules of the user's model.
func TestUserModel(t *testing.T) {
	for _, major := range []int{14, 16, 19} {
		for _, program := range programs {
			t.Run(fmt.Sprintf("%s/libomp-%d", program, major), func(t *testing.T) {
				r := coreOf(t, program, major)
				pic := pictureOf(t, configOf(t, r.Core), picture.Parts{Threads: true, Regions: true, Stacks: true})
				same := map[string]picture.Thread{}
				for _, th := range pic.Threads {
					checkRules(t, r.Truth, th)
					checkSame(t, same, th)
				}
				checkMerged(t, pic)
			})
		}
	}
}

// checkRules checks that a stack has no frame of the runtime, and at most one pseudo-frame, on top. Its outermost
// frame is the start of the program's own threads.
func checkRules(t *testing.T, truth omptest.Truth, th picture.Thread) {
	t.Helper()
	stack := th.UserStack
	if len(stack) == 0 || len(th.Errors) > 0 {
		t.Errorf("LWP %d: %d frames, %v", th.LWP, len(stack), th.Errors)
		return
	}
	if th.State != nil && th.State.Name == "idle" {
		if len(stack) != 1 || stack[0].Function != "<OMP-idle>" || stack[0].Kind != picture.FramePseudo {
			t.Errorf("LWP %d is idle:\n%s", th.LWP, show(stack))
		}
		return
	}
	if th.State != nil && stack[0].Kind == picture.FramePseudo != (pseudo[string(th.State.Name)] != "") {
		t.Errorf("LWP %d: %s:\n%s", th.LWP, th.State.Name, show(stack))
	}
	for i, f := range stack {
		switch {
		case f.Kind == picture.FrameRuntime, f.Module == "libomp.so.5":
			t.Errorf("LWP %d: frame %d is the runtime's:\n%s", th.LWP, i, show(stack))
		case f.Kind == picture.FramePseudo && (i > 0 || f.Function != pseudo[string(th.State.Name)]):
			t.Errorf("LWP %d: %s: pseudo-frame %d:\n%s", th.LWP, th.State.Name, i, show(stack))
		}
	}
	known, ok := truth.Thread(th.LWP)
	if !ok || th.Hidden {
		return
	}
	begin := "main"
	if known.Root != truth.Program.PID {
		begin = "root" // the program's own thread, which has become a root
	}
	if known.Role == "other" {
		begin = ""
	}
	last := stack[len(stack)-1]
	if !strings.Contains(last.Function, begin) || last.Construct != "" && begin != "" {
		t.Errorf("LWP %d begins in %q, want %q:\n%s", th.LWP, last.Function, begin, show(stack))
	}
}

// checkSame checks that threads at the same place in a region have the same stack, independent of the forking
// thread.
func checkSame(t *testing.T, same map[string]picture.Thread, th picture.Thread) {
	t.Helper()
	i := slices.IndexFunc(th.UserStack, func(f picture.Frame) bool { return f.Kind == picture.FrameUser })
	if i < 0 || th.Region == "" || th.State == nil {
		return
	}
	inner := th.UserStack[i]
	key := fmt.Sprint(th.Region, th.State.Name, inner.Function, inner.Line)
	first, ok := same[key]
	if !ok {
		same[key] = th
		return
	}
	if show(first.UserStack) != show(th.UserStack) {
		t.Errorf("LWP %d and %d are at the same place:\n%s\n%s", first.LWP, th.LWP, show(first.UserStack),
			show(th.UserStack))
	}
}

// checkMerged checks that every thread is in one of the merged stacks, and has that stack.
func checkMerged(t *testing.T, pic *picture.Picture) {
	t.Helper()
	of := map[int]string{}
	for _, th := range pic.Threads {
		of[th.LWP] = show(th.UserStack)
	}
	seen := 0
	for i, s := range pic.Stacks {
		if s.Count != len(s.Threads) || s.Count == 0 {
			t.Errorf("stack %d: count %d, threads %v", i, s.Count, s.Threads)
		}
		for _, lwp := range s.Threads {
			seen++
			if of[lwp] != show(s.Frames) {
				t.Errorf("LWP %d has\n%s\nmerged as\n%s", lwp, of[lwp], show(s.Frames))
			}
		}
		for _, other := range pic.Stacks[:i] {
			if show(other.Frames) == show(s.Frames) {
				t.Errorf("two merged stacks are equal:\n%s", show(s.Frames))
			}
		}
	}
	if seen != len(pic.Threads) {
		t.Errorf("%d threads in merged stacks, want %d", seen, len(pic.Threads))
	}
}

// show returns a stack as text.
func show(stack []picture.Frame) string {
	var b strings.Builder
	for _, f := range stack {
		fmt.Fprintf(&b, "\t%s %s %s:%d %s in %q\n", f.Kind, f.Function, f.File, f.Line, f.Construct, f.In)
	}
	return b.String()
}

// TestContinued checks the threads of the frames of a worker's stack.
func TestContinued(t *testing.T) {
	r := coreOf(t, "nested", 16)
	pic := pictureOf(t, configOf(t, r.Core), picture.Parts{Threads: true, Regions: true})
	primary := map[picture.ID]int{}
	for _, r := range pic.Regions {
		primary[r.ID] = r.Threads[0]
	}
	for _, th := range pic.Threads {
		var from []int
		for _, f := range th.UserStack {
			if f.LWP != 0 {
				from = append(from, f.LWP)
			}
		}
		var want []int
		for l := len(th.Levels) - 1; l > 0; l-- {
			if *th.Levels[l].ThreadNum > 0 {
				want = append(want, primary[th.Levels[l].Region])
			}
		}
		if !slices.Equal(from, want) {
			t.Errorf("LWP %d, levels %v: continued in %v, want %v", th.LWP, th.Levels, from, want)
		}
	}
}

// TestConstructs compares the frames of a thread with the constructs of the source: a region in a task in a task
// in a region. clang gives the body of a task the name of a region's, and inlines it in the function that the
// runtime calls.
func TestConstructs(t *testing.T) {
	for _, optimize := range []string{"-O0", "-O2"} {
		t.Run(optimize, func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: "task_region", Flags: []string{optimize, "-g"}})
			r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel})
			pic := pictureOf(t, configOf(t, r.Core), picture.Parts{Threads: true, Regions: true, Stacks: true,
				Native: true})
			i := slices.IndexFunc(pic.Threads, func(th picture.Thread) bool { return th.LWP == r.Truth.Program.PID })
			if i < 0 {
				t.Fatalf("no LWP %d", r.Truth.Program.PID)
			}
			// A region has its wrapper and its body, a task its entry and its body.
			native := []string{"parallel", "parallel", "task", "task", "task", "task", "parallel", "parallel"}
			user := []string{"parallel", "task", "task", "parallel"}
			if got := constructs(pic.Threads[i].Stack); !slices.Equal(got, native) {
				t.Errorf("native: %v, want %v:\n%s", got, native, show(pic.Threads[i].Stack))
			}
			if got := constructs(pic.Threads[i].UserStack); !slices.Equal(got, user) {
				t.Errorf("user: %v, want %v:\n%s", got, user, show(pic.Threads[i].UserStack))
			}
		})
	}
}

// constructs returns the constructs of the frames.
func constructs(fs []picture.Frame) []string {
	var out []string
	for _, f := range fs {
		if f.Construct != "" {
			out = append(out, f.Construct)
		}
	}
	return out
}
