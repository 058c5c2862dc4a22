package libgomp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// world is the set of active regions, from all threads together.
type world struct {
	threads []*thread
	errs    []error // threads that could not be read
	byAddr  map[uint64]*thread
	regions map[regionKey]*region
	order   []*region          // sorted by the address of the team, without regions of level 0
	serial  []*region          // regions of level 0 that have a team
	initial map[uint64]*region // regions of level 0, by the gomp_task of the initial task
	running map[uint64]*thread // by the task that the thread executes or waits in
	lost    map[uint64]loss    // by the address of a pool
	ending  map[*thread]string // the threads that are ending in a region, with the evidence
	// others holds the addresses of the gomp_threads of threads outside of all pools. It is only set for threads
	// that the runtime confuses with members of a pool.
	others map[uint64]bool
}

// regionKey identifies a region: by its team, or by its root's gomp_thread at level 0.
type regionKey struct {
	addr  uint64
	level int
}

// region is a parallel region, or the implicit region around all regions of a root.
type region struct {
	key     regionKey
	team    *team // nil at level 0
	around  *region
	active  int // active level
	num     int // number of the primary thread in the enclosing region; -1 at level 0
	members []*thread
	task    callbacks.Address // at level 0: the gomp_task of the initial task; may be null
	serial  *team             // at level 0: the team of the root's serial code; may be nil
}

// tasksIn returns the team with the queue of the region's tasks; nil without one.
func (r *region) tasksIn() *team {
	if r.team == nil {
		return r.serial
	}
	return r.team
}

func (r *region) level() int { return r.key.level }

// numThreads returns the number of threads of the region.
func (r *region) numThreads() int {
	if r.team == nil {
		return 1
	}
	return r.team.nthreads
}

// primaryThread returns the thread with number 0; nil if it could not be read.
func (r *region) primaryThread() *thread { return r.members[0] }

// readWorld reads all threads and determines their regions.
func (ths *threads) readWorld() *world {
	w := &world{byAddr: map[uint64]*thread{}, regions: map[regionKey]*region{}, initial: map[uint64]*region{},
		running: map[uint64]*thread{}, others: map[uint64]bool{}}
	ths.listUsers(w)
	for _, th := range w.threads {
		if th.err != nil && ths.moving(th) {
			th.err = errMoving
		}
	}
	w.lost = ths.findLosses(w)
	inDoubt := ths.unreadPools(w)
	e := enders{ths, w, ths.findPrimaries(w), map[*thread]string{}}
	for _, th := range w.threads {
		if th.err != nil && (th.id == 0 || inDoubt.uses(th)) {
			continue
		}
		if th.err != nil { // a worker that is idle, ends or has left the runtime may point to a freed team
			th.idle, th.err = fmt.Sprintf("its last team is gone: %v", th.err), nil
			continue
		}
		switch th.idle = e.endReason(th, 0); {
		case th.idle == "":
			ths.readTasks(th)
			ths.enter(w, th)
		case inDoubt.uses(th):
			th.idle, th.err = "", errPrimaryUnread
		}
	}
	w.ending = ths.endingThreads(w)
	for _, r := range w.order {
		if r.serial != nil {
			w.serial = append(w.serial, r)
		}
	}
	w.order = slices.DeleteFunc(w.order, func(r *region) bool { return r.team == nil })
	slices.SortFunc(w.order, func(a, b *region) int { return cmp.Compare(a.key.addr, b.key.addr) })
	return w
}

// errPrimaryUnread is the error of a worker with a region that may be active or over.
var errPrimaryUnread = fmt.Errorf("whether it is in a region is not known, as the thread that may have forked it "+
	"could not be read: %w", callbacks.Unavailable)

// unread holds the addresses of pools and teams.
type unread map[uint64]bool

