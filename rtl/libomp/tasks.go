package libomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// task is a copy of a kmp_taskdata_t, with the kmp_task_t behind it if that is
// an explicit task.
type task struct {
	addr     callbacks.Address
	rec      *layout.Record
	team     callbacks.Address
	parent   callbacks.Address
	depnode  callbacks.Address
	explicit bool
}

// maxTasksKept is how many tasks are kept: the implicit ones of a large program
// and the explicit ones of a small one. Of a million, each is asked for once.
const maxTasksKept = 1 << 12

// task reads the task at a, or takes it from the reads before.
func (rt *runtime) task(a callbacks.Address) (*task, error) {
	t, ok := rt.tasks.get(a.Offset)
	if !ok {
		var err error
		if t, err = rt.readTask(a); err != nil {
			return nil, err
		}
		if rt.tasks.size() < maxTasksKept {
			rt.tasks.put(a.Offset, t)
		}
	}
	own := *t
	own.rec = t.rec.Fork()
	return &own, nil
}

// readTask reads the task at a with one read.
func (rt *runtime) readTask(a callbacks.Address) (*task, error) {
	f := &rt.l.Taskdata
	if err := f.Size.Err(); err != nil {
		return nil, err
	}
	// The kmp_task_t of an explicit task lies right behind. Behind an
	// implicit one there may be nothing.
	size := f.Size.Size
	r := layout.ReadSize(rt.mem, a, size+rt.l.Task.Routine.End())
	if r.Err() != nil {
		r = layout.ReadSize(rt.mem, a, size)
	}
	t := &task{
		addr:     a,
		rec:      r,
		team:     r.Address(f.Team),
		parent:   r.Address(f.Parent),
		depnode:  r.Address(f.Depnode),
		explicit: r.Bool(f.FlagTasktype),
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("task at %v: %w", a, err)
	}
	if r.Bool(f.FlagFreed) {
		return nil, fmt.Errorf("task at %v is freed: %w", a, callbacks.StaleHandle)
	}
	return t, nil
}

func (rt *runtime) flag(t *task, f layout.Field) bool { return f.Known() && t.rec.Bool(f) }

// target tells whether t is the task of a target construct. Before LLVM 19 there
// is no flag for it, but only such tasks are given to hidden helper threads.
func (rt *runtime) target(t *task) bool {
	return rt.flag(t, rt.l.Taskdata.FlagTarget) || rt.helped(t)
}

// helped tells whether t is a task for the hidden helper threads, whose team its
// td_team is then.
func (rt *runtime) helped(t *task) bool { return rt.flag(t, rt.l.Taskdata.FlagHiddenHelper) }

// taskRegions returns the regions around task t, that of the task first. level is
// its handle's, which counts for an implicit task.
func (rt *runtime) taskRegions(t *task, level uint32) ([]region, error) {
	explicit := t.explicit
	for n := 0; t.explicit && rt.helped(t); n++ {
		p, err := rt.task(t.parent)
		if err != nil || n == maxNesting {
			return nil, fmt.Errorf("parent of the target task at %v: %w", t.addr, err)
		}
		t = p
	}
	tm, err := rt.team(t.team)
	if err != nil {
		return nil, fmt.Errorf("task at %v: %w", t.addr, err)
	}
	if explicit {
		level = uint32(tm.level)
	}
	return rt.find(handles.Parallel{Stamp: rt.stamp, Team: tm.addr, Level: level})
}

// found is a task that a handle names.
type found struct {
	*task
	regions []region // its own first
	num     int      // thread number of an implicit task, -1 otherwise
}

// lookup reads the task that h names. An implicit task that is not one of its
// team's is stale.
func (rt *runtime) lookup(h handles.Task) (found, error) {
	if h.Stamp != rt.stamp {
		return found{}, fmt.Errorf("%v is of another stop: %w", h, callbacks.StaleHandle)
	}
	t, err := rt.task(h.Data)
	if err != nil {
		return found{}, fmt.Errorf("%v: %w", h, err)
	}
	gs, err := rt.taskRegions(t, h.Level)
	if err != nil {
		return found{}, fmt.Errorf("%v: %w", h, err)
	}
	fd := found{task: t, regions: gs, num: -1}
	if !t.explicit {
		g := gs[0]
		off := h.Data.Sub(g.team.implicit)
		fd.num = int(off / rt.l.Taskdata.Size.Size)
		if fd.num >= g.size() || rt.implicitTask(g.team, fd.num) != h.Data {
			return fd, fmt.Errorf("%v is no implicit task of its team at %v: %w", h, g.team.addr, callbacks.StaleHandle)
		}
	}
	return fd, nil
}

