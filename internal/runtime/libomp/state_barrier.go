package libomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// barrierKind is an index of th_bar and t_bar (enum barrier_type).
type barrierKind int

const (
	plainBarrier barrierKind = iota
	forkjoinBarrier
	reductionBarrier
	barrierKinds
)

func (b barrierKind) String() string {
	return [...]string{"bs_plain_barrier", "bs_forkjoin_barrier", "bs_reduction_barrier"}[b]
}

// arrivedMask clears the flags in a barrier's counter, which grows by 4 each time (KMP_BARRIER_STATE_BUMP).
const arrivedMask = ^uint64(3)

// arrival is the progress of a thread at a barrier.
type arrival struct {
	kind         barrierKind
	thread, team uint64            // counters
	counter      callbacks.Address // address of the team's counter
}

func (a arrival) String() string {
	return fmt.Sprintf("th_bar[%v].b_arrived %d, t_bar[%v].b_arrived %d", a.kind, a.thread, a.kind, a.team)
}

// isWaiting reports whether the thread has arrived at an incomplete barrier. A thread that waits for those below
// it in the tree has not counted itself yet. The primary thread counts for the team when all have arrived.
func (a arrival) isWaiting() bool { return a.thread > a.team }

// readArrival reads the counters of one barrier of th in its team.
func (bs *barriers) readArrival(th *thread, t *team, b barrierKind) (arrival, error) {
	f, tf := bs.l.Thread.Bar, bs.l.Team.Bar
	if err := errors.Join(f.Err(), tf.Err()); err != nil {
		return arrival{}, err
	}
	own := th.addr.Add(f.Offset + uint64(b)*bs.l.Bar.Size.Size)
	r := layout.Read(bs.mem, own, bs.l.Bar.Arrived)
	tr := layout.Read(bs.mem, t.addr.Add(tf.Offset+uint64(b)*bs.l.TeamBar.Size.Size), bs.l.TeamBar.Arrived)
	a := arrival{
		kind:    b,
		thread:  r.Uint(bs.l.Bar.Arrived) & arrivedMask,
		team:    tr.Uint(bs.l.TeamBar.Arrived) & arrivedMask,
		counter: bs.counterOf(t.addr, b),
	}
	if r.Err() != nil {
		return a, r.Err()
	}
	return a, tr.Err()
}

