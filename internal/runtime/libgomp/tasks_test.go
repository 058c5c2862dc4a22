package libgomp_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/rtltest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// tasksOf returns the explicit tasks in the region of the program's threads.
func (s *subject) tasksOf(t *testing.T) map[handles.Task]handles.TaskInfo {
	t.Helper()
	all := map[handles.Task]handles.TaskInfo{}
	for _, h := range s.ByLWP {
		p, err := s.CurrentParallel(h)
		if err != nil {
			continue
		}
		for task, err := range s.ExplicitTasks(p) {
			if err != nil {
				t.Fatal(err)
			}
			if all[task], err = s.Task(task); err != nil {
				t.Error(err)
			}
			if of, err := s.TaskParallel(task); err != nil || of != p {
				t.Errorf("%v is of %v (%v), want %v", task, of, err, p)
			}
		}
	}
	return all
}

// TestPriorities reads queues that are trees of lists, on all releases.
func TestPriorities(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "tasks_priority", Compiler: omptest.GCC})
	for _, rt := range omptest.Libgomps(t) {
		t.Run(rt.Name, func(t *testing.T) {
			s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel,
				Env: []string{"OMP_MAX_TASK_PRIORITY=9"}})
			s.Check(t)
			byPriority, orphans := map[int]int{}, 0
			for task, info := range s.tasksOf(t) {
				byPriority[info.Priority]++
				if info.Function.IsNull() {
					t.Errorf("%v has no function", task)
				}
				if _, err := s.GeneratingTask(task); rtltest.RC(err) == callbacks.Unavailable && err != nil {
					orphans++
				}
			}
			if byPriority[0] != 3 || byPriority[1] != 4 || byPriority[2] != 4 || byPriority[3] != 4 ||
				byPriority[9] != 1 {
				t.Errorf("tasks by priority: %v", byPriority)
			}
			if orphans != 2 {
				t.Errorf("%d tasks have lost their parent, want 2", orphans)
			}
		})
	}
}

// TestSchedulingTask checks the task that a thread has suspended to run another one.
func TestSchedulingTask(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "tasks_priority", Compiler: omptest.GCC})
	s := openCore(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel,
		Env: []string{"OMP_MAX_TASK_PRIORITY=9"}})
	var running, waiting handles.Task
	for task, info := range s.tasksOf(t) {
		switch info.State {
		case picture.TaskRunning:
			running = task
		case picture.TaskWaiting:
			waiting = task
		case picture.TaskQueued:
			if _, err := s.SchedulingTask(task); rtltest.RC(err) != callbacks.Unavailable {
				t.Errorf("a queued task has a scheduling one: %v", err)
			}
		}
	}
	if got, err := s.SchedulingTask(running); err != nil || got != waiting {
		t.Errorf("the scheduling task of %v is %v (%v), want %v", running, got, err, waiting)
	}
	if got, err := s.GeneratingTask(running); err != nil || got != waiting {
		t.Errorf("the generating task of %v is %v (%v), want %v", running, got, err, waiting)
	}
}

// TestDependences checks the tasks for which a blocked task waits.
func TestDependences(t *testing.T) {
	for _, rt := range omptest.Libgomps(t) {
		t.Run(rt.Name, func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: "tasks_deps", Compiler: omptest.GCC})
			s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel})
			edges := map[int]int{} // number of tasks, by the number of tasks that they wait for
			for task, info := range s.tasksOf(t) {
				waits, err := s.WaitsFor(task)
				if err != nil || len(waits) != info.Predecessors ||
					(info.State == picture.TaskBlocked) != (len(waits) > 0) {
					t.Errorf("%v is %s, waits for %v (%v), has %d predecessors", task, info.State, waits, err,
						info.Predecessors)
				}
				edges[len(waits)]++
			}
			// The last one waits for the first, and for the two that read its output.
			if edges[0] != 1 || edges[1] != 2 || edges[3] != 1 {
				t.Errorf("tasks by dependences: %v", edges)
			}
		})
	}
}

// TestStaleTasks uses handles of addresses without a task.
func TestStaleTasks(t *testing.T) {
	s := openProgram(t, "tasks_queued")
	for _, a := range []uint64{0, 1, 8, 0x1000, ^uint64(0), ^uint64(7)} {
		h := handles.Task{Stamp: s.Stamp(), Data: callbacks.Addr(a)}
		for name, ask := range map[string]func(handles.Task) error{
			"Task":           func(h handles.Task) error { _, err := s.Task(h); return err },
			"GeneratingTask": func(h handles.Task) error { _, err := s.GeneratingTask(h); return err },
			"SchedulingTask": func(h handles.Task) error { _, err := s.SchedulingTask(h); return err },
			"TaskParallel":   func(h handles.Task) error { _, err := s.TaskParallel(h); return err },
			"WaitsFor":       func(h handles.Task) error { _, err := s.WaitsFor(h); return err },
		} {
			if err := ask(h); rtltest.RC(err) != callbacks.StaleHandle {
				t.Errorf("%s of %v: %v, want a stale handle", name, h, err)
			}
		}
	}
}