// taskHandle names the task at a. An implicit task whose team serves several
// regions is that of the innermost one: the others cannot be reached from below.
func (rt *runtime) taskHandle(a callbacks.Address) (handles.Task, error) {
	t, err := rt.task(a)
	if err != nil {
		return handles.Task{}, err
	}
	return rt.handleOf(t)
}

func (rt *runtime) handleOf(t *task) (handles.Task, error) {
	h := handles.Task{Stamp: rt.stamp, Data: t.addr}
	if t.explicit {
		return h, nil
	}
	tm, err := rt.team(t.team)
	if err != nil {
		return h, fmt.Errorf("task at %v: %w", t.addr, err)
	}
	h.Level = uint32(tm.level)
	return h, nil
}

// CurrentTask is ompd_get_curr_task_handle.
func (rt *runtime) CurrentTask(h handles.Thread) (handles.Task, error) {
	if _, err := rt.regionsOf(h); err != nil {
		return handles.Task{}, err
	}
	th, err := rt.byHandle(h)
	if err != nil {
		return handles.Task{}, err
	}
	return rt.taskHandle(th.task)
}

// GeneratingTask is ompd_get_generating_task_handle.
func (rt *runtime) GeneratingTask(h handles.Task) (handles.Task, error) {
	fd, err := rt.lookup(h)
	if err != nil {
		return handles.Task{}, err
	}
	if fd.explicit {
		return rt.taskHandle(fd.parent)
	}
	gs := fd.regions
	if len(gs) < 2 {
		return handles.Task{}, fmt.Errorf("%v is the initial task: %w", h, callbacks.Unavailable)
	}
	if gs[1].team == gs[0].team { // both regions share the task structure
		return rt.implicitHandle(gs[1], 0), nil
	}
	return rt.parentOutside(fd.task, gs[1])
}

// parentOutside returns the task that generated the region of the implicit task
// t, in the enclosing region. The team of the primary threads of a league lies
// between the two, and has implicit tasks that are no task of the program.
func (rt *runtime) parentOutside(t *task, around region) (handles.Task, error) {
	a := t.parent
	var loop rtl.Loop
	for range maxNesting {
		p, err := rt.task(a)
		if err = errors.Join(err, loop.At(a)); err != nil {
			return handles.Task{}, err
		}
		if p.explicit || p.team == around.team.addr {
			return rt.handleOf(p)
		}
		a = p.parent
	}
	return handles.Task{}, fmt.Errorf("no task of team at %v around the task at %v: %w", around.team.addr, t.addr, callbacks.StaleHandle)
}

// TaskParallel is ompd_get_task_parallel_handle.
func (rt *runtime) TaskParallel(h handles.Task) (handles.Parallel, error) {
	fd, err := rt.lookup(h)
	if err != nil {
		return handles.Parallel{}, err
	}
	return rt.parallelHandle(fd.regions[0]), nil
}

// Task reads one task.
func (rt *runtime) Task(h handles.Task) (rtl.TaskInfo, error) {
	fd, err := rt.lookup(h)
	if err != nil {
		return rtl.TaskInfo{}, err
	}
	f := &rt.l.Taskdata
	info := rtl.TaskInfo{
		Kind:               rt.kind(fd),
		Flags:              rt.flags(fd.task),
		Source:             rt.source(fd.rec.Address(f.Ident)),
		IncompleteChildren: int(fd.rec.Int(f.IncompleteChildTasks)),
		ThreadNum:          fd.num,
		Predecessors:       rt.predecessors(fd.task),
		Frame:              rt.frame(fd),
	}
	info.Function = rt.function(fd)
	if fd.explicit {
		info.Priority = rt.priority(fd.task)
	} else {
		info.Source = rtl.SourceLocation{}
		if g := fd.regions[0]; g.innermost() && !g.initial {
			info.Source = rt.source(g.team.ident)
		}
	}
	var th *thread
	info.State, th, err = rt.taskState(fd)
	if th != nil {
		info.Thread = handles.Thread{Stamp: rt.stamp, Info: th.addr}
	}
	return info, err
}

func (rt *runtime) kind(fd found) rtl.TaskKind {
	switch {
	case !fd.explicit && fd.regions[0].initial:
		return rtl.TaskInitial
	case !fd.explicit:
		return rtl.TaskImplicit
	case rt.target(fd.task):
		return rtl.TaskTarget
	}
	return rtl.TaskExplicit
}

