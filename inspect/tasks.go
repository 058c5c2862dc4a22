package inspect

import (
	"errors"
	"fmt"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// taskID is the name of a task in the picture.
func taskID(h handles.Task) ID {
	switch {
	case h.IsZero():
		return ""
	case h.Level == 0:
		return ID(h.Data.String())
	}
	return ID(fmt.Sprintf("%v/%d", h.Data, h.Level))
}

// Tasks yields every task that the runtimes keep: for each region, outer ones
// first, its implicit tasks and then the explicit ones of its team. Nothing is
// remembered of an explicit task that was yielded but its address, so that a
// million tasks need little memory.
func (in *Inspector) Tasks() iter.Seq[Task] {
	return func(yield func(Task) bool) {
		seen := newSeenTasks()
		for _, v := range in.regions.all() {
			for h := range in.tasksOf(v, seen) {
				if !yield(in.task(v, h)) {
					return
				}
			}
		}
	}
}

// seenTasks are the tasks that were yielded: implicit ones by handle, since the
// regions of a team may share one structure, and explicit ones by its address.
type seenTasks struct {
	implicit map[handles.Task]struct{}
	explicit map[uint64]struct{}
}

func newSeenTasks() seenTasks {
	return seenTasks{map[handles.Task]struct{}{}, map[uint64]struct{}{}}
}

// tasksOf yields the tasks of a region that are not among those seen.
func (in *Inspector) tasksOf(v *regionView, seen seenTasks) iter.Seq[handles.Task] {
	return func(yield func(handles.Task) bool) {
		if v.err != nil {
			return
		}
		for i := range min(v.info.TeamSize, maxTeam) {
			h, err := v.rt.TaskInParallel(v.h, i)
			if errors.Is(err, callbacks.Unsupported) { // of no task of this runtime anything is known, which it says itself
				return
			}
			if err != nil {
				in.warn("implicit task %d of region %s: %v", i, regionID(v.h), err)
				continue
			}
			if _, dup := seen.implicit[h]; dup {
				continue
			}
			seen.implicit[h] = struct{}{}
			if !yield(h) {
				return
			}
		}
		for h, err := range v.rt.ExplicitTasks(v.h) {
			if err != nil {
				in.warn("explicit tasks of region %s: %v", regionID(v.h), err)
				continue
			}
			if _, dup := seen.explicit[h.Data.Offset]; dup {
				continue
			}
			seen.explicit[h.Data.Offset] = struct{}{}
			if !yield(h) {
				return
			}
		}
	}
}

func (in *Inspector) task(v *regionView, h handles.Task) Task {
	t := Task{ID: taskID(h), Runtime: v.rt.id, Region: regionID(v.h)}
	info, err := v.rt.Task(h)
	if err != nil {
		t.Errors = append(t.Errors, message(err))
		return t
	}
	t.Kind, t.State, t.Flags = string(info.Kind), string(info.State), info.Flags
	t.Predecessors = info.Predecessors
	if info.IncompleteChildren >= 0 {
		t.IncompleteChildren = &info.IncompleteChildren
	}
	if info.ThreadNum >= 0 {
		t.ThreadNum = &info.ThreadNum
	}
	if n := in.byHandle[info.Thread]; n != nil {
		t.Thread = n.lwp
	}
	if p, err := v.rt.GeneratingTask(h); err == nil {
		t.Parent = taskID(p)
	}
	t.Function = in.taskCode(v, info)
	if info.State == rtl.TaskBlocked {
		in.fillWaits(&t, v.rt, h)
	}
	return t
}

func (in *Inspector) fillWaits(t *Task, rt *runtimeView, h handles.Task) {
	waits, err := rt.WaitsFor(h)
	seen := map[handles.Task]bool{} // a list of the target that is damaged may name a task often
	for _, w := range waits {
		if !seen[w] {
			seen[w] = true
			t.WaitsFor = append(t.WaitsFor, taskID(w))
		}
	}
	if err != nil {
		t.Errors = append(t.Errors, message(err))
	}
}

// taskCode names a task's function and the source line of its construct; an
// implicit task has those of its region.
func (in *Inspector) taskCode(v *regionView, info rtl.TaskInfo) *Code {
	switch info.Kind {
	case rtl.TaskInitial:
		return nil
	case rtl.TaskImplicit:
		return in.regionCode(v)
	}
	c := in.codeAt(info.Function, info.Source)
	if c.Address == nil && c.Line == 0 {
		return nil
	}
	return c
}
