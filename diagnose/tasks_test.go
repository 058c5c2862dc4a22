package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestDependences checks that a blocked task needs its predecessors.
func TestDependences(t *testing.T) {
	check(t, []scenario{
		{"a chain to a task at work", 2, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskRunning, 2)
			s.task("b", "i1", picture.TaskBlocked, 0, "a")
			s.taskwait(1, "i1")
		}, nil},
		{"a chain to a task whose thread waits for a lock of the waiter", 2, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskRunning, 2)
			s.task("b", "i1", picture.TaskBlocked, 0, "a")
			s.taskwait(1, "i1")
			s.holds(1, 2, picture.WaitLock, "l")
		}, []want{hang(picture.VerdictDeadlock, "waiting for tasks", "its child tasks in a taskwait", 1, 2)}},
		{"the same, of an untied task", 2, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskRunning, 2).Flags = []string{picture.FlagUntied}
			s.task("b", "i1", picture.TaskBlocked, 0, "a")
			s.taskwait(1, "i1")
			s.holds(1, 2, picture.WaitLock, "l")
		}, []want{hang(picture.VerdictDeadlock, "waiting for tasks", "its child tasks in a taskwait", 1, 2)}},
		{"a predecessor that is finished", 2, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskCompleted, 0)
			s.task("b", "i1", picture.TaskBlocked, 0, "a")
			s.taskwait(1, "i1")
		}, nil},
		{"a predecessor that is not known", 2, func(s scene) {
			s.implicit()
			s.task("b", "i1", picture.TaskBlocked, 0, "gone")
			s.taskwait(1, "i1")
		}, nil},
		{"a taskwait with dependences on a task at work", 2, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskRunning, 2)
			s.taskwait(1, "i1").Awaited = &picture.Awaited{Tasks: []picture.ID{"a"}, OnlyThese: true}
		}, nil},
		{"one with dependences, while another child is held up", 2, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskRunning, 2)
			s.task("done", "i1", picture.TaskCompleted, 0)
			s.taskwait(1, "i1").Awaited = &picture.Awaited{Tasks: []picture.ID{"done"}, OnlyThese: true}
			s.holds(1, 2, picture.WaitLock, "l")
		}, nil},
		{"one with dependences on a task that is held up", 2, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskRunning, 2)
			s.taskwait(1, "i1").Awaited = &picture.Awaited{Tasks: []picture.ID{"a"}, OnlyThese: true}
			s.holds(1, 2, picture.WaitLock, "l")
		}, []want{hang(picture.VerdictDeadlock, "waiting for tasks", "", 1, 2)}},
	})
}

// TestTaskChains checks taskwaits and taskgroups of tasks in tasks.
func TestTaskChains(t *testing.T) {
	chain := func(end func(scene)) func(scene) {
		return func(s scene) { // 1 waits for a, which 2 runs and which waits for b, which 3 runs
			s.implicit()
			s.task("a", "i1", picture.TaskWaiting, 2)
			s.task("b", "a", picture.TaskRunning, 3)
			s.taskwait(1, "i1")
			s.taskwait(2, "a")
			end(s)
		}
	}
	check(t, []scenario{
		{"the last is at work", 3, chain(func(scene) {}), nil},
		{"the last waits for a lock of the first", 3, chain(func(s scene) {
			s.holds(1, 3, picture.WaitLock, "l")
		}), []want{hang(picture.VerdictDeadlock, "hold no lock while waiting for tasks", "taskwait", 1, 2, 3)}},
		{"the last waits for a lock of one at work", 4, chain(func(s scene) {
			s.holds(4, 3, picture.WaitLock, "l")
		}), nil},
		{"the last waits for a lock of the second", 3, chain(func(s scene) {
			s.holds(2, 3, picture.WaitLock, "l")
		}), []want{hang(picture.VerdictDeadlock, "waiting for tasks", "waiting behind: 1", 2, 3)}},
		{"a taskgroup whose task is at work", 2, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskRunning, 2)
			s.taskgroup(1, "i1", "a")
		}, nil},
		{"a taskgroup whose task waits for a lock of the waiter", 2, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskRunning, 2)
			s.taskgroup(1, "i1", "a")
			s.holds(1, 2, picture.WaitCritical, "c")
		}, []want{hang(picture.VerdictDeadlock, "waiting for tasks", "tasks of a taskgroup", 1, 2)}},
		{"a taskgroup of which nothing is known", 2, func(s scene) {
			s.implicit()
			s.taskgroup(1, "i1")
			s.holds(1, 2, picture.WaitCritical, "c")
		}, nil},
	})
}