// readArrivals reads the counters of all barriers of th in its team.
func (bs *barriers) readArrivals(th *thread, t *team) ([]arrival, error) {
	var list []arrival
	for b := plainBarrier; b < barrierKinds; b++ {
		a, err := bs.readArrival(th, t, b)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// hasCounters reports whether the offset of a team's count of arrived threads is known.
func (bs *barriers) hasCounters() bool {
	return bs.l.Team.Bar.IsKnown() && bs.l.TeamBar.Size.IsKnown() && bs.l.TeamBar.Arrived.IsKnown()
}

// counterOf returns the address of a team's count of arrived threads, for which all threads at the barrier wait.
func (bs *barriers) counterOf(team callbacks.Address, b barrierKind) callbacks.Address {
	return team.Add(bs.l.Team.Bar.Offset + uint64(b)*bs.l.TeamBar.Size.Size + bs.l.TeamBar.Arrived.Offset)
}

// waitFlag returns the barrier at which the thread waits, found by the flag on which it sleeps (th_sleep_loc),
// or else by a flag in the runtime's frames on its stack. A flag points to a counter in a thread's th_bar: a
// thread waits for its own b_go, and for the b_arrived of others in its team. Other flags belong to threads that
// it releases, or to earlier waits, and may still be on its stack. inside means that the thread is inside its
// region and does not wait at the end.
func (bs *barriers) waitFlag(th *thread, ev *handles.Evidence, inside bool) (barrierKind, string, bool) {
	f := bs.l.Thread.SleepLoc
	r := layout.Read(bs.mem, th.addr, f)
	if loc := r.Address(f); r.Err() == nil && !loc.IsNull() {
		// The pointer is the sixth word of most flags: in expensive memory, only that word is read.
		for _, part := range [][2]uint64{{40, 48}, {0, 40}, {48, flagSize}} {
			for _, w := range bs.readWords(loc.Add(part[0]), loc.Add(part[1])) {
				if b, what, ok := bs.barrierWord(th, w); ok {
					return b, "th_sleep_loc is a flag for " + what, true
				}
			}
		}
	}
	low, high := runtimeStack(ev)
	for _, w := range bs.readWords(low, high) {
		if b, what, ok := bs.barrierWord(th, w); ok && !(inside && b == forkjoinBarrier) {
			return b, "a flag on its stack is for " + what, true
		}
	}
	return 0, "", false
}

// flagSize is an upper bound for the size of the runtime's flag classes, in bytes: kmp_flag_64 has 7 words.
const flagSize = 64

// barrierWord reports whether w is the address of a counter on which th may wait at a barrier.
func (bs *barriers) barrierWord(th *thread, w uint64) (barrierKind, string, bool) {
	base, ok := bs.threads.threadOf(w)
	if !ok || w < base+bs.l.Thread.Bar.Offset || !bs.l.Bar.Size.IsKnown() {
		return 0, "", false
	}
	off := w - base - bs.l.Thread.Bar.Offset
	b := barrierKind(off / bs.l.Bar.Size.Size)
	if b >= barrierKinds {
		return 0, "", false
	}
	gtid, own := bs.threads.gtids[base], base == th.addr.Offset
	switch at := off % bs.l.Bar.Size.Size; {
	case own && at == bs.l.Bar.Go.Offset:
		return b, fmt.Sprintf("th_bar[%v].b_go of gtid %d", b, gtid), true
	case !own && at == bs.l.Bar.Arrived.Offset:
		if !bs.threads.memberOf(callbacks.Addr(base), th.team) {
			return 0, "", false
		}
		return b, fmt.Sprintf("th_bar[%v].b_arrived of gtid %d", b, gtid), true
	}
	return 0, "", false
}

// memberOf reports whether the thread at a is one of a team, or forked from it.
func (ths *threads) memberOf(a, team callbacks.Address) bool {
	th, err := ths.readThread(a)
	if err != nil {
		return false
	}
	ts, _ := ths.ancestors(th.team) // as far as they are readable
	for _, t := range ts {
		if t.addr == team {
			return true
		}
		if primary, err := ths.member(t, 0); err != nil || primary.addr != a {
			return false // a worker is not a member of the teams around its own
		}
	}
	return false
}

// Bits of ident_t.flags for the construct of a barrier (KMP_IDENT_BARRIER_EXPL,
// KMP_IDENT_BARRIER_IMPL).
const (
	identExplicit = 0x20
	identImplicit = 0x40
)

// barrierSource returns the place of the barrier that a thread waits at, by its th_ident.
func (sr *states) barrierSource(th *thread) handles.SourceLocation {
	f := sr.l.Thread.Ident
	r := layout.Read(sr.mem, th.addr, f)
	if a := r.Address(f); r.Err() == nil {
		return sr.records.readSource(a)
	}
	return handles.SourceLocation{}
}

// barrierState returns the state of a thread at the plain barrier, by its th_ident.
func (bs *barriers) barrierState(th *thread) (handles.State, string) {
	tf, f := bs.l.Thread.Ident, bs.l.Ident.Flags
	r := layout.Read(bs.mem, th.addr, tf)
	ir := layout.Read(bs.mem, r.Address(tf), f)
	flags := ir.Uint(f)
	if r.Err() != nil || ir.Err() != nil {
		return handles.StateWaitBarrierImplementation, "th_ident cannot be read"
	}
	text := fmt.Sprintf("th_ident->flags %#x", flags)
	switch {
	case flags&identExplicit != 0:
		return handles.StateWaitBarrierExplicit, text
	case flags&identImplicit != 0:
		return handles.StateWaitBarrierImplicitWorkshare, text
	}
	return handles.StateWaitBarrierImplementation, text
}
