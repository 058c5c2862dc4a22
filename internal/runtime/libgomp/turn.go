package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// semCount is the mask of the counter in a semaphore's word. The sign bit means that threads sleep on the word.
const semCount = 1<<31 - 1

// findTurn returns the member of the team that has the turn in the ordered loop in which o waits. Once the
// member has entered its ordered region, the loop names it; before that, it is the member with a semaphore that
// admits it. Without an owner, no member in the loop is admitted: another member of the team must enter the
// loop. Only a member that does not sleep may have just taken its semaphore, and not stored its number yet.
// Without an ordered clause no thread is admitted, except the one that the loop happens to name.
func (wr *waits) findTurn(o *observer) (rtl.LockInfo, error) {
	ws, f := o.th.rec.Address(wr.l.Thread.WorkShare), wr.l.WorkShare.OrderedOwner
	info := rtl.LockInfo{Kind: "ordered", Lock: ws, OwnerNumber: -1, Held: true}
	r := layout.Read(wr.mem, ws, f)
	owner := int(int32(r.Uint(f)))
	if err := r.Err(); err != nil || o.region == nil || o.region.team == nil {
		return info, fmt.Errorf("ordered loop at %v: %w", ws, callbacks.Unavailable)
	}
	info.Evidence = fmt.Sprintf("ordered_owner of the loop at %v is %d", ws, owner)
	if e := o.ev.Entry; e != nil && e.Ordered != nil && !e.Ordered() {
		info.Unordered = "no function on the stack starts a loop with an ordered clause"
		if owner < 0 || owner >= o.region.numThreads() { // left by another loop, or never set
			return info, nil
		}
	}
	if owner < 0 {
		n, err := wr.findLetIn(o.region)
		switch {
		case err != nil:
			return info, fmt.Errorf("ordered loop at %v: %w", ws, err)
		case n < 0:
			info.Evidence = fmt.Sprintf("no semaphore (ordered_release) is posted; ordered_owner of the loop at %v "+
				"is %d", ws, owner)
			info.Held = !o.ev.Futex.IsNull()
			return info, nil
		}
		owner, info.Evidence = n, fmt.Sprintf("its semaphore (ordered_release) is the one that is posted; "+
			"ordered_owner is %d", owner)
	}
	if owner >= o.region.numThreads() || o.region.members[owner] == nil || owner == o.th.id {
		return info, fmt.Errorf("ordered loop at %v: its owner is %d: %w", ws, owner, callbacks.Unavailable)
	}
	m := o.region.members[owner]
	if m.rec.Address(wr.l.Thread.WorkShare) != ws {
		info.Evidence += fmt.Sprintf("; thread number %d, whose turn it is, is not in the loop", owner)
		return info, nil
	}
	info.Owner, info.OwnerNumber = wr.threadHandle(m), int64(m.number)
	return info, nil
}

// findLetIn returns the number of the only member of a region with a posted semaphore for ordered regions; -1
// without one.
func (wr *waits) findLetIn(r *region) (int, error) {
	n := -1
	for i := range r.numThreads() {
		a, err := wr.records.releaseOf(r.team, i)
		if err != nil {
			return n, err
		}
		v, err := layout.ReadUint(wr.mem, a, 4)
		switch {
		case err != nil:
			return n, err
		case v&semCount > 0 && n >= 0:
			return n, fmt.Errorf("the semaphores of threads %d and %d are posted: %w", n, i, callbacks.Unavailable)
		case v&semCount > 0:
			n = i
		}
	}
	return n, nil
}
