package libomp

import (
	"errors"
	"fmt"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp/locate"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxSlots bounds the length of __kmp_threads. Linux has at most 4 Mi threads (PID_MAX_LIMIT), and the array
	// grows by doubling.
	maxSlots = 8 << 20
	// defaultHidden is the number of hidden helper threads that the runtime reserves unless
	// LIBOMP_NUM_HIDDEN_HELPER_THREADS is set: their gtids are 1 to 8.
	defaultHidden = 8
)

// thread is a copy of a kmp_info_t.
type thread struct {
	addr       callbacks.Address
	gtid, tid  int
	team       callbacks.Address
	task       callbacks.Address // th_current_task
	inPool     bool
	microtask  callbacks.Address // function of the teams construct; null outside of one
	teamsLevel int               // level of the teams construct
	nteams     int
	taskTeam   callbacks.Address
}

func (th *thread) inTeams() bool { return !th.microtask.IsNull() }

// readSlots reads __kmp_threads.
func (ths *threads) readSlots() error {
	g := &ths.l.Globals
	if err := g.Threads.Err(); err != nil {
		return err
	}
	array, err := layout.ReadUint(ths.mem, g.Threads.Address, 8)
	if err != nil {
		return fmt.Errorf("__kmp_threads: %w", err)
	}
	if array == 0 {
		return fmt.Errorf("__kmp_threads is null: %w", locate.ErrNotInitialized)
	}
	n, err := ths.capacity(array)
	if err != nil {
		return err
	}
	words := make([]byte, 8*n)
	if err := ths.mem.ReadMemory(callbacks.Addr(array), words); err != nil {
		return fmt.Errorf("__kmp_threads of %d elements: %w", n, errors.Join(err, callbacks.DeviceReadError))
	}
	ths.slots = make([]callbacks.Address, n)
	for i := range ths.slots {
		p := callbacks.Word(words[8*i : 8*i+8])
		ths.slots[i] = callbacks.Addr(p)
		if p != 0 {
			ths.gtids[p] = i
		}
	}
	return nil
}

// capacity returns the number of elements in the array __kmp_threads at address array. If the runtime's variable
// for it cannot be found, the number follows from __kmp_root, which the runtime places directly after the array
// in the same allocation.
func (ths *threads) capacity(array uint64) (int64, error) {
	g := &ths.l.Globals
	n, err := layout.ReadGlobal(ths.mem, g.ThreadsCapacity, 4)
	if err != nil {
		root, e := layout.ReadGlobal(ths.mem, g.Root, 8)
		if e != nil {
			return 0, fmt.Errorf("length of __kmp_threads: %w", errors.Join(err, e))
		}
		n = (root - int64(array)) / 8
	}
	if n < 1 || n > maxSlots {
		return 0, fmt.Errorf("__kmp_threads has %d elements, not 1 to %d: %w", n, maxSlots, callbacks.Incompatible)
	}
	return n, nil
}

// readThread reads the kmp_info_t at a, or returns the cached thread.
func (ths *threads) readThread(a callbacks.Address) (*thread, error) {
	if th, ok := ths.known.Get(a.Offset); ok {
		return th, nil
	}
	gtid, ok := ths.gtids[a.Offset]
	if !ok {
		return nil, fmt.Errorf("thread at %v is not in __kmp_threads: %w", a, callbacks.StaleHandle)
	}
	th, err := ths.decodeThread(a, gtid)
	if err != nil {
		return nil, fmt.Errorf("thread with gtid %d at %v: %w", gtid, a, err)
	}
	ths.known.Put(a.Offset, th)
	return th, nil
}

