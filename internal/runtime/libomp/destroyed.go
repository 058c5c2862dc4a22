package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// destroyed reports whether the lock that the thread waits for was destroyed since. A
// thread spins on a word of its own until the one before it in the lock's queue
// clears that; a queuing lock that is destroyed forgets its queue. It is in the
// runtime's frames, and no word there may lead to a second such lock.
func (o *observer) destroyed() (rtl.LockInfo, bool) {
	if o.kind != entryLock || !o.spins() {
		return rtl.LockInfo{}, false
	}
	var found []callbacks.Address
	for _, c := range o.states.clues(o.ev) {
		if a := callbacks.Addr(c); o.states.locks.forgotten(a) {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		return rtl.LockInfo{}, false
	}
	return rtl.LockInfo{
		Kind: "queuing", Lock: found[0], Variable: callbacks.Addr(lockArgument(o.th, o.ev, o.kind)), OwnerNumber: -1,
		Destroyed: true,
		Evidence: fmt.Sprintf("the lock at %v was destroyed: it has no queue and no mark of being initialized, while "+
			"th_spin_here of gtid %d, which waits in its code, is set", found[0], o.th.gtid),
	}, true
}

// forgotten reports whether a queuing lock was at a that is destroyed: all is as in a
// free lock, but its mark, its own address, is gone. Where the mark was, the runtime
// links locks that it will use again: a null pointer, or a kmp_indirect_lock_t.
func (lk *locks) forgotten(a callbacks.Address) bool {
	f := &lk.l.Queuing
	r := layout.Read(lk.mem, a, f.Initialized, f.HeadId, f.TailId, f.OwnerId, f.DepthLocked)
	link := r.Address(f.Initialized)
	if r.Err() != nil || link == a || r.Int(f.HeadId) != 0 || r.Int(f.TailId) != 0 || r.Int(f.OwnerId) != 0 ||
		r.Int(f.DepthLocked) != -1 {
		return false
	}
	if link.IsNull() {
		return true
	}
	_, ok := lk.indirectLock(link.Offset)
	return ok
}
