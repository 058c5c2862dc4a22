package libgomp

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// The host executes a target region if no device does. For that time, gomp_target_fallback moves the thread's
// gomp_thread to its stack and clears the original, so that the region starts without a team.

const (
	// maxTargetStack bounds the part of a thread's stack in which the call of a target region's function is
	// searched, in bytes. The frames of that function, and of those that it calls, are below the call.
	maxTargetStack = 16 << 10
	// maxTargetFrame is an upper bound for the frame size of gomp_target_fallback, in bytes.
	maxTargetFrame = 256
	// maxSearched bounds the number of searched threads that no known team or pool lists.
	maxSearched = 64
	// maxListed bounds the number of members that are read from the list of one team.
	maxListed = 64 << 10
)

// inHostTarget is the evidence of a thread that executes a target region.
const inHostTarget = "in a target region, which the host executes: the team of the thread is on its stack"

// findHostTargets finds the threads that execute target regions on the host, and restores their places in their
// teams. A thread is searched if a team or a pool lists it that its own gomp_thread does not name, however many
// these are, or if its gomp_thread is clear. Others are not: the search reads memory at addresses from registers.
func (ths *threads) findHostTargets(all []*thread) {
	named := namers{teams: map[uint64][]*team{}, pools: map[uint64][]callbacks.Address{}, seen: map[uint64]bool{}}
	var left []*thread
	for _, th := range all {
		ths.addNamers(&named, th)
		if th.err == nil && th.root() {
			left = append(left, th)
		}
	}
	unnamed := 0
	for again := true; again; {
		again = false
		var unsearched []*thread
		for _, th := range left {
			switch {
			case named.onlyList(th):
			case th.unused() && unnamed < maxSearched:
				unnamed++
			default:
				unsearched = append(unsearched, th)
				continue
			}
			if saved := ths.findSaved(th); saved != nil {
				th.leaveHostTarget(saved)
				ths.addNamers(&named, th)
				again = true
			}
		}
		left = unsearched
	}
}

// namers are the known teams and pools by the addresses of the gomp_threads that they list.
type namers struct {
	teams map[uint64][]*team
	pools map[uint64][]callbacks.Address
	seen  map[uint64]bool // addresses of teams and pools
}

// addNamers adds the teams of a thread, with their members except number 0, and its pool, with its first thread.
func (ths *threads) addNamers(ns *namers, th *thread) {
	for _, f := range th.frames {
		if ns.seen[f.team.addr.Offset] {
			continue
		}
		ns.seen[f.team.addr.Offset] = true
		for n := 1; n < min(f.team.nthreads, maxListed); n++ {
			a, err := ths.records.releaseOf(f.team, n)
			if err != nil {
				break
			}
			a.Offset -= ths.l.Thread.Release.Offset
			ns.teams[a.Offset] = append(ns.teams[a.Offset], f.team)
		}
	}
	if th.pool.IsNull() || ns.seen[th.pool.Offset] {
		return
	}
	ns.seen[th.pool.Offset] = true
	if first, err := ths.firstOfPool(th.pool); err == nil {
		ns.pools[first] = append(ns.pools[first], th.pool)
	}
}

// onlyList reports whether a team or a pool lists a thread whose own gomp_thread does not name that team or pool.
func (ns *namers) onlyList(th *thread) bool {
	return slices.ContainsFunc(ns.teams[th.addr.Offset], func(t *team) bool {
		return !slices.ContainsFunc(th.frames, func(f frame) bool { return f.team.addr == t.addr })
	}) || slices.ContainsFunc(ns.pools[th.addr.Offset], func(p callbacks.Address) bool { return p != th.pool })
}

// firstOfPool returns the address of the gomp_thread of the thread that forks the outermost regions of a pool.
func (rt *base) firstOfPool(pool callbacks.Address) (uint64, error) {
	f := rt.l.Pool.Threads
	list := layout.Read(rt.mem, pool, f)
	if err := list.Err(); err != nil {
		return 0, err
	}
	return rt.word(list.Address(f).Offset)
}

// findSaved returns the state of a thread before the target region that it executes on the host. It returns nil if
// there is none that the runtime's other structures confirm. The compiler divides the moved gomp_thread: some words
// of it are in the frame of gomp_target_fallback, others in registers that the called functions save.
func (ths *threads) findSaved(th *thread) *thread {
	st, ok := ths.readTargetStack(th)
	if !ok {
		return nil
	}
	for i, ret := range st.words {
		if !ths.Owns(ret) || !ths.forks.calls(ret, arch.CallRegister) {
			continue
		}
		frame := i
		if arch.Of(ths.target.Arch()).HasLinkRegister() { // the slot is in the frame of the called function
			if i == 0 || st.words[i-1]-st.low >= 8*uint64(len(st.words)) || st.words[i-1] < st.low {
				continue
			}
			frame = int(st.words[i-1]-st.low) / 8
		}
		near := slices.Clone(st.words[:frame]) // the nearest word first
		slices.Reverse(near)
		frameWords := st.words[frame:min(frame+maxTargetFrame/8, len(st.words))]
		for _, words := range [][]uint64{frameWords, near, st.registers} {
			for _, w := range words {
				if saved := ths.savedIn(th, &st, callbacks.Addr(w)); saved != nil {
					saved.task = ths.savedTask(saved, &st)
					return saved
				}
			}
		}
	}
	return nil
}

