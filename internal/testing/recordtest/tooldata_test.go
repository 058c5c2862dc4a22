package recordtest

import (
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// TestToolData compares the recorder's ids with OMPD's handles: the result of ompd_get_tool_data for each thread,
// its region and its task, on stripped runtimes without OMP_DEBUG, equals the id in the thread's ring.
func TestToolData(t *testing.T) {
	for _, runtime := range omptest.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			p, r := start(t, runtime, "lock_cycle")
			process := stopped(t, p.PID)
			for _, th := range p.Truth.Threads {
				g := r.ringOf(t, th.LWP)
				thread, err := process.ThreadHandle(callbacks.LWP(uint64(th.LWP)))
				if err != nil {
					t.Fatal(err)
				}
				parallel, err := process.CurrentParallel(thread)
				if err != nil {
					t.Fatal(err)
				}
				task, err := process.CurrentTask(thread)
				if err != nil {
					t.Fatal(err)
				}
				in := g.Tasks[len(g.Tasks)-1]
				for _, c := range []struct {
					subject handles.Subject
					want    uint64
				}{
					{handles.Subject{Scope: handles.ScopeThread, Thread: thread}, g.ID},
					{handles.Subject{Scope: handles.ScopeParallel, Parallel: parallel}, in.Region},
					{handles.Subject{Scope: handles.ScopeImplicitTask, Task: task}, in.ID},
				} {
					got, err := process.ToolData(c.subject)
					if err != nil || got != c.want || got == 0 {
						t.Errorf("%v of LWP %d: %#x, %v; the ring has %#x", c.subject.Scope, th.LWP, got, err, c.want)
					}
				}
			}
		})
	}
}

// TestNoToolData queries the words of a program without a tool.
func TestNoToolData(t *testing.T) {
	p := omptest.Start(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}), Mode: omptest.Live,
		Runtime: omptest.RuntimeOf(t, 19),
	})
	process := stopped(t, p.PID)
	thread, err := process.ThreadHandle(callbacks.LWP(uint64(p.PID)))
	if err != nil {
		t.Fatal(err)
	}
	v, err := process.ToolData(handles.Subject{Scope: handles.ScopeThread, Thread: thread})
	if !errors.Is(err, callbacks.Unavailable) {
		t.Errorf("%#x, %v", v, err)
	}
}

// stopped opens the OpenMP process of a program that is stopped for the test.
func stopped(t *testing.T, pid int) *ompd.Process {
	t.Helper()
	target, err := live.Open(pid, live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	if err := target.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := ompd.Open(target, ompd.Options{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d runtimes: %v", len(all), err)
	}
	return all[0]
}