// unreadPools finds the pools and teams of threads that could not be read and may have forked a region.
func (ths *threads) unreadPools(w *world) unread {
	out, roots := unread{}, map[uint64]bool{}
	for _, th := range w.threads {
		if th.err != nil && (th.id == 0 || errors.Is(th.err, errMoving)) {
			roots[th.addr.Offset], out[th.pool.Offset], out[th.team.Offset] = true, true, true
		}
	}
	if len(roots) == 0 {
		return nil
	}
	for _, th := range w.threads { // a root's own pool may be overwritten too
		f := ths.l.Pool.Threads
		list := layout.Read(ths.mem, th.pool, f).Address(f)
		if root, err := ths.word(list.Offset); err == nil && roots[root] {
			out[th.pool.Offset] = true
		}
	}
	delete(out, 0)
	return out
}

// uses reports whether a worker's pool or team is in u.
func (u unread) uses(th *thread) bool { return u[th.pool.Offset] || u[th.team.Offset] }

// listUsers finds the threads that use the runtime. The thread that executes main is included as soon as there
// is another one: it is an initial thread from the start.
func (ths *threads) listUsers(w *world) {
	seen := map[uint64]bool{}
	var all []*thread
	for _, n := range ths.natives {
		if n.tp == 0 {
			continue
		}
		th, err := ths.readThread(n)
		if err != nil {
			w.errs = append(w.errs, err)
		} else if !seen[th.addr.Offset] {
			seen[th.addr.Offset] = true
			all = append(all, th)
			if th.pool.IsNull() {
				w.others[th.addr.Offset] = th.isMistaken()
			}
		}
	}
	for _, th := range all {
		th.err = ths.readFrames(th)
	}
	ths.findHostTargets(all)
	main := ths.mainThread(all)
	if !slices.ContainsFunc(all, func(th *thread) bool { return !th.unused() }) {
		return
	}
	for _, th := range all {
		if th.unused() && th != main {
			continue
		}
		th.number = len(w.threads)
		w.threads = append(w.threads, th)
		w.byAddr[th.addr.Offset] = th
	}
}

// mainThread returns the thread on the stack that the kernel created, which is above all others. It returns nil
// if no stack is known.
func (ths *threads) mainThread(all []*thread) *thread {
	var main *thread
	highest := uint64(0)
	for _, th := range all {
		if sp, ok := ths.stackPointer(th); ok && sp > highest {
			main, highest = th, sp
		}
	}
	return main
}

// findPrimaries returns, by the address of a team, the thread that forked it and has not left it. This thread is
// number 0 there and in all inner teams. An idle thread was a worker in its last team, so it is never included.
func (ths *threads) findPrimaries(w *world) map[uint64]*thread {
	out := map[uint64]*thread{}
	for _, th := range w.threads {
		if th.err != nil {
			continue
		}
		for _, f := range th.frames {
			if f.id != 0 {
				break
			}
			out[f.team.addr.Offset] = th
		}
	}
	return out
}

// enders finds the reasons why regions are over.
type enders struct {
	threads   *threads
	w         *world
	primaries map[uint64]*thread // see findPrimaries
	known     map[*thread]string // results by thread
}

// endReason explains why the region of a thread is over; "" if it is not. A team is active as long as its
// primary thread is in it, which in turn is in an active team. Only in a child after fork, a worker may exist
// without its primary thread.
func (e *enders) endReason(th *thread, depth int) string {
	if why, ok := e.known[th]; ok {
		return why
	}
	i := th.worksIn()
	if i < 0 {
		return ""
	}
	team := th.frames[i].team
	why := "its team is in no region"
	e.known[th] = why // ends cycles
	release, err := e.threads.records.releaseOf(team, th.frames[i].id)
	p := e.primaries[team.addr.Offset]
	switch {
	case err != nil || release != th.addr.Add(e.threads.l.Thread.Release.Offset):
		why = fmt.Sprintf("it is not a member of the team at %v that it was in last", team.addr)
	case p == nil && (e.w.lost[th.pool.Offset].count > 0 || e.threads.atBarrier(th, team)):
		why = ""
	case p == nil:
		why = fmt.Sprintf("its team at %v is in no region: its primary thread has left it", team.addr)
	case p != th && depth <= maxNesting:
		why = e.endReason(p, depth+1)
	}
	e.known[th] = why
	return why
}

