package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// The threads of an ordered loop share the number of the iteration that has the turn. Each stores the iterations
// of its own chunk.

// chunk is the position of a thread in an ordered loop.
type chunk struct {
	loop         callbacks.Address // dispatch_shared_info_t
	next         uint64            // iteration that has the turn
	lower, upper uint64            // iterations of the thread
}

func (c chunk) hasTurn() bool { return c.lower <= c.next && c.next <= c.upper }

// chunkOf reads the chunk of a thread. It returns an error for a thread outside of ordered loops.
func (lp *loops) chunkOf(th *thread) (chunk, error) {
	loop, own, err := lp.dispatchBuffers(th)
	c := chunk{loop: loop}
	if err != nil {
		return c, err
	}
	size, err := lp.field(own, lp.l.DispPrivate.TypeSize)
	if err != nil {
		return c, err
	}
	f := lp.loopFields(size)
	r := layout.Read(lp.mem, own, f.lower, f.upper)
	c.lower, c.upper = r.Uint(f.lower), r.Uint(f.upper)
	if err := r.Err(); err != nil {
		return c, err
	}
	c.next, err = lp.field(c.loop, f.turn)
	return c, err
}

// findTurn returns the member of the team that has the turn in the ordered loop in which o waits. Without an
// owner, no thread in the loop has the turn.
func (wr *waits) findTurn(o *observer) (rtl.LockInfo, error) {
	if _, _, err := wr.loops.dispatchBuffers(o.th); err != nil {
		return wr.findTurnOfTeam(o)
	}
	mine, err := wr.loops.chunkOf(o.th)
	info := rtl.LockInfo{Kind: "ordered", Lock: mine.loop, OwnerNumber: -1, Held: true}
	if err != nil {
		return info, err
	}
	t := o.gs[0].team
	for n := range t.nproc {
		m, err := wr.threads.member(t, n)
		if err != nil {
			return info, err
		}
		c, err := wr.loops.chunkOf(m)
		if err != nil || c.loop != mine.loop || !c.hasTurn() {
			continue
		}
		if info.OwnerNumber >= 0 || m == o.th {
			return info, fmt.Errorf("ordered loop at %v: several threads have the turn: %w", mine.loop,
				callbacks.Unavailable)
		}
		info.Owner, info.OwnerNumber = handles.Thread{Stamp: wr.stamp, Info: m.addr}, int64(m.gtid)
		info.Evidence = fmt.Sprintf("ordered_iteration is %d, and its iterations are %d to %d", c.next, c.lower,
			c.upper)
	}
	if info.OwnerNumber < 0 {
		info.Evidence = fmt.Sprintf("ordered_iteration is %d, its iterations are %d to %d, and no thread has that one",
			mine.next, mine.lower, mine.upper)
	}
	return info, nil
}

// findTurnOfTeam returns the member that has the turn where o waits in an ordered region of a loop without an ordered
// clause, or of no loop: the members of the team take turns in the order of their numbers, each for one ordered region.
func (wr *waits) findTurnOfTeam(o *observer) (rtl.LockInfo, error) {
	t := o.gs[0].team
	at := t.addr.Add(wr.l.Team.Ordered.Offset)
	info := rtl.LockInfo{Kind: "ordered", Lock: at, OwnerNumber: -1, Held: true}
	n, err := layout.ReadUint(wr.mem, at, 4)
	if err != nil {
		return info, err
	}
	if n >= uint64(t.nproc) || int(n) == o.th.tid {
		return info, fmt.Errorf("t_ordered of the team at %v is %d: %w", t.addr, n, callbacks.Unavailable)
	}
	m, err := wr.threads.member(t, int(n))
	if err != nil {
		return info, err
	}
	info.Owner, info.OwnerNumber = handles.Thread{Stamp: wr.stamp, Info: m.addr}, int64(m.gtid)
	info.Evidence = fmt.Sprintf("t_ordered of the team at %v is its number", t.addr)
	info.Unordered = "the thread is in no loop of the runtime's, as in one with an ordered clause"
	return info, nil
}