// function is the outlined function of a task: kmp_task_t.routine of an explicit
// one, the region's of an implicit one.
func (rt *runtime) function(fd found) callbacks.Address {
	if fd.explicit {
		f := rt.l.Task.Routine
		f.Offset += rt.l.Taskdata.Size.Size
		a := fd.rec.Address(f)
		if fd.rec.Err() != nil {
			return callbacks.Address{}
		}
		return a
	}
	g := fd.regions[0]
	switch {
	case g.initial && g.league > 0:
		if th, err := rt.member(g.team, 0); err == nil {
			return th.microtask
		}
	case !g.initial && g.innermost():
		return g.team.pkfn
	}
	return callbacks.Address{}
}

// priority is the priority clause's value, 0 without one. It lies in the
// kmp_task_t behind its routine.
func (rt *runtime) priority(t *task) int {
	if !rt.flag(t, rt.l.Taskdata.FlagPrioritySpecified) || !rt.l.Task.Priority.Known() {
		return 0
	}
	f := rt.l.Task.Priority
	r := layout.Read(rt.mem, t.addr.Add(rt.l.Taskdata.Size.Size), f)
	return int(r.Int(f))
}

// flags are the properties of a task, in a fixed order.
func (rt *runtime) flags(t *task) []string {
	if !t.explicit {
		return nil
	}
	f := &rt.l.Taskdata
	flags := []string{"untied"}
	if rt.flag(t, f.FlagTiedness) {
		flags[0] = "tied"
	}
	for _, x := range []struct {
		name string
		bit  layout.Field
	}{
		{"final", f.FlagFinal}, {"merged", f.FlagMergedIf0}, {"undeferred", f.FlagTaskSerial}, {"detachable", f.FlagDetachable},
		{"proxy", f.FlagProxy}, {"priority", f.FlagPrioritySpecified}, {"hidden_helper", f.FlagHiddenHelper}, {"native", f.FlagNative},
		{"free_agent_eligible", f.FlagFreeAgentEligible}, {"transparent", f.FlagTransparent},
	} {
		if rt.flag(t, x.bit) {
			flags = append(flags, x.name)
		}
	}
	return flags
}

// Flags of frames (ompt_frame_flag_t).
const (
	frameKinds = 0x01 // ompt_frame_application; otherwise ompt_frame_runtime
	framePlace = 0x30 // ompt_frame_cfa, ompt_frame_framepointer or ompt_frame_stackaddress
	// defaultFrame is what the runtime sets where it sets them: code of the
	// runtime, by its frame pointer.
	defaultFrame = 0x20
)

// frame is where the task was entered and left. The runtime keeps it only if it
// keeps states; otherwise the fields hold what was in the memory before.
func (rt *runtime) frame(fd found) rtl.TaskFrame {
	if !rt.id.Tracking {
		return rtl.TaskFrame{}
	}
	f := &rt.l.Taskdata
	exit, enter, exitFlags, enterFlags := f.OmptExitFrame, f.OmptEnterFrame, f.OmptExitFrameFlags, f.OmptEnterFrameFlags
	r := fd.rec
	if g := fd.regions[0]; !fd.explicit && !g.innermost() {
		lwt, err := rt.lightweight(g)
		if err != nil {
			return rtl.TaskFrame{}
		}
		l := &rt.l.Lwt
		r, exit, enter, exitFlags, enterFlags = lwt, l.OmptExitFrame, l.OmptEnterFrame, l.OmptExitFrameFlags, l.OmptEnterFrameFlags
	}
	fr := rtl.TaskFrame{
		Exit: r.Address(exit), Enter: r.Address(enter),
		ExitFlags: uint32(r.Uint(exitFlags)), EnterFlags: uint32(r.Uint(enterFlags)),
	}
	fr.ExitFlags = frameFlags(fr.Exit, fr.ExitFlags)
	fr.EnterFlags = frameFlags(fr.Enter, fr.EnterFlags)
	return fr
}

// frameFlags are the flags of the frame at a. In the records of serialized regions
// the runtime leaves them unset.
func frameFlags(a callbacks.Address, flags uint32) uint32 {
	switch {
	case a.IsNull():
		return 0
	case flags&^(frameKinds|framePlace) != 0 || flags&framePlace == 0:
		return defaultFrame
	}
	return flags
}
