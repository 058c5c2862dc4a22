package teams

import (
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TaskID returns the name of a task in the picture.
func TaskID(h handles.Task) picture.ID {
	switch {
	case h.IsZero():
		return ""
	case h.Level == 0:
		return picture.ID(h.Data.String())
	}
	return picture.ID(h.Data.String() + "/" + strconv.FormatUint(uint64(h.Level), 10))
}

// TaskLister makes the tasks of a picture.
type TaskLister struct {
	notes   *stacks.Notes
	threads *ThreadTable
	regions *RegionTable
	model   *UserModel
	states  *States
	region  *Region                // the region of the wanted tasks; nil for all
	one     iter.Seq[handles.Task] // its wanted tasks; nil for all

	// Parent and construct of the previous explicit task: the next one mostly has the same.
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

// LimitToRegion limits the list to the tasks of a region.
func (l *TaskLister) LimitToRegion(v *Region) { l.region = v }

// LimitToTasks limits the list to some tasks of a region, to no tasks if v is nil.
func (l *TaskLister) LimitToTasks(v *Region, hs ...handles.Task) {
	l.region, l.one = v, slices.Values(hs)
}

// Find finds a task by its name. It reads only the lists that contain tasks.
func (l *TaskLister) Find(id picture.ID) (*Region, handles.Task, bool) {
	seen := newSeenTasks()
	for _, v := range l.regions.All() {
		for h := range l.tasksOf(v, seen) {
			if TaskID(h) == id {
				return v, h, true
			}
		}
	}
	return nil, handles.Task{}, false
}

// All yields every task that the runtimes keep: for each region, outer ones first, its implicit tasks and then
// the explicit tasks of its team. It remembers only the addresses of explicit tasks, so that a million tasks
// need little memory.
func (l *TaskLister) All() iter.Seq[picture.Task] {
	return func(yield func(picture.Task) bool) {
		seen := newSeenTasks()
		for _, v := range l.regions.All() {
			if l.region != nil && v != l.region {
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

// seenTasks are the tasks that were yielded: implicit ones by handle, since the regions of a team may share one
// structure, and explicit ones by address.
type seenTasks struct {
	implicit map[handles.Task]struct{}
	explicit addresses
}

func newSeenTasks() seenTasks {
	return seenTasks{map[handles.Task]struct{}{}, addresses{}}
}

// addresses is a set of addresses. Addresses that are close together, as those of a million tasks, need one bit
// each in a few pages.
type addresses struct {
	pages map[uint64]*[addressPage / addressUnit / 64]uint64
	odd   map[uint64]struct{} // addresses that are no multiple of addressUnit
}

const (
	addressUnit = 16      // alignment of structures by allocators
	addressPage = 1 << 16 // bytes of the target for which there is a page of 512 bytes
)

// add adds a and reports whether it is new.
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

// tasksOf yields the tasks of a region that are not in seen.
func (l *TaskLister) tasksOf(v *Region, seen seenTasks) iter.Seq[handles.Task] {
	return func(yield func(handles.Task) bool) {
		if v.Err != nil {
			return
		}
		for i := range min(v.Info.TeamSize, maxTeam) {
			if l.notes.Exceeded("tasks") {
				return
			}
			h, err := v.Runtime.TaskInParallel(v.Handle, i)
			// the runtime has no list of tasks, and adds a warning
			if errors.Is(err, callbacks.Unsupported) {
				return
			}
			if err != nil {
				l.notes.Warn("implicit task %d of region %s: %v", i, RegionID(v.Handle), err)
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
		for h, err := range v.Runtime.ExplicitTasks(v.Handle) {
			if l.notes.Exceeded("tasks") {
				return
			}
			if err != nil {
				l.notes.Warn("explicit tasks of region %s: %v", RegionID(v.Handle), err)
				continue
			}
			if seen.explicit.add(h.Data.Offset) && !yield(h) {
				return
			}
		}
		r, ok := v.Runtime.Runtime.(rtl.TakenTaskReader)
		if !ok {
			return
		}
		for _, h := range r.TakenTasks(v.Handle, l.states.EvidenceByHandle) {
			if seen.explicit.add(h.Data.Offset) && !yield(h) {
				return
			}
		}
	}
}

func (l *TaskLister) task(v *Region, h handles.Task) picture.Task {
	t := picture.Task{ID: TaskID(h), Runtime: v.Runtime.ID, Region: v.id}
	info, err := v.Runtime.Task(h)
	if err != nil {
		if !l.notes.IsLimit(err, "tasks") {
			t.Errors = append(t.Errors, stacks.Message(err))
		}
		return t
	}
	t.Kind, t.State, t.Flags = info.Kind, info.State, info.Flags
	t.Predecessors = info.Predecessors
	t.IncompleteChildren, t.ThreadNum = optional(info.IncompleteChildren), optional(info.ThreadNum)
	if n := l.threads.Find(v.Runtime, info.Thread); n != nil {
		t.Thread = n.LWP
	}
	t.Parent = l.parentID(info.Generating)
	t.Function = l.codeOf(v, &info)
	if info.State == picture.TaskBlocked {
		l.fillWaits(&t, v.Runtime, h)
	}
	return t
}

// optional returns a number, nil if it is -1: unknown.
func optional(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// parentID returns the name of the generating task h.
func (l *TaskLister) parentID(h handles.Task) picture.ID {
	if h != l.parent.h {
		l.parent.h, l.parent.id = h, TaskID(h)
	}
	return l.parent.id
}

// codeOf returns the code of a task; the tasks of one construct may share it.
func (l *TaskLister) codeOf(v *Region, info *handles.TaskInfo) *picture.Code {
	if info.Kind == picture.TaskInitial || info.Kind == picture.TaskImplicit {
		return l.model.taskCode(v, *info)
	}
	if c := &l.construct; c.code == nil || c.function != info.Function || c.source != info.Source {
		c.function, c.source, c.code = info.Function, info.Source, l.model.taskCode(v, *info)
	}
	return l.construct.code
}

// fillWaits adds the tasks that a blocked task waits for.
func (l *TaskLister) fillWaits(t *picture.Task, rt *Runtime, h handles.Task) {
	waits, err := rt.WaitsFor(h)
	seen := map[handles.Task]bool{} // a damaged list of the target may contain a task often
	for _, w := range waits {
		if !seen[w] {
			seen[w] = true
			t.WaitsFor = append(t.WaitsFor, TaskID(w))
		}
	}
	if err != nil {
		t.Errors = append(t.Errors, stacks.Message(err))
	}
}

// NewTaskLister returns a lister of all tasks.
func NewTaskLister(
	notes *stacks.Notes, r *ThreadTable, regions *RegionTable, model *UserModel, states *States,
) *TaskLister {
	return &TaskLister{notes: notes, threads: r, regions: regions, model: model, states: states}
}