// TestStarved checks that a queued task needs a member of the team that may run it.
func TestStarved(t *testing.T) {
	// Each of two threads waits in a tied task for a taskgroup that a queued task belongs to.
	starved := func(change func(scene)) func(scene) {
		return func(s scene) {
			s.implicit()
			s.task("p", "i1", picture.TaskRunning, 1)
			s.task("q", "i2", picture.TaskRunning, 2)
			s.task("x", "i1", picture.TaskQueued, 0)
			s.taskgroup(1, "p", "x")
			s.taskgroup(2, "q", "x")
			change(s)
		}
	}
	all := []want{hang(picture.VerdictTaskStarved, "child of the task", "none of them may run it", 1, 2)}
	check(t, []scenario{
		{"no member may run it", 2, starved(func(scene) {}), all},
		{"it is untied", 2, starved(func(s scene) { s.Tasks[4].Flags = []string{picture.FlagUntied} }), nil},
		{"it descends from what one waits in", 2, starved(func(s scene) { s.Tasks[4].Parent = "q" }), nil},
		{"its parent is finished", 2, starved(func(s scene) { s.Tasks[4].Parent = "gone" }), nil},
		{"there are more tasks", 2, starved(func(s scene) { s.Facts.TasksTruncated = true }), nil},
		{"a third is at work", 3, starved(func(scene) {}), nil},
		{"a third waits at the barrier", 3, starved(func(s scene) {
			s.arrived("b", 0x100, []int{3}, 1, 2)
		}), []want{incomplete(3)}},
		{"a third is elsewhere", 3, starved(func(s scene) { s.Regions[0].Threads = []int{1, 2} }), nil},
		{"one waits in a task that is not known", 2, starved(func(s scene) { s.Facts.Waits[1].Task = "" }), nil},
	})
}

// TestDetached checks that the event of a detached task needs a thread or a task that fulfils it.
func TestDetached(t *testing.T) {
	detached := func(change func(scene)) func(scene) {
		return func(s scene) {
			s.implicit()
			d := s.task("d", "i1", picture.TaskWaiting, 0)
			d.Flags = []string{picture.FlagDetachable}
			s.taskwait(1, "i1")
			s.arrived("b", 0x100, []int{2}, 1)
			change(s)
		}
	}
	never := []want{
		likely(picture.VerdictTaskStarved, "omp_fulfill_event", "event is not fulfilled", 1),
		neverComplete(picture.Certain, 2),
	}
	maybe := []want{
		{picture.VerdictTaskStarved, picture.SeverityInfo, picture.Possible, []int{1}, "omp_fulfill_event",
			"event is not fulfilled"},
		incomplete(2),
	}
	unlisted := func(sure bool) func(scene) {
		return detached(func(s scene) {
			s.Tasks = s.Tasks[:2]
			s.Tasks[0].IncompleteChildren = some(2)
			s.Facts.Fulfillers = &picture.Candidates{}
			if sure {
				s.Facts.EventMakers = []int{1}
			}
		})
	}
	check(t, []scenario{
		{"nobody may fulfil it", 2, detached(func(s scene) { s.Facts.Fulfillers = &picture.Candidates{} }), never},
		{"who may fulfil it is not known", 2, detached(func(scene) {}), maybe},
		{"a thread at work may", 2, detached(func(s scene) {
			s.Facts.Fulfillers = &picture.Candidates{Threads: []int{9}}
		}), maybe},
		{"a member may that waits at the barrier", 2, detached(func(s scene) {
			s.Facts.Fulfillers = &picture.Candidates{Threads: []int{2}}
		}), []want{
			likely(picture.VerdictTaskStarved, "omp_fulfill_event", "event is not fulfilled", 1),
			neverComplete(picture.Likely, 2),
		}},
		{"a task may that is to be run", 2, detached(func(s scene) {
			s.Tasks = append(s.Tasks, picture.Task{
				ID: "q", Kind: picture.TaskExplicit, State: picture.TaskQueued, Parent: "i2", Region: "r",
			})
			s.Facts.Fulfillers = &picture.Candidates{Tasks: []picture.ID{"q"}}
		}), maybe},
		{"a target task may, whose code is not known, and that depends on it", 2, detached(func(s scene) {
			e := s.task("e", "i1", picture.TaskBlocked, 0)
			e.Kind, e.WaitsFor = picture.TaskTarget, []picture.ID{"d"}
			s.Facts.Fulfillers = &picture.Candidates{Tasks: []picture.ID{"e"}}
		}), []want{
			likely(picture.VerdictTaskStarved, "omp_fulfill_event", "that: 1 target task whose code is not known", 1),
			neverComplete(picture.Likely, 2),
		}},
		{"there are more tasks", 2, detached(func(s scene) {
			s.Facts.TasksTruncated, s.Facts.Fulfillers = true, &picture.Candidates{}
		}), []want{incomplete(2)}},
		{"another child is unfinished", 2, detached(func(s scene) {
			s.task("e", "i1", picture.TaskQueued, 0)
			s.Facts.Fulfillers = &picture.Candidates{Threads: []int{9}}
		}), []want{incomplete(2)}},
		{"a member is at work", 3, detached(func(scene) {}), []want{incomplete(2)}},
		{"counted alone, of code that makes events", 2, unlisted(true), never},
		{"counted alone, and a member may that waits at the barrier", 2, func(s scene) {
			unlisted(true)(s)
			s.Facts.Fulfillers = &picture.Candidates{Threads: []int{2}}
		}, []want{likely(picture.VerdictDeadlock, "omp_fulfill_event", "", 1, 2), neverComplete(picture.Likely, 2)}},
		{"counted alone, of other code", 2, unlisted(false), []want{incomplete(2)}},
	})
}

