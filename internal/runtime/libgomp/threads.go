package libgomp

import (
	"errors"
	"fmt"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// thread is a copy of a gomp_thread, with the teams that enclose it.
type thread struct {
	native
	addr        callbacks.Address
	rec         *layout.Record
	number      int // position among the target's OpenMP threads
	id          int // ts.team_id
	level       int
	activeLevel int
	team        callbacks.Address
	task        callbacks.Address
	pool        callbacks.Address

	frames []frame // innermost first, without level 0
	// tasks holds, for each frame, the address of the task in it: first the task that the thread executes, then
	// outwards the tasks from which it forked its regions. null means unknown.
	tasks  []callbacks.Address
	serial *team  // the team of its serial code; nil unless the thread's outermost team is one
	err    error  // the reason if the frames are unknown
	idle   string // the reason if it is in no region now; else empty

	// hostTarget means that the thread executes a target region on the host. outer is its state before that
	// region if it has forked regions there, else nil: its frames are the last ones of frames.
	hostTarget bool
	outer      *thread
}

// frame is a thread's place in one of its enclosing teams.
type frame struct {
	team          *team
	id            int
	level, active int
}

// root reports whether the thread was started by the program, not by the runtime: it is number 0 in all teams
// around it.
func (th *thread) root() bool { return th.worksIn() < 0 }

// worksIn returns the index of the innermost frame that the thread did not fork itself, or -1.
func (th *thread) worksIn() int {
	for i, f := range th.frames {
		if f.id != 0 {
			return i
		}
	}
	return -1
}

// readThread reads the gomp_thread of a native thread.
func (ths *threads) readThread(n native) (*thread, error) {
	f := &ths.l.Thread
	a := callbacks.Addr(n.tp).Add(ths.l.Globals.TLS.Address.Offset)
	r := layout.Read(ths.mem, a, f.Fn, f.Team, f.TeamID, f.Level, f.ActiveLevel, f.Task, f.ThreadPool, f.Release,
		f.Place, f.WorkShare,
		f.PlacePartitionOff, f.PlacePartitionLen, f.DefAllocator, f.NumTeams, f.TeamNum)
	th := &thread{
		native: n, addr: a, rec: r,
		id: int(r.Uint(f.TeamID)), level: int(r.Uint(f.Level)), activeLevel: int(r.Uint(f.ActiveLevel)),
		team: r.Address(f.Team), task: r.Address(f.Task), pool: r.Address(f.ThreadPool),
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("gomp_tls_data of LWP %d at %v: %w", n.lwp, a, err)
	}
	return th, nil
}

// unused reports whether a thread has never started a region or set a control variable. A query of its thread
// number leaves no trace in its gomp_thread.
func (th *thread) unused() bool {
	return th.team.IsNull() && th.task.IsNull() && th.pool.IsNull() || th.isMistaken()
}

// isMistaken reports whether the runtime confuses a thread with a lost one. In a child after fork, new threads
// may get the stacks of the parent's threads, with their gomp_threads. A real member of a team records its pool
// when it starts; the forking function writes the other fields. When it ends, its pool and its task are cleared.
func (th *thread) isMistaken() bool {
	return !th.hostTarget && th.pool.IsNull() && !th.task.IsNull() && !th.team.IsNull() && th.id > 0
}

// readFrames follows the chain of teams around a thread, outwards from its own. The chain may end in the team of
// the root's serial code.
func (ths *threads) readFrames(th *thread) error {
	f := frame{id: th.id, level: th.level, active: th.activeLevel}
	for at := th.team; !at.IsNull(); {
		t, err := ths.records.readTeam(at)
		if err != nil {
			return err
		}
		f.team = t
		if f.inSerialCode() {
			th.serial = t
			return nil
		}
		if f.id >= t.nthreads || f.level < 1 || f.level > maxNesting || f.active > f.level {
			return fmt.Errorf("team at %v: number %d of %d at level %d, active level %d: %w", at, f.id, t.nthreads,
				f.level, f.active, callbacks.StaleHandle)
		}
		th.frames = append(th.frames, f)
		f = frame{id: t.prevID, level: t.prevLevel, active: t.prevActive}
		if want := th.frames[len(th.frames)-1].level - 1; f.level != want {
			return fmt.Errorf("team at %v: the level around level %d is %d: %w", at, want+1, f.level,
				callbacks.StaleHandle)
		}
		at = t.prev
	}
	if f.level != 0 || f.id != 0 {
		return fmt.Errorf("no team at level %d: %w", f.level, callbacks.StaleHandle)
	}
	return nil
}

// inSerialCode reports whether a team is the one that the runtime creates for a root's serial code, outside of
// all regions: for reductions of tasks, and for target tasks with nowait. Such a team has one thread, does not
// count as a level, and is the thread's team until the thread ends. The teams of later regions point to it.
func (f frame) inSerialCode() bool {
	t := f.team
	return f.level == 0 && f.id == 0 && f.active == 0 &&
		t.nthreads == 1 && t.prev.IsNull() && t.prevID == 0 && t.prevLevel == 0 && t.prevActive == 0
}

// errMoving is the error of a thread that is just entering or leaving a region.
var errMoving = fmt.Errorf("it is just entering or leaving a region, and what the runtime keeps of it is half "+
	"written: %w", callbacks.Unavailable)

// moving reports whether a thread was stopped between two of the writes by which it enters or leaves a region:
// the runtime writes the team before the level, or the level before the team.
func (ths *threads) moving(th *thread) bool {
	around := -1 // the level of the enclosing team
	if !th.team.IsNull() {
		t, err := ths.records.readTeam(th.team)
		if err != nil {
			return false
		}
		around = t.prevLevel
	}
	if d := th.level - around; d != 0 && d != 2 {
		return false
	}
	registers, ok := ths.target.(callbacks.RegisterReader)
	if !ok || th.lwp == 0 {
		return false
	}
	regs, err := registers.Registers(callbacks.LWP(th.lwp))
	return err == nil && regs.Syscall < 0 && ths.Owns(regs.PC())
}

// readTasks finds the tasks from which a thread forked the regions around it: the parents of its implicit tasks
// in these regions.
func (ths *threads) readTasks(th *thread) {
	th.tasks = append(th.tasks, th.task)
	for i, f := range th.frames {
		if f.id != 0 {
			return
		}
		if th.outer != nil && i+1 == len(th.frames)-len(th.outer.frames) {
			th.tasks = append(th.tasks, th.outer.task)
			continue
		}
		first, err := ths.records.readTask(ths.records.implicitAddress(f.team, 0))
		if err != nil {
			return
		}
		th.tasks = append(th.tasks, first.parent)
	}
}

// Threads yields all threads of the target that use the runtime.
func (ths *threads) Threads() iter.Seq2[handles.Thread, error] {
	w := ths.world()
	return rtl.Yield(w.threads, ths.threadHandle, w.errs)
}

func (rt *base) threadHandle(th *thread) handles.Thread {
	return handles.Thread{Stamp: rt.stamp, Info: th.addr}
}

// byHandle returns the thread of h.
func (ths *threads) byHandle(h handles.Thread) (*thread, error) {
	if h.Stamp != ths.stamp {
		return nil, fmt.Errorf("%v is of another stop: %w", h, callbacks.StaleHandle)
	}
	th := ths.world().byAddr[h.Info.Offset]
	if th == nil {
		return nil, fmt.Errorf("%v is no thread's gomp_tls_data: %w", h, callbacks.StaleHandle)
	}
	return th, nil
}

// Thread reads one thread.
func (ths *threads) Thread(h handles.Thread) (handles.ThreadInfo, error) {
	th, err := ths.byHandle(h)
	if err != nil {
		return handles.ThreadInfo{}, err
	}
	info := handles.ThreadInfo{Number: int64(th.number), Pthread: callbacks.Pthread(th.pthread), LWP: th.lwp,
		Role: picture.RoleIdle, ThreadNum: -1}
	switch {
	case th.err != nil:
		return info, th.err
	case th.idle != "":
		return info, nil
	}
	info.ThreadNum, info.Role = 0, picture.RoleInitial
	if len(th.frames) > 0 {
		info.ThreadNum = th.frames[0].id
	}
	switch {
	case th.root():
	case info.ThreadNum == 0:
		info.Role = picture.RolePrimary
	default:
		info.Role = picture.RoleWorker
	}
	return info, nil
}

// CurrentParallel implements ompd_get_curr_parallel_handle.
func (ths *threads) CurrentParallel(h handles.Thread) (handles.Parallel, error) {
	r, _, err := ths.regionOf(h)
	if err != nil {
		return handles.Parallel{}, err
	}
	return ths.parallelHandle(r), nil
}

// regionOf returns the innermost region of the thread. It returns an error for a thread outside of regions.
func (ths *threads) regionOf(h handles.Thread) (*region, *thread, error) {
	th, err := ths.byHandle(h)
	if err != nil {
		return nil, nil, err
	}
	if th.err != nil {
		return nil, th, errors.Join(th.err, callbacks.Unavailable)
	}
	r := ths.world().regionAtFrame(th, 0)
	if r == nil {
		return nil, th, fmt.Errorf("LWP %d is idle and in no region: %s: %w", th.lwp, th.idle, callbacks.Unavailable)
	}
	return r, th, nil
}