// targetStack is the part of a thread's stack in which a target region is searched, with the thread's registers.
type targetStack struct {
	low              uint64 // address of the first word
	words, registers []uint64
}

// readTargetStack reads the part of a thread's stack in which a target region is searched.
func (rt *base) readTargetStack(th *thread) (targetStack, bool) {
	source, ok := rt.target.(callbacks.RegisterReader)
	if !ok || th.lwp == 0 {
		return targetStack{}, false
	}
	regs, err := source.Registers(callbacks.LWP(th.lwp))
	if err != nil || regs.SP() == 0 {
		return targetStack{}, false
	}
	st := targetStack{low: regs.SP() &^ 7}
	for i, v := range regs.Values {
		if regs.Valid&(1<<i) != 0 {
			st.registers = append(st.registers, v)
		}
	}
	end := st.low + maxTargetStack
	if th.tp > st.low { // the C library places thread-local data above a thread's stack
		end = min(end, th.tp)
	}
	block := make([]byte, pageSize)
	for at := st.low; at < end; {
		n := min(pageSize-at%pageSize, end-at)
		if rt.mem.ReadMemory(callbacks.Addr(at), block[:n]) != nil {
			break
		}
		for i := uint64(0); i+8 <= n; i += 8 {
			st.words = append(st.words, callbacks.Word(block[i:i+8]))
		}
		at += n
	}
	return st, true
}

// savedIn returns the state of a thread in a team that it has not left, as its gomp_thread contained it before the
// target region. It returns nil if there is no such team at a, or if the team does not have the thread.
func (ths *threads) savedIn(th *thread, st *targetStack, a callbacks.Address) *thread {
	if a.Offset < lowestAddress || a.Offset&7 != 0 || slices.ContainsFunc(th.frames,
		func(f frame) bool { return f.team.addr == a }) {
		return nil
	}
	t, err := ths.records.readTeam(a)
	if err != nil || t.prevLevel < 0 || t.prevLevel >= maxNesting ||
		t.ordered != a.Add(ths.l.Team.Size.Size+uint64(t.nthreads)*ths.l.Task.Size.Size) {
		return nil
	}
	saved := &thread{native: th.native, addr: th.addr, rec: th.rec, team: a, level: t.prevLevel + 1,
		activeLevel: t.prevActive + min(t.nthreads-1, 1)}
	release := th.addr.Add(ths.l.Thread.Release.Offset)
	for n := 1; n < min(t.nthreads, maxListed); n++ {
		member, err := ths.records.releaseOf(t, n)
		if err != nil {
			return nil
		}
		if member == release {
			saved.id = n
			break
		}
	}
	if ths.readFrames(saved) != nil || len(saved.frames) == 0 {
		return nil
	}
	i := saved.worksIn()
	if i < 0 {
		saved.pool = ths.savedPool(th, st)
		if saved.pool.IsNull() {
			return nil
		}
		return saved
	}
	f := saved.frames[i]
	if member, err := ths.records.releaseOf(f.team, f.id); err != nil || member != release {
		return nil
	}
	return saved
}

// savedPool returns the pool of a thread that has forked the outermost region around a target region, found on the
// stack: the thread is the first one of that pool. It returns null if there is none.
func (ths *threads) savedPool(th *thread, st *targetStack) callbacks.Address {
	for _, w := range st.words {
		if w < lowestAddress || w&7 != 0 || w == th.pool.Offset {
			continue
		}
		if first, err := ths.firstOfPool(callbacks.Addr(w)); err == nil && first == th.addr.Offset {
			return callbacks.Addr(w)
		}
	}
	return callbacks.Address{}
}

// savedTask returns the task that a thread executes around a target region. It returns null if that task is not
// known.
func (ths *threads) savedTask(saved *thread, st *targetStack) callbacks.Address {
	t := saved.frames[0].team
	var found callbacks.Address
	for _, w := range slices.Concat(st.registers, st.words) {
		a := callbacks.Addr(w)
		if w < lowestAddress || w&7 != 0 || a == found || !ths.startedIn(t, a) {
			continue
		}
		if !found.IsNull() {
			return callbacks.Address{}
		}
		found = a
	}
	if found.IsNull() && t.rec.Uint(ths.l.Team.RunningCount) == 0 {
		return ths.records.implicitAddress(t, saved.id)
	}
	return found
}

// startedIn reports whether an explicit task of a team that has started is at a.
func (ths *threads) startedIn(t *team, a callbacks.Address) bool {
	task, err := ths.records.readTask(a)
	if err != nil || task.kind != kindTied && task.kind != kindUndeferred {
		return false
	}
	for range maxTaskDepth {
		if task, err = ths.records.readTask(task.parent); err != nil {
			return false
		}
		if !task.explicit() {
			_, ok := ths.records.implicitNumber(t, task.addr)
			return ok
		}
	}
	return false
}

// leaveHostTarget sets the state of a thread to that before its target region. Regions inside of the target
// region are nested in those around it.
func (th *thread) leaveHostTarget(saved *thread) {
	th.hostTarget = true
	if len(th.frames) == 0 {
		saved.number, saved.hostTarget = th.number, true
		*th = *saved
		return
	}
	th.outer = saved
	th.frames = append(th.frames, saved.frames...)
	th.serial = saved.serial
}
