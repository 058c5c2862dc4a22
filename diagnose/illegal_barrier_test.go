package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestIllegalBarrier checks a barrier in an explicit task, to which the team does not come.
func TestIllegalBarrier(t *testing.T) {
	inTask := func(construct string, asleep bool, change func(scene)) func(scene) {
		return func(s scene) { // 1 is in a task; the others wait for all
			s.implicit()
			s.task("t", "i1", picture.TaskRunning, 1)
			for lwp := range s.Threads {
				w := s.waits(lwp+1, picture.WaitBarrier, "")
				w.Lock, w.Address, w.Region, w.Asleep = "", hex(0x100), "r", asleep
			}
			s.Facts.Waits[0].Task = "t"
			s.Threads[0].UserStack = []picture.Frame{
				{Kind: picture.FramePseudo, Function: "<OMP-barrier>"}, {Kind: picture.FrameUser, Function: "sync"},
				{Kind: picture.FrameUser, Function: "work", Outlined: picture.Outlined{Construct: construct}},
			}
			change(s)
		}
	}
	same := func(scene) {}
	check(t, []scenario{
		{"all sleep", 3, inTask("task", true, same), []want{
			likely(picture.VerdictIllegalBarrier, "taskwait", "in the explicit task", 1)}},
		{"they may just go on", 3, inTask("task", false, same), []want{
			warning(picture.VerdictIllegalBarrier, "taskwait", "in the explicit task", 1)}},
		{"one works", 3, inTask("task", true, func(s scene) { s.Facts.Waits = s.Facts.Waits[:2] }), []want{
			warning(picture.VerdictIllegalBarrier, "taskwait", "in the explicit task", 1)}},
		{"one waits for a task that was begun", 3, inTask("task", true, func(s scene) {
			s.waitsForTasks("i2", 2)
		}), []want{likely(picture.VerdictIllegalBarrier, "taskwait", "or wait for tasks that were begun", 1)}},
		{"one waits for a task that is queued", 3, inTask("task", true, func(s scene) {
			s.waitsForTasks("i2", 2)
			s.task("u", "i2", picture.TaskQueued, 0)
		}), []want{warning(picture.VerdictIllegalBarrier, "taskwait", "in the explicit task", 1)}},
		{"between two tasks, at a barrier of its own", 3, inTask("parallel", true, same), nil},
		{"in no task", 3, inTask("task", true, func(s scene) { s.Facts.Waits[0].Task = "i1" }), nil},
	})
}

// waitsForTasks makes a thread wait in a taskwait in a task with one unfinished child.
func (s scene) waitsForTasks(id picture.ID, lwp int) {
	one := 1
	for i := range s.Tasks {
		if s.Tasks[i].ID == id {
			s.Tasks[i].IncompleteChildren = &one
		}
	}
	w := &s.Facts.Waits[lwp-1]
	w.Kind, w.Task, w.Asleep = picture.WaitTaskwait, id, false
}
