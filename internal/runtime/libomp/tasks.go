package libomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// task is a copy of a kmp_taskdata_t, and for an explicit task of the kmp_task_t after it. All
// readers of a task share it.
type task struct {
	addr     callbacks.Address
	copied   *layout.Record
	team     callbacks.Address
	parent   callbacks.Address
	depnode  callbacks.Address
	explicit bool
}

// rec returns the structure, with its own error.
func (t *task) rec() layout.Record { return t.copied.Fork() }

// bit, number and address return a field of the structure; zero if it is missing.
func (t *task) bit(f layout.Field) bool                  { return t.number(f) != 0 }
func (t *task) number(f layout.Field) int64              { r := t.rec(); return r.Int(f) }
func (t *task) address(f layout.Field) callbacks.Address { r := t.rec(); return r.Address(f) }

// maxTasksKept is the number of cached tasks: the implicit ones of a large program and the explicit ones of a
// small one. A walk over a million tasks uses each for several queries in sequence.
const maxTasksKept = 1 << 12

// task returns the task at a, from the cache if it was read before.
func (rs *records) task(a callbacks.Address) (*task, error) {
	if t, ok := rs.tasks.Get(a.Offset); ok {
		return t, nil
	}
	t, err := rs.readTask(a)
	if err != nil {
		return nil, err
	}
	rs.tasks.Put(a.Offset, t, maxTasksKept)
	return t, nil
}

// readTask reads the task at a with one read.
func (rs *records) readTask(a callbacks.Address) (*task, error) {
	f := &rs.l.Taskdata
	if err := f.Size.Err(); err != nil {
		return nil, err
	}
	// The kmp_task_t of an explicit task follows directly. After an implicit one there may be no readable
	// memory.
	size := f.Size.Size
	r := layout.ReadSize(rs.mem, a, size+rs.l.Task.Routine.End())
	if r.Err() != nil {
		r = layout.ReadSize(rs.mem, a, size)
	}
	r.Fetch(f.Team, f.Parent)
	t := &task{addr: a, copied: r, explicit: r.Bool(f.FlagTasktype)}
	t.team, t.parent = r.Address(f.Team), r.Address(f.Parent)
	if t.explicit {
		t.depnode = r.Address(f.Depnode)
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("task at %v: %w", a, err)
	}
	if r.Bool(f.FlagFreed) {
		return nil, fmt.Errorf("task at %v is freed: %w", a, callbacks.StaleHandle)
	}
	return t, nil
}

func (rs *records) flag(t *task, f layout.Field) bool { return f.IsKnown() && t.bit(f) }

// target reports whether t is the task of a target construct. Before LLVM 19 there is no flag for it, but only
// such tasks are passed to hidden helper threads.
func (rs *records) target(t *task) bool {
	return rs.flag(t, rs.l.Taskdata.FlagTarget) || rs.isHelped(t)
}

// isHelped reports whether t is a task for the hidden helper threads. Then td_team is their team. If the task's
// flag is unknown, isHelped checks the team: it is under a reserved gtid and executes a function of the runtime.
func (rs *records) isHelped(t *task) bool {
	if f := rs.l.Taskdata.FlagHiddenHelper; f.IsKnown() || !t.explicit {
		return rs.flag(t, f)
	}
	f, g := &rs.l.Team, rs.l.Thread.Gtid
	r := layout.Read(rs.mem, t.team, f.Pkfn, f.Threads)
	function, threads := r.Address(f.Pkfn), r.Address(f.Threads)
	if r.Err() != nil || !rs.Owns(function.Offset) {
		return false
	}
	first := layout.Field{Size: 8}
	at := layout.Read(rs.mem, threads, first)
	th := layout.Read(rs.mem, at.Address(first), g)
	gtid := th.Int(g)
	return at.Err() == nil && th.Err() == nil && gtid >= 1 && gtid <= defaultHidden
}

