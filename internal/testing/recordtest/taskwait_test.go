package recordtest

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestTaskwaitDependences has threads that wait for dependences in regions, in tasks that they execute at the end
// of regions, and in tasks that they execute while they wait. LLVM's runtime aborts a program with a tool that
// stores a word for such a wait. The events have the ids nevertheless, whichever of them are recorded.
func TestTaskwaitDependences(t *testing.T) {
	exe := build(t, "clang-16", "taskwait.c", "-fopenmp", "-fopenmp-version=51")
	for _, major := range []int{16, 17, 18, 19, 23} {
		for _, set := range []string{"default", "tasks", "locks", "default,-sync_region", "all,-task_schedule"} {
			runtime := omptest.RuntimeOf(t, major)
			t.Run(runtime.Name+" "+set, func(t *testing.T) {
				t.Parallel()
				p := run(t, runtime, exe, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t), "KMP_BLOCKTIME=0",
					"OMPD_RECORDER="+set)
				if p.said != "READY 250\n" {
					t.Errorf("it said %q", p.said)
				}
				checkWaits(t, readRecording(t, p.Process.Pid), set == "default")
			})
		}
	}
}

// checkWaits checks that no event lacks the id of its task, and that each wait for dependences has a creation,
// its dependences, and an end.
func checkWaits(t *testing.T, r recording, whole bool) {
	t.Helper()
	const (
		isWait   = 0x10 // ompt_task_taskwait, of the task's flags
		waitEnds = 8    // ompt_taskwait_complete
	)
	made, listed, ended := map[uint64]int{}, map[uint64]int{}, map[uint64]int{}
	for _, g := range r.rings {
		for _, e := range append(g.main[:len(g.main):len(g.main)], g.rare...) {
			switch {
			case e.Code == trace.TaskCreate && e.Value&isWait != 0:
				made[e.B]++
			case e.Code == trace.Dependences:
				listed[e.A]++
			case e.Code == trace.TaskSchedule && e.Kind == waitEnds:
				ended[e.A]++
			case e.Code == trace.TaskSchedule && (e.A == 0 || e.B == 0), e.Code == trace.SyncRegion && e.B == 0,
				e.Code == trace.ImplicitTask && e.B == 0, e.Code == trace.TaskDependence && e.B == 0:
				t.Fatalf("LWP %d: %s has no task", g.LWP, short(&e))
			}
		}
	}
	// A wait in each call of wait_for and an undeferred task in each tree.
	if want := 250 + 130; whole && len(made) != want {
		t.Errorf("%d waits were made, want %d", len(made), want)
	}
	for id, n := range made {
		if n != 1 || whole && (listed[id] != 1 || ended[id] != 1) {
			t.Errorf("wait %#x: made %d, listed %d, ended %d times", id, n, listed[id], ended[id])
		}
	}
}
