package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// semCount are the bits of a semaphore's word that count; the sign bit tells that
// threads sleep on it.
const semCount = 1<<31 - 1

// turn tells which member of its team has the turn in the ordered loop in which o
// waits for its own: the one that the loop names as soon as it has begun its
// ordered region, and before that the one whose semaphore lets it in.
func (rt *runtime) turn(o *observer) (rtl.LockInfo, error) {
	ws, f := o.th.rec.Address(rt.l.Thread.WorkShare), rt.l.WorkShare.OrderedOwner
	info := rtl.LockInfo{Kind: "ordered", Lock: ws, OwnerNumber: -1, Held: true}
	r := layout.Read(rt.mem, ws, f)
	owner := int(int32(r.Uint(f)))
	if err := r.Err(); err != nil || o.region == nil || o.region.team == nil {
		return info, fmt.Errorf("ordered loop at %v: %w", ws, callbacks.Unavailable)
	}
	info.Evidence = fmt.Sprintf("ordered_owner of the loop at %v is %d", ws, owner)
	if owner < 0 {
		n, ok := rt.letIn(o.region)
		if !ok {
			return info, fmt.Errorf("ordered loop at %v: no thread has the turn: %w", ws, callbacks.Unavailable)
		}
		owner, info.Evidence = n, fmt.Sprintf("its semaphore (ordered_release) is the one that is posted; ordered_owner is %d", owner)
	}
	if owner >= o.region.size() || o.region.members[owner] == nil || owner == o.th.id {
		return info, fmt.Errorf("ordered loop at %v: its owner is %d: %w", ws, owner, callbacks.Unavailable)
	}
	m := o.region.members[owner]
	if m.rec.Address(rt.l.Thread.WorkShare) != ws {
		return info, fmt.Errorf("ordered loop at %v: its owner, number %d, is in another: %w", ws, owner, callbacks.Unavailable)
	}
	info.Owner, info.OwnerNumber = rt.threadHandle(m), int64(m.number)
	return info, nil
}

// letIn is the one member of a region whose semaphore for ordered regions is
// posted.
func (rt *runtime) letIn(r *region) (n int, ok bool) {
	for i := range r.size() {
		a, err := rt.releaseOf(r.team, i)
		if err != nil {
			return 0, false
		}
		v, err := layout.ReadUint(rt.mem, a, 4)
		switch {
		case err != nil || v&semCount > 0 && ok:
			return 0, false
		case v&semCount > 0:
			n, ok = i, true
		}
	}
	return n, ok
}