// atBarrier reports whether a thread sleeps at a barrier of a team that has not been passed since. Other threads
// leave the team before the thread that forked it does.
func (ths *threads) atBarrier(th *thread, t *team) bool {
	registers, ok := ths.target.(callbacks.RegisterReader)
	if !ok || th.lwp == 0 {
		return false
	}
	regs, err := registers.Registers(callbacks.LWP(th.lwp))
	if err != nil {
		return false
	}
	word, asleep := arch.IsFutexWait(&regs)
	f := ths.l.Team.Generation
	return asleep && word == t.addr.Add(f.Offset) && uint32(t.rec.Uint(f)) == uint32(regs.SyscallArgs[2])
}

// enter creates the regions that a thread is in, and adds the thread as a member.
func (ths *threads) enter(w *world, th *thread) {
	if !th.task.IsNull() {
		w.running[th.task.Offset] = th
	}
	inner := true // all inner numbers are 0: the thread itself is the member
	for i, f := range th.frames {
		r := w.makeRegion(regionKey{f.team.addr.Offset, f.level})
		if r.team == nil {
			r.team, r.active, r.num = f.team, f.active, f.team.prevID
			r.members = make([]*thread, f.team.nthreads)
		}
		if r.around == nil && i+1 < len(th.frames) { // around a target region, only its thread shows the next region
			around := th.frames[i+1]
			r.around, r.num = w.makeRegion(regionKey{around.team.addr.Offset, around.level}), around.id
		}
		if inner && r.members[f.id] == nil {
			r.members[f.id] = th
		}
		inner = inner && f.id == 0
	}
	if !th.root() {
		return
	}
	zero := w.makeRegion(regionKey{th.addr.Offset, 0})
	zero.num, zero.members, zero.serial = -1, []*thread{th}, th.serial
	if n := len(th.frames); n > 0 {
		f := th.frames[n-1]
		w.makeRegion(regionKey{f.team.addr.Offset, f.level}).around = zero
	}
	ths.findInitialTask(w, zero, th)
}

// makeRegion returns the region with a key, and creates it if it is missing.
func (w *world) makeRegion(k regionKey) *region {
	r := w.regions[k]
	if r == nil {
		r = &region{key: k}
		w.regions[k] = r
		w.order = append(w.order, r)
	}
	return r
}

// regionAtFrame returns the region of a thread's i-th frame. After the last frame, it returns the region of
// level 0, or nil for an idle thread.
func (w *world) regionAtFrame(th *thread, i int) *region {
	switch {
	case th.idle != "" || th.err != nil:
		return nil
	case i < len(th.frames):
		return w.regions[regionKey{th.frames[i].team.addr.Offset, th.frames[i].level}]
	case th.root():
		return w.regions[regionKey{th.addr.Offset, 0}]
	}
	r := w.regionAtFrame(th, len(th.frames)-1)
	if r == nil {
		return nil
	}
	return r.around
}

// holdingRegion returns the region of the team with the address a in its implicit tasks; nil without one.
func (w *world) holdingRegion(a callbacks.Address) *region {
	i, found := slices.BinarySearchFunc(w.order, a.Offset,
		func(r *region, a uint64) int { return cmp.Compare(r.key.addr, a) })
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return w.order[i]
}

func (rt *base) parallelHandle(r *region) handles.Parallel {
	return handles.Parallel{Stamp: rt.stamp, Team: callbacks.Addr(r.key.addr), Level: uint32(r.key.level)}
}

// findRegion returns the region of h.
func (ths *threads) findRegion(h handles.Parallel) (*region, error) {
	if h.Stamp != ths.stamp {
		return nil, fmt.Errorf("%v is of another stop: %w", h, callbacks.StaleHandle)
	}
	r := ths.world().regions[regionKey{h.Team.Offset, int(h.Level)}]
	if r == nil {
		return nil, fmt.Errorf("%v: no thread is in it: %w", h, callbacks.StaleHandle)
	}
	return r, nil
}
