package libgomp_test

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/rtltest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// openProgram opens the core of a program with debug information, on Debian 12's runtime.
func openProgram(t *testing.T, program string, args ...string) *subject {
	t.Helper()
	exe := omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC})
	return openCore(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel, Args: args})
}

// findWaiter returns the thread with number num, which the program reports in a state.
func (s *subject) findWaiter(t *testing.T, state string, num int) (handles.Thread, omptest.ThreadTruth) {
	t.Helper()
	for _, th := range s.Truth.Threads {
		if th.State == state && th.ThreadNum == num {
			return s.ByLWP[th.LWP], th
		}
	}
	t.Fatalf("no thread with number %d in %s", num, state)
	return handles.Thread{}, omptest.ThreadTruth{}
}

// lwp returns the LWP of a thread; 0 if the thread is not in the target.
func (s *subject) lwp(h handles.Thread) int {
	for lwp, of := range s.ByLWP {
		if of == h {
			return lwp
		}
	}
	return 0
}

// numbers returns the thread numbers of threads.
func (s *subject) numbers(hs []handles.Thread) []int {
	var out []int
	for _, h := range hs {
		info, err := s.Thread(h)
		if err != nil {
			return nil
		}
		out = append(out, info.ThreadNum)
	}
	slices.Sort(out)
	return out
}

// TestWaitedBarrier checks the arrived and the missing threads at a barrier.
func TestWaitedBarrier(t *testing.T) {
	for _, c := range []struct {
		program          string
		arrived, missing []int
	}{
		{"barrier", []int{0, 1, 2}, []int{3}},
		{"barrier_for", []int{0, 1, 2}, []int{3}},
	} {
		t.Run(c.program, func(t *testing.T) {
			s := openProgram(t, c.program)
			for _, th := range s.Truth.Threads {
				h := s.ByLWP[th.LWP]
				info, err := s.Runtime.(rtl.WaitReader).WaitedBarrier(h,
					func(h handles.Thread) *handles.Evidence { return s.Evidence(t, s.lwp(h)) })
				if th.State == "work_parallel" {
					if rtltest.RC(err) != callbacks.Unavailable {
						t.Errorf("LWP %d works: %+v, %v", th.LWP, info, err)
					}
					continue
				}
				if err != nil || info.Tasks || !slices.Equal(s.numbers(info.Arrived), c.arrived) ||
					!slices.Equal(s.numbers(info.Missing), c.missing) {
					t.Errorf("LWP %d: %v arrived, %v missing, tasks %v (%s, %v)", th.LWP, s.numbers(info.Arrived),
						s.numbers(info.Missing), info.Tasks, info.Evidence, err)
				}
			}
		})
	}
}

// TestWaitedLock checks that a nestable lock has a holder, and that the holder of other locks is unknown.
func TestWaitedLock(t *testing.T) {
	for _, c := range []struct {
		program, state string
		nested         bool
	}{{"nest_lock", "wait_lock", true}, {"lock", "wait_lock", false}, {"critical", "wait_critical", false}} {
		t.Run(c.program, func(t *testing.T) {
			s := openProgram(t, c.program)
			waiters := 0
			for _, th := range s.Truth.Threads {
				if th.State != c.state {
					continue
				}
				waiters++
				info, err := s.Runtime.(rtl.WaitReader).WaitedLock(s.ByLWP[th.LWP], s.Evidence(t, th.LWP))
				if err != nil || !info.Held || info.Nested != c.nested || info.Lock.IsNull() {
					t.Errorf("LWP %d: %+v, %v", th.LWP, info, err)
				}
				if owner, _ := s.Thread(info.Owner); c.nested &&
					(info.Owner.IsZero() || int64(info.OwnerNumber) != owner.Number || owner.LWP == uint64(th.LWP)) ||
					!c.nested && (!info.Owner.IsZero() || info.OwnerNumber != -1) {
					t.Errorf("LWP %d: owner %v, number %d", th.LWP, info.Owner, info.OwnerNumber)
				}
			}
			if waiters == 0 {
				t.Error("no thread waits")
			}
		})
	}
}

// TestWaitedGroup lists the tasks of the taskgroup for which a thread waits.
func TestWaitedGroup(t *testing.T) {
	s := openProgram(t, "taskgroup")
	r := s.Runtime.(rtl.WaitReader)
	h, _ := s.findWaiter(t, "wait_taskgroup", 0)
	tasks, all, err := r.WaitedGroup(h)
	if err != nil || !all || len(tasks) != 1 {
		t.Fatalf("%d tasks, all %v, %v; want 1", len(tasks), all, err)
	}
	if info, err := s.Task(tasks[0]); err != nil || info.State != picture.TaskRunning {
		t.Errorf("%+v, %v", info, err)
	}
	for _, th := range s.Truth.Threads {
		if th.State != "wait_taskgroup" {
			if _, _, err := r.WaitedGroup(s.ByLWP[th.LWP]); rtltest.RC(err) != callbacks.Unavailable {
				t.Errorf("LWP %d waits for no taskgroup: %v", th.LWP, err)
			}
		}
	}
}

// TestBreakpoints finds functions that replace the locations of the standard.
func TestBreakpoints(t *testing.T) {
	s := openProgram(t, "barrier")
	list, err := s.Runtime.(handles.BreakpointReader).Breakpoints()
	if err != nil || len(list) != len(handles.StandardBreakpoints()) {
		t.Fatalf("%d locations, %v", len(list), err)
	}
	found := 0
	for _, b := range list {
		if b.Err != nil {
			if !b.Address.IsNull() || rtltest.RC(b.Err) != callbacks.Unsupported {
				t.Errorf("%s: %v, %v", b.Name, b.Address, b.Err)
			}
			continue
		}
		found++
		want, err := s.Core.Symbol(b.Function, "libgomp.so.1")
		if err != nil || want != b.Address || !s.Owns(b.Address.Offset) || !slices.Contains(b.Sites, b.Address) ||
			!b.Active || b.Evidence == "" {
			t.Errorf("%+v, symbol at %v (%v)", b, want, err)
		}
	}
	if found != 3 { // parallel_begin, teams_begin, task_begin
		t.Errorf("%d locations, want 3", found)
	}
}
