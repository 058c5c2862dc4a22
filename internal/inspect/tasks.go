package inspect

import (
	"errors"
	"iter"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// taskID is the name of a task in the picture.
func taskID(h handles.Task) picture.ID {
	switch {
	case h.IsZero():
		return ""
	case h.Level == 0:
		return picture.ID(h.Data.String())
	}
	return picture.ID(h.Data.String() + "/" + strconv.FormatUint(uint64(h.Level), 10))
}

// taskLister makes the tasks of a picture.
type taskLister struct {
	notes   *stacks.Notes
	roster  *roster
	regions *regionTable
	model   *userModel
	only    *regionView            // whose tasks are asked for; nil for all
	one     iter.Seq[handles.Task] // the tasks of it that are asked for; nil for all

	// What the explicit task before had, which most often the next one has too.
	parent struct {
		h  handles.Task
		id picture.ID
	}
	construct struct {
		function callbacks.Address
		source   handles.SourceLocation
		code     *picture.Code
	}
}

// all yields every task that the runtimes keep: for each region, outer ones
// first, its implicit tasks and then the explicit ones of its team. Nothing is
// remembered of an explicit task that was yielded but its address, so that a
// million tasks need little memory.
func (l *taskLister) all() iter.Seq[picture.Task] {
	return func(yield func(picture.Task) bool) {
		seen := newSeenTasks()
		for _, v := range l.regions.all() {
			if l.only != nil && v != l.only {
				continue
			}
			tasks := l.tasksOf(v, seen)
			if l.one != nil {
				tasks = l.one
			}
			for h := range tasks {
				if l.notes.Exceeded("tasks") || !yield(l.task(v, h)) {
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
	explicit addresses
}

func newSeenTasks() seenTasks {
	return seenTasks{map[handles.Task]struct{}{}, addresses{}}
}

// addresses is a set of addresses. Those of structures that lie close together, as a
// million of tasks do, take a bit each in a few pages.
type addresses struct {
	pages map[uint64]*[addressPage / addressUnit / 64]uint64
	odd   map[uint64]struct{} // those that are no multiple of addressUnit
}

const (
	addressUnit = 16      // what allocators align structures to
	addressPage = 1 << 16 // bytes of the target for which there is a page of 512 bytes
)

// add reports whether a is new, and adds it.
func (s *addresses) add(a uint64) bool {
	if a%addressUnit != 0 {
		if _, dup := s.odd[a]; dup {
			return false
		}
		if s.odd == nil {
			s.odd = map[uint64]struct{}{}
		}
		s.odd[a] = struct{}{}
		return true
	}
	page := s.pages[a/addressPage]
	if page == nil {
		if s.pages == nil {
			s.pages = map[uint64]*[addressPage / addressUnit / 64]uint64{}
		}
		page = new([addressPage / addressUnit / 64]uint64)
		s.pages[a/addressPage] = page
	}
	n := a % addressPage / addressUnit
	word, bit := &page[n/64], uint64(1)<<(n%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// tasksOf yields the tasks of a region that are not among those seen.
func (l *taskLister) tasksOf(v *regionView, seen seenTasks) iter.Seq[handles.Task] {
	return func(yield func(handles.Task) bool) {
		if v.err != nil {
			return
		}
		for i := range min(v.info.TeamSize, maxTeam) {
			if l.notes.Exceeded("tasks") {
				return
			}
			h, err := v.rt.TaskInParallel(v.h, i)
			// of no task of this runtime anything is known, which it says itself
			if errors.Is(err, callbacks.Unsupported) {
				return
			}
			if err != nil {
				l.notes.Warn("implicit task %d of region %s: %v", i, regionID(v.h), err)
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
			if l.notes.Exceeded("tasks") {
				return
			}
			if err != nil {
				l.notes.Warn("explicit tasks of region %s: %v", regionID(v.h), err)
				continue
			}
			if seen.explicit.add(h.Data.Offset) && !yield(h) {
				return
			}
		}
	}
}

func (l *taskLister) task(v *regionView, h handles.Task) picture.Task {
	t := picture.Task{ID: taskID(h), Runtime: v.rt.id, Region: v.id}
	info, err := v.rt.Task(h)
	if err != nil {
		if !l.notes.IsLimit(err, "tasks") {
			t.Errors = append(t.Errors, stacks.Message(err))
		}
		return t
	}
	t.Kind, t.State, t.Flags = info.Kind, info.State, info.Flags
	t.Predecessors = info.Predecessors
	t.IncompleteChildren, t.ThreadNum = known(info.IncompleteChildren), known(info.ThreadNum)
	if n := l.roster.thread(v.rt, info.Thread); n != nil {
		t.Thread = n.LWP
	}
	t.Parent = l.parentID(info.Generating)
	t.Function = l.codeOf(v, &info)
	if info.State == picture.TaskBlocked {
		l.fillWaits(&t, v.rt, h)
	}
	return t
}

// known is a number that is -1 if it is not known.
func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// parentID is the name of the task that generated others.
func (l *taskLister) parentID(h handles.Task) picture.ID {
	if h != l.parent.h {
		l.parent.h, l.parent.id = h, taskID(h)
	}
	return l.parent.id
}

// codeOf is the code of a task; the tasks of one construct may share it.
func (l *taskLister) codeOf(v *regionView, info *handles.TaskInfo) *picture.Code {
	if info.Kind == picture.TaskInitial || info.Kind == picture.TaskImplicit {
		return l.model.taskCode(v, *info)
	}
	if c := &l.construct; c.code == nil || c.function != info.Function || c.source != info.Source {
		c.function, c.source, c.code = info.Function, info.Source, l.model.taskCode(v, *info)
	}
	return l.construct.code
}

func (l *taskLister) fillWaits(t *picture.Task, rt *runtimeView, h handles.Task) {
	waits, err := rt.WaitsFor(h)
	seen := map[handles.Task]bool{} // a list of the target that is damaged may name a task often
	for _, w := range waits {
		if !seen[w] {
			seen[w] = true
			t.WaitsFor = append(t.WaitsFor, taskID(w))
		}
	}
	if err != nil {
		t.Errors = append(t.Errors, stacks.Message(err))
	}
}