// taskRegions returns the regions around task t, innermost first. level is the level in its handle; it is used
// only for implicit tasks.
func (tk *tasks) taskRegions(t *task, level uint32) ([]region, error) {
	explicit := t.explicit
	a, err := tk.records.teamOf(t)
	if err != nil {
		return nil, err
	}
	tm, err := tk.threads.readTeam(a)
	if err != nil {
		return nil, fmt.Errorf("task at %v: %w", t.addr, err)
	}
	if explicit {
		level = uint32(tm.level)
	}
	return tk.regions.findRegions(handles.Parallel{Stamp: tk.stamp, Team: tm.addr, Level: level})
}

// found is the task of a handle.
type found struct {
	*task
	regions []region // innermost first
	num     int      // thread number of an implicit task, -1 otherwise
}

// lookup reads the task of a handle. The handle of an implicit task is stale if the task no longer belongs to
// its team.
func (tk *tasks) lookup(h handles.Task) (found, error) {
	if h.Stamp != tk.stamp {
		return found{}, fmt.Errorf("%v is of another stop: %w", h, callbacks.StaleHandle)
	}
	t, err := tk.records.task(h.Data)
	if err != nil {
		return found{}, fmt.Errorf("%v: %w", h, err)
	}
	gs, err := tk.taskRegions(t, h.Level)
	if err != nil {
		return found{}, fmt.Errorf("%v: %w", h, err)
	}
	fd := found{task: t, regions: gs, num: -1}
	if !t.explicit {
		g := gs[0]
		off := h.Data.Sub(g.team.implicit)
		fd.num = int(off / tk.l.Taskdata.Size.Size)
		if fd.num >= g.numThreads() || tk.threads.implicitTask(g.team, fd.num) != h.Data {
			return fd, fmt.Errorf("%v is no implicit task of its team at %v: %w", h, g.team.addr, callbacks.StaleHandle)
		}
	}
	return fd, nil
}

// taskHandle returns the handle of the task at a. An implicit task of a team that serves several regions gets
// the handle in the innermost one: the others cannot be reached from below.
func (tk *tasks) taskHandle(a callbacks.Address) (handles.Task, error) {
	t, err := tk.records.task(a)
	if err != nil {
		return handles.Task{}, err
	}
	return tk.handleOf(t)
}

func (tk *tasks) handleOf(t *task) (handles.Task, error) {
	h := handles.Task{Stamp: tk.stamp, Data: t.addr}
	if t.explicit {
		return h, nil
	}
	tm, err := tk.threads.readTeam(t.team)
	if err != nil {
		return h, fmt.Errorf("task at %v: %w", t.addr, err)
	}
	h.Level = uint32(tm.level)
	return h, nil
}

// CurrentTask implements ompd_get_curr_task_handle.
func (tk *tasks) CurrentTask(h handles.Thread) (handles.Task, error) {
	if _, err := tk.regions.ofHandle(h); err != nil {
		return handles.Task{}, err
	}
	th, err := tk.threads.byHandle(h)
	if err != nil {
		return handles.Task{}, err
	}
	return tk.taskHandle(th.task)
}

// GeneratingTask implements ompd_get_generating_task_handle.
func (tk *tasks) GeneratingTask(h handles.Task) (handles.Task, error) {
	fd, err := tk.lookup(h)
	if err != nil {
		return handles.Task{}, err
	}
	return tk.generatorOf(fd)
}

// generatorOf returns the task that generated fd.
func (tk *tasks) generatorOf(fd found) (handles.Task, error) {
	if fd.explicit {
		return tk.taskHandle(fd.parent)
	}
	gs := fd.regions
	if len(gs) < 2 {
		return handles.Task{}, fmt.Errorf("it is the initial task: %w", callbacks.Unavailable)
	}
	if gs[1].team == gs[0].team { // both regions share the task structure
		return tk.regions.implicitHandle(gs[1], 0), nil
	}
	return tk.parentOutside(fd.task, gs[1])
}