// TestDetachedAtBarrier checks a team that waits for a detached task.
func TestDetachedAtBarrier(t *testing.T) {
	atBarrier := func(change func(scene)) func(scene) {
		return func(s scene) {
			s.implicit()
			s.task("d", "i1", picture.TaskWaiting, 0).Flags = []string{picture.FlagDetachable}
			s.arrived("b", 0x100, []int{1, 2}).WaitsForTasks = true
			s.Facts.Fulfillers = &picture.Candidates{}
			change(s)
		}
	}
	atBarrierNever := []want{
		likely(picture.VerdictTaskStarved, "omp_fulfill_event", "2 threads wait at a barrier", 1, 2),
	}
	check(t, []scenario{
		{"all wait at a barrier", 2, atBarrier(func(scene) {}), atBarrierNever},
		{"all wait at a barrier, for one that is counted alone", 2, atBarrier(func(s scene) {
			s.Tasks = s.Tasks[:2]
			s.Facts.Waits[0].Task = "i1"
			s.Tasks[0].IncompleteChildren, s.Facts.EventMakers = some(1), []int{1}
		}), atBarrierNever},
		{"all wait at a barrier, and a task is queued", 2, atBarrier(func(s scene) {
			s.task("q", "i2", picture.TaskQueued, 0)
		}), nil},
	})
}

// TestTakesTask checks that a thread that takes tasks at its barrier proceeds between two of them.
func TestTakesTask(t *testing.T) {
	between := func(change func(scene)) func(scene) {
		return func(s scene) { // 1 waits in a taskwait for a task that 2 has taken at the barrier
			s.implicit()
			s.task("w", "i1", picture.TaskWaiting, 1)
			s.task("c", "w", picture.TaskRunning, 2)
			s.taskwait(1, "w")
			s.arrived("b", 0x100, []int{2}, 1)
			s.Facts.Waits[1].Task, s.Facts.Waits[1].Asleep = "c", false
			change(s)
		}
	}
	check(t, []scenario{
		{"between two tasks", 2, between(func(scene) {}), []want{incomplete(2)}},
		{"at the barrier after all", 2, between(func(s scene) { s.Facts.Waits[1].Asleep = true }), []want{
			hang(picture.VerdictDeadlock, "hold no lock", "its child tasks in a taskwait", 1, 2),
			neverComplete(picture.Certain, 2),
		}},
	})
}

// TestBarrierTasks checks a barrier at which all have arrived and that waits for the remaining tasks.
func TestBarrierTasks(t *testing.T) {
	left := func(change func(scene)) func(scene) {
		return func(s scene) { // 1 and 2 wait at the barrier, 3 runs a task there
			s.implicit()
			s.task("a", "i3", picture.TaskRunning, 3)
			s.arrived("b", 0x100, []int{1, 2}).WaitsForTasks = true
			change(s)
		}
	}
	check(t, []scenario{
		{"the task is at work", 3, left(func(scene) {}), nil},
		{"it waits for a lock of one at the barrier", 3, left(func(s scene) {
			s.holds(1, 3, picture.WaitLock, "l")
		}), []want{hang(picture.VerdictDeadlock, "waiting at a barrier", "at a barrier", 1, 3)}},
		{"it waits for a lock of one at work", 4, left(func(s scene) { s.holds(4, 3, picture.WaitLock, "l") }), nil},
		{"it is untied", 3, left(func(s scene) {
			s.Tasks[3].Flags = []string{picture.FlagUntied}
			s.holds(1, 3, picture.WaitLock, "l")
		}), []want{hang(picture.VerdictDeadlock, "waiting at a barrier", "at a barrier", 1, 3)}},
		{"it is of another region", 3, left(func(s scene) {
			s.Tasks[3].Region = "other"
			s.holds(1, 3, picture.WaitLock, "l")
		}), nil},
		{"members are missing", 3, func(s scene) {
			s.arrived("b", 0x100, []int{1, 2}, 3)
		}, []want{incomplete(1, 2)}},
	})
}