func (ths *threads) decodeThread(a callbacks.Address, gtid int) (*thread, error) {
	f := &ths.l.Thread
	if err := f.Size.Err(); err != nil {
		return nil, err
	}
	r := layout.Read(ths.mem, a, f.Gtid, f.Tid, f.Team, f.CurrentTask, f.InPool, f.TeamsMicrotask, f.TeamsLevel,
		f.TeamsSizeNteams, f.TaskTeam)
	th := &thread{
		addr:       a,
		gtid:       int(r.Int(f.Gtid)),
		tid:        int(r.Int(f.Tid)),
		team:       r.Address(f.Team),
		task:       r.Address(f.CurrentTask),
		inPool:     r.Bool(f.InPool),
		microtask:  r.Address(f.TeamsMicrotask),
		teamsLevel: int(r.Int(f.TeamsLevel)),
		nteams:     int(r.Int(f.TeamsSizeNteams)),
		taskTeam:   knownAddress(r, f.TaskTeam),
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	// A thread that is being created is in the array before its number is set.
	if fresh := th.gtid == 0 && th.team.IsNull(); th.gtid != gtid && !fresh {
		return nil, fmt.Errorf("ds_gtid is %d: %w", th.gtid, callbacks.StaleHandle)
	}
	th.gtid = gtid
	ths.fixTransition(th)
	return th, nil
}

// idleReason explains why th is not in a region now; it returns "" for a thread in a region. ts are the teams
// around th; ts[outer] is the team that encountered a teams construct.
//
// A worker of a hot team keeps th_team while it waits in the fork barrier for the next region. Its team is in a
// region only while the team's primary thread is.
func (rg *regions) idleReason(th *thread, ts []*team, outer int) string {
	switch {
	case th.team.IsNull() || len(ts) == 0:
		return "th_team is null"
	case th.inPool:
		return "th_in_pool is set"
	case th.task.IsNull():
		return "th_current_task is null"
	case th.tid == 0:
		return ""
	case th.tid >= ts[0].nproc:
		return fmt.Sprintf("ds_tid %d is not below its team's t_nproc %d: the team is being formed, or has become "+
			"smaller", th.tid, ts[0].nproc)
	case outer >= 2 && outer < len(ts) && ts[0].level == th.teamsLevel:
		return "its team of the league is in no parallel region"
	}
	return rg.endReason(ts[0])
}

// endReason explains to the workers of team t why its region is over; "" if it is not.
func (rg *regions) endReason(t *team) string {
	primary, err := rg.threads.member(t, 0)
	if err != nil {
		return fmt.Sprintf("the primary thread of its team cannot be read: %v", err)
	}
	around, err := rg.threads.ancestors(primary.team)
	for _, a := range around {
		if a.addr == t.addr {
			return ""
		}
	}
	if err != nil {
		return fmt.Sprintf("the team of its primary thread cannot be read: %v", err)
	}
	return fmt.Sprintf("its hot team at %v is in no region: the primary thread (gtid %d) left it", t.addr, primary.gtid)
}

// Threads yields all threads in __kmp_threads.
func (ths *threads) Threads() iter.Seq2[handles.Thread, error] {
	return func(yield func(handles.Thread, error) bool) {
		for _, a := range ths.slots {
			if a.IsNull() {
				continue
			}
			_, err := ths.readThread(a)
			if !yield(handles.Thread{Stamp: ths.stamp, Info: a}, err) {
				return
			}
		}
	}
}

// byHandle reads the thread of a handle.
func (ths *threads) byHandle(h handles.Thread) (*thread, error) {
	if h.Stamp != ths.stamp {
		return nil, fmt.Errorf("%v is of another stop: %w", h, callbacks.StaleHandle)
	}
	return ths.readThread(h.Info)
}

// NativeThread finds the thread of native thread id by its __kmp_gtid. The thread sets that variable before all
// others; its creator records its pthread_t later.
func (ths *threads) NativeThread(t callbacks.Symbols, id callbacks.ThreadID) (handles.Thread, error) {
	if ths.id.Module == nil {
		return handles.Thread{}, layout.ErrUnknown
	}
	a, err := t.ThreadSymbol(id, "__kmp_gtid", ths.id.Module.Path)
	if err != nil {
		return handles.Thread{}, err
	}
	v, err := layout.ReadUint(ths.mem, a, 4)
	gtid := int32(v)
	switch {
	case err != nil:
		return handles.Thread{}, fmt.Errorf("__kmp_gtid of %v: %w", id, err)
	case gtid < 0:
		return handles.Thread{}, fmt.Errorf("%v is not an OpenMP thread: __kmp_gtid is %d: %w", id, gtid,
			callbacks.Unavailable)
	case int(gtid) >= len(ths.slots) || ths.slots[gtid].IsNull():
		return handles.Thread{}, fmt.Errorf("%v has gtid %d, which is none of __kmp_threads: %w", id, gtid,
			callbacks.StaleHandle)
	}
	return handles.Thread{Stamp: ths.stamp, Info: ths.slots[gtid]}, nil
}

// Thread reads one thread.
func (rg *regions) Thread(h handles.Thread) (handles.ThreadInfo, error) {
	th, err := rg.threads.byHandle(h)
	if err != nil {
		return handles.ThreadInfo{}, err
	}
	f := &rg.l.Thread
	r := layout.Read(rg.mem, th.addr, f.Pthread, f.Stackbase, f.Stacksize)
	info := handles.ThreadInfo{
		Number:    int64(th.gtid),
		Pthread:   callbacks.Pthread(r.Uint(f.Pthread)),
		Role:      picture.RoleIdle,
		ThreadNum: -1,
		StackBase: knownAddress(r, f.Stackbase),
		StackSize: knownAddress(r, f.Stacksize).Offset,
	}
	if err := r.Err(); err != nil {
		return handles.ThreadInfo{}, err
	}
	gs, err := rg.regionsOf(th)
	info.HiddenHelper = rg.threads.hiddenHelper(th, gs)
	if len(gs) > 0 {
		info.ThreadNum = th.tid
		info.Role = rg.threads.roleOf(th)
	}
	return info, err
}

// roleOf returns the role of a thread in a region.
func (ths *threads) roleOf(th *thread) picture.Role {
	tf, f := ths.l.Thread.Root, ths.l.Root.UberThread
	own := layout.Read(ths.mem, th.addr, tf)
	r := layout.Read(ths.mem, own.Address(tf), f)
	if uber := r.Address(f); r.Err() == nil && uber == th.addr {
		return picture.RoleInitial
	}
	if th.tid == 0 {
		return picture.RolePrimary
	}
	return picture.RoleWorker
}

// hiddenHelper reports whether th is one of the runtime's threads for deferred target tasks. Their gtids are
// reserved, if there are any. A team of theirs executes a function of the runtime.
func (ths *threads) hiddenHelper(th *thread, gs []region) bool {
	reserved, err := layout.ReadGlobal(ths.mem, ths.l.Globals.HiddenHelperThreadsNum, 4)
	if err == nil {
		return th.gtid >= 1 && int64(th.gtid) <= reserved
	}
	if th.gtid < 1 || th.gtid > defaultHidden || len(gs) == 0 {
		return false
	}
	for _, g := range gs {
		if g.level == 1 && g.team.argc == 0 && ths.Owns(g.team.pkfn.Offset) {
			return true
		}
	}
	return false
}

// CurrentParallel implements ompd_get_curr_parallel_handle.
func (rg *regions) CurrentParallel(h handles.Thread) (handles.Parallel, error) {
	gs, err := rg.ofHandle(h)
	if err != nil {
		return handles.Parallel{}, err
	}
	return rg.parallelHandle(gs[0]), nil
}

// ofHandle returns the regions of the thread. It returns an error for a thread outside of regions.
func (rg *regions) ofHandle(h handles.Thread) ([]region, error) {
	th, err := rg.threads.byHandle(h)
	if err != nil {
		return nil, err
	}
	gs, err := rg.regionsOf(th)
	if err == nil && len(gs) == 0 {
		err = fmt.Errorf("thread with gtid %d is idle and in no region: %w", th.gtid, callbacks.Unavailable)
	}
	return gs, err
}