// parentOutside returns the task that generated the region of the implicit task t, in the enclosing region.
// Between the two may be the team of a league's primary threads. Its implicit tasks are not tasks of the
// program.
func (tk *tasks) parentOutside(t *task, around region) (handles.Task, error) {
	a := t.parent
	var loop rtl.Loop
	for range maxNesting {
		p, err := tk.records.task(a)
		if err = errors.Join(err, loop.Visit(a)); err != nil {
			return handles.Task{}, err
		}
		if p.explicit || p.team == around.team.addr {
			return tk.handleOf(p)
		}
		a = p.parent
	}
	return handles.Task{}, fmt.Errorf("no task of team at %v around the task at %v: %w", around.team.addr, t.addr,
		callbacks.StaleHandle)
}

// TaskParallel implements ompd_get_task_parallel_handle.
func (tk *tasks) TaskParallel(h handles.Task) (handles.Parallel, error) {
	fd, err := tk.lookup(h)
	if err != nil {
		return handles.Parallel{}, err
	}
	return tk.parallelHandle(fd.regions[0]), nil
}

// Task reads one task.
func (tk *tasks) Task(h handles.Task) (handles.TaskInfo, error) {
	fd, err := tk.lookup(h)
	if err != nil {
		return handles.TaskInfo{}, err
	}
	f, r := &tk.l.Taskdata, fd.rec()
	info := handles.TaskInfo{
		Kind:               tk.kind(fd),
		Flags:              tk.records.flags(fd.task),
		Source:             tk.records.readSource(r.Address(f.Ident)),
		IncompleteChildren: int(r.Int(f.IncompleteChildTasks)),
		ThreadNum:          fd.num,
		Predecessors:       tk.records.countPredecessors(fd.task),
		Frame:              tk.frame(fd),
	}
	info.Function = tk.function(fd)
	info.Generating, _ = tk.generatorOf(fd)
	if fd.explicit {
		info.Priority = tk.records.priority(fd.task)
	} else {
		info.Source = handles.SourceLocation{}
		if g := fd.regions[0]; g.innermost() && !g.initial {
			info.Source = tk.records.readSource(g.team.ident)
		}
	}
	var th *thread
	info.State, th, err = tk.taskState(fd)
	if th != nil {
		info.Thread = handles.Thread{Stamp: tk.stamp, Info: th.addr}
	}
	return info, err
}

func (tk *tasks) kind(fd found) picture.TaskKind {
	switch {
	case !fd.explicit && fd.regions[0].initial:
		return picture.TaskInitial
	case !fd.explicit:
		return picture.TaskImplicit
	case tk.records.target(fd.task):
		return picture.TaskTarget
	}
	return picture.TaskExplicit
}

// function returns the outlined function of a task: kmp_task_t.routine of an explicit one, the region's function
// of an implicit one.
func (tk *tasks) function(fd found) callbacks.Address {
	if fd.explicit {
		f := tk.l.Task.Routine
		f.Offset += tk.l.Taskdata.Size.Size
		r := fd.rec()
		a := r.Address(f)
		if r.Err() != nil {
			return callbacks.Address{}
		}
		return a
	}
	g := fd.regions[0]
	switch {
	case g.initial && g.league > 0:
		if th, err := tk.threads.member(g.team, 0); err == nil {
			return th.microtask
		}
	case !g.initial && g.innermost():
		return g.team.pkfn
	}
	return callbacks.Address{}
}

// priority returns the value of the priority clause; 0 without one. It follows the routine in the kmp_task_t.
func (rs *records) priority(t *task) int {
	if !rs.flag(t, rs.l.Taskdata.FlagPrioritySpecified) || !rs.l.Task.Priority.IsKnown() {
		return 0
	}
	f := rs.l.Task.Priority
	r := layout.Read(rs.mem, t.addr.Add(rs.l.Taskdata.Size.Size), f)
	return int(r.Int(f))
}

