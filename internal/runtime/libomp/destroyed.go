package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// destroyed reports whether the lock for which the thread waits was destroyed meanwhile. A thread spins on a
// word of its own until the preceding thread in the lock's queue clears that word; destroying a queuing lock
// clears the queue. The lock must be found in the runtime's frames, and no other word there may lead to a second
// destroyed lock.
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

// forgotten reports whether there is a destroyed queuing lock at a: its fields are those of a free lock, but its
// mark, its own address, is gone. In place of the mark, the runtime links locks that it will reuse: the word is
// a null pointer or a kmp_indirect_lock_t.
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
