package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
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

// arrivedMask leaves out the flag bits of a barrier's counter, which grows by 4
// each time (KMP_BARRIER_STATE_BUMP).
const arrivedMask = ^uint64(3)

// arrival is where a thread stands at a barrier.
type arrival struct {
	kind         barrierKind
	thread, team uint64            // counters
	counter      callbacks.Address // the team's
}

func (a arrival) String() string {
	return fmt.Sprintf("th_bar[%v].b_arrived %d, t_bar[%v].b_arrived %d", a.kind, a.thread, a.kind, a.team)
}

// waits tells that the thread has arrived and that the barrier is not complete. A
// thread that waits for the threads that it gathers has not counted itself yet,
// and the primary thread counts for the team when all have come.
func (a arrival) waits() bool { return a.thread > a.team }

// arrivals reads the counters of all barriers of th in its team.
func (rt *runtime) arrivals(th *thread, t *team) ([]arrival, error) {
	f := &rt.l.Bar
	tf := &rt.l.TeamBar
	r := layout.Read(rt.mem, th.addr, rt.l.Thread.Bar)
	tr := layout.Read(rt.mem, t.addr, rt.l.Team.Bar)
	var list []arrival
	for b := plainBarrier; b < barrierKinds; b++ {
		off := rt.l.Thread.Bar.Offset + uint64(b)*f.Size.Size
		toff := rt.l.Team.Bar.Offset + uint64(b)*tf.Size.Size
		list = append(list, arrival{
			kind:    b,
			thread:  r.At(off).Uint(f.Arrived) & arrivedMask,
			team:    tr.At(toff).Uint(tf.Arrived) & arrivedMask,
			counter: t.addr.Add(toff + tf.Arrived.Offset),
		})
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	return list, tr.Err()
}

// waitFlag tells at which barrier the thread waits, by the flag that it waits on:
// one that it sleeps on (th_sleep_loc), or else one that lies in the frames of the
// runtime on its stack. A flag points to a counter of a thread's th_bar: a thread waits
// for its own b_go, and for the b_arrived of others in its team. Other flags are of those
// that it releases, or has waited on before, which its stack may still have. inside
// tells that it is inside its region, and does not wait at the end.
func (rt *runtime) waitFlag(th *thread, ev *rtl.Evidence, inside bool) (barrierKind, string, bool) {
	f := rt.l.Thread.SleepLoc
	r := layout.Read(rt.mem, th.addr, f)
	if loc := r.Address(f); r.Err() == nil && !loc.IsNull() {
		for _, w := range rt.words(loc, loc.Add(flagSize)) {
			if b, what, ok := rt.barrierWord(th, w); ok {
				return b, "th_sleep_loc is a flag for " + what, true
			}
		}
	}
	low, high := runtimeStack(ev)
	for _, w := range rt.words(low, high) {
		if b, what, ok := rt.barrierWord(th, w); ok && !(inside && b == forkjoinBarrier) {
			return b, "a flag on its stack is for " + what, true
		}
	}
	return 0, "", false
}

// flagSize is more than the runtime's flag classes have (kmp_flag_64): 7 words.
const flagSize = 64

// barrierWord tells whether w is the address of a counter that th may wait on at a
// barrier.
func (rt *runtime) barrierWord(th *thread, w uint64) (barrierKind, string, bool) {
	base, ok := rt.within(w)
	if !ok || w < base+rt.l.Thread.Bar.Offset || !rt.l.Bar.Size.Known() {
		return 0, "", false
	}
	off := w - base - rt.l.Thread.Bar.Offset
	b := barrierKind(off / rt.l.Bar.Size.Size)
	if b >= barrierKinds {
		return 0, "", false
	}
	gtid, own := rt.gtids[base], base == th.addr.Offset
	switch at := off % rt.l.Bar.Size.Size; {
	case own && at == rt.l.Bar.Go.Offset:
		return b, fmt.Sprintf("th_bar[%v].b_go of gtid %d", b, gtid), true
	case !own && at == rt.l.Bar.Arrived.Offset:
		if !rt.memberOf(callbacks.At(base), th.team) {
			return 0, "", false
		}
		return b, fmt.Sprintf("th_bar[%v].b_arrived of gtid %d", b, gtid), true
	}
	return 0, "", false
}

// memberOf tells whether the thread at a is one of a team, or forked from it.
func (rt *runtime) memberOf(a, team callbacks.Address) bool {
	th, err := rt.thread(a)
	if err != nil {
		return false
	}
	ts, _ := rt.ancestors(th.team) // as far as they can be read
	for _, t := range ts {
		if t.addr == team {
			return true
		}
		if primary, err := rt.member(t, 0); err != nil || primary.addr != a {
			return false // a worker is in no team around its own
		}
	}
	return false
}

// Bits of ident_t.flags that tell which construct a barrier belongs to
// (KMP_IDENT_BARRIER_EXPL, KMP_IDENT_BARRIER_IMPL).
const (
	identExplicit = 0x20
	identImplicit = 0x40
)

// barrierState is the state of a thread at the plain barrier that its th_ident
// tells of.
func (rt *runtime) barrierState(th *thread) (rtl.State, string) {
	tf, f := rt.l.Thread.Ident, rt.l.Ident.Flags
	r := layout.Read(rt.mem, th.addr, tf)
	ir := layout.Read(rt.mem, r.Address(tf), f)
	flags := ir.Uint(f)
	if r.Err() != nil || ir.Err() != nil {
		return rtl.StateWaitBarrierImplementation, "th_ident cannot be read"
	}
	text := fmt.Sprintf("th_ident->flags %#x", flags)
	switch {
	case flags&identExplicit != 0:
		return rtl.StateWaitBarrierExplicit, text
	case flags&identImplicit != 0:
		return rtl.StateWaitBarrierImplicitWorkshare, text
	}
	return rtl.StateWaitBarrierImplementation, text
}