// flags returns the properties of a task, in a fixed order.
func (rs *records) flags(t *task) []string {
	if !t.explicit {
		return rs.groupFlags(t)
	}
	f, r := &rs.l.Taskdata, t.rec()
	flags := []string{"untied"}
	if f.FlagTiedness.IsKnown() && r.Bool(f.FlagTiedness) {
		flags[0] = "tied"
	}
	for _, x := range []struct {
		name string
		bit  layout.Field
	}{
		{"final", f.FlagFinal}, {"merged", f.FlagMergedIf0}, {"undeferred", f.FlagTaskSerial},
		{"detachable", f.FlagDetachable},
		{"proxy", f.FlagProxy}, {"priority", f.FlagPrioritySpecified}, {"hidden_helper", f.FlagHiddenHelper},
		{"native", f.FlagNative},
		{"free_agent_eligible", f.FlagFreeAgentEligible}, {"transparent", f.FlagTransparent},
	} {
		if x.bit.IsKnown() && r.Bool(x.bit) {
			flags = append(flags, x.name)
		}
	}
	if t.bit(f.FlagStarted) {
		flags = append(flags, rs.groupFlags(t)...)
	}
	return flags
}

const (
	// maxTaskgroups bounds the nesting of taskgroups: programs have a few, and a damaged list may be circular.
	maxTaskgroups = 64
	// cancelTaskgroup is the request to cancel a taskgroup (cancel_taskgroup of kmp.h).
	cancelTaskgroup = 4
)

// groupFlags returns the flag of a task in a cancelled taskgroup.
func (rs *records) groupFlags(t *task) []string {
	f := &rs.l.Taskgroup
	group := t.address(rs.l.Taskdata.Taskgroup)
	for range maxTaskgroups {
		if group.IsNull() {
			break
		}
		r := layout.Read(rs.mem, group, f.CancelRequest, f.Parent)
		if r.Int(f.CancelRequest) == cancelTaskgroup && r.Err() == nil {
			return []string{picture.FlagCancelledGroup}
		}
		if group = r.Address(f.Parent); r.Err() != nil {
			break
		}
	}
	return nil
}

// Flags of frames (ompt_frame_flag_t).
const (
	frameKinds = 0x01 // ompt_frame_application; otherwise ompt_frame_runtime
	framePlace = 0x30 // ompt_frame_cfa, ompt_frame_framepointer or ompt_frame_stackaddress
	// defaultFrame is the runtime's usual value: code of the runtime, identified by its frame pointer.
	defaultFrame = 0x20
)

// frame returns the frames at which the task was entered and left. The runtime stores them only if it tracks
// states; otherwise the fields are uninitialized.
func (tk *tasks) frame(fd found) handles.TaskFrame {
	if !tk.id.Tracking {
		return handles.TaskFrame{}
	}
	f := &tk.l.Taskdata
	exit, enter, exitFlags, enterFlags := f.OmptExitFrame, f.OmptEnterFrame, f.OmptExitFrameFlags, f.OmptEnterFrameFlags
	r := fd.rec()
	if g := fd.regions[0]; !fd.explicit && !g.innermost() {
		lwt, err := tk.lightweight(g)
		if err != nil {
			return handles.TaskFrame{}
		}
		l := &tk.l.Lwt
		r, exit, enter, exitFlags, enterFlags = *lwt, l.OmptExitFrame, l.OmptEnterFrame, l.OmptExitFrameFlags,
			l.OmptEnterFrameFlags
	}
	fr := handles.TaskFrame{
		Exit: r.Address(exit), Enter: r.Address(enter),
		ExitFlags: uint32(r.Uint(exitFlags)), EnterFlags: uint32(r.Uint(enterFlags)),
	}
	fr.ExitFlags = frameFlags(fr.Exit, fr.ExitFlags)
	fr.EnterFlags = frameFlags(fr.Enter, fr.EnterFlags)
	return fr
}

// frameFlags returns the flags of the frame at a. The runtime leaves them unset in the records of serialized
// regions.
func frameFlags(a callbacks.Address, flags uint32) uint32 {
	switch {
	case a.IsNull():
		return 0
	case flags&^(frameKinds|framePlace) != 0 || flags&framePlace == 0:
		return defaultFrame
	}
	return flags
}
