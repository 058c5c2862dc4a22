package libomp

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

var _ rtl.WaitReader = (*runtime)(nil)

// lockStates are the states in which a thread waits for a lock of the runtime.
var lockStates = map[handles.State]bool{handles.StateWaitLock: true, handles.StateWaitCritical: true,
	handles.StateWaitAtomic: true,
	handles.StateWaitMutex:  true}

// WaitedLock describes the lock for which the thread waits.
func (wr *waits) WaitedLock(h handles.Thread, ev *handles.Evidence) (rtl.LockInfo, error) {
	o, in, err := wr.lookAt(h, ev)
	if err != nil {
		return rtl.LockInfo{}, err
	}
	if in.State == handles.StateWaitOrdered && !strings.Contains(o.name, "doacross") {
		return wr.findTurn(o)
	}
	if !lockStates[in.State] {
		return rtl.LockInfo{}, fmt.Errorf("%v waits for no lock: %w", h, callbacks.Unavailable)
	}
	w, ok := wr.locks.findLock(o.th, ev, o.kind)
	if !ok {
		if info, ok := o.destroyed(); ok {
			return info, nil
		}
		return rtl.LockInfo{}, fmt.Errorf("the lock that %v waits for was not found: %w", h, callbacks.Unavailable)
	}
	info := rtl.LockInfo{Lock: w.lock, Variable: w.variable, OwnerNumber: -1, Evidence: w.text}
	// among one-word locks, only nestable ones are outside of the variable
	info.Nested = o.kind == entryLock && !w.variable.IsNull() && w.variable != w.lock
	for _, describe := range []func(*rtl.LockInfo) bool{wr.locks.queuingInfo, wr.locks.ticketInfo, wr.locks.drdpaInfo,
		wr.locks.wordInfo} {
		if describe(&info) {
			wr.locks.nameOwner(&info)
			return info, nil
		}
	}
	return info, fmt.Errorf("the lock at %v is of no known kind: %w", w.lock, callbacks.Unavailable)
}

// lookAt returns the observer of the thread of h, and the thread's state.
func (wr *waits) lookAt(h handles.Thread, ev *handles.Evidence) (*observer, inference, error) {
	th, err := wr.threads.byHandle(h)
	if err != nil {
		return nil, inference{}, err
	}
	gs, err := wr.regions.ofHandle(h)
	if err != nil {
		return nil, inference{}, err
	}
	o := wr.states.observe(th, gs, ev)
	return o, o.inferState(), nil
}

// isNestable reports whether depth is the depth_locked of a nestable lock: in other locks it is -1.
func isNestable(depth int64) bool { return depth >= 0 }

// queuingInfo reads the queuing lock at i.Lock. Only nestable locks record their owner.
func (lk *locks) queuingInfo(i *rtl.LockInfo) bool {
	f := &lk.l.Queuing
	r := layout.Read(lk.mem, i.Lock, f.Initialized, f.HeadId, f.TailId, f.OwnerId, f.DepthLocked)
	if r.Err() != nil || r.Address(f.Initialized) != i.Lock {
		return false
	}
	head, tail, owner := r.Int(f.HeadId), r.Int(f.TailId), r.Int(f.OwnerId)
	if !lk.queueEnds(head, tail) {
		return false
	}
	i.Kind, i.Held, i.Nested = "queuing", head != 0, isNestable(r.Int(f.DepthLocked))
	if i.Nested && i.Held && owner > 0 {
		i.OwnerNumber = owner - 1
		i.Evidence = fmt.Sprintf("owner_id of the lock at %v is %d, gtid+1", i.Lock, owner)
	}
	i.Waiters = lk.queueOf(i.Lock, head, tail).threads
	i.Counted, i.Waiting = true, len(i.Waiters)
	return true
}

// ticketInfo reads the ticket lock at i.Lock. It is held while a ticket is out.
func (lk *locks) ticketInfo(i *rtl.LockInfo) bool {
	f := &lk.l.Ticket
	r := layout.Read(lk.mem, i.Lock, f.Self, f.NextTicket, f.NowServing, f.OwnerId, f.DepthLocked)
	if r.Err() != nil || r.Address(f.Self) != i.Lock {
		return false
	}
	i.Kind, i.Held = "ticket", uint32(r.Uint(f.NextTicket)) != uint32(r.Uint(f.NowServing))
	// All threads with a ticket wait, except the one with the current turn.
	out := int64(uint32(r.Uint(f.NextTicket)) - uint32(r.Uint(f.NowServing)))
	i.Counted, i.Waiting = true, int(min(max(out-1, 0), maxTeamSize))
	lk.useRecordedOwner(i, r.Int(f.OwnerId), r.Int(f.DepthLocked))
	return true
}

// drdpaInfo reads the DRDPA lock at i.Lock: now_serving is the ticket of the holder. After a release the value
// stays until the next thread has taken the lock, so the waiting threads cannot be counted.
func (lk *locks) drdpaInfo(i *rtl.LockInfo) bool {
	f := &lk.l.Drdpa
	r := layout.Read(lk.mem, i.Lock, f.Initialized, f.NextTicket, f.NowServing, f.OwnerId, f.DepthLocked)
	if r.Err() != nil || r.Address(f.Initialized) != i.Lock {
		return false
	}
	i.Kind, i.Held = "drdpa", r.Uint(f.NextTicket) > r.Uint(f.NowServing)
	lk.useRecordedOwner(i, r.Int(f.OwnerId), r.Int(f.DepthLocked))
	return true
}

// useRecordedOwner uses the owner that a lock records: only nestable locks do.
func (lk *locks) useRecordedOwner(i *rtl.LockInfo, owner, depth int64) {
	if i.Nested = isNestable(depth); i.Nested && i.Held && owner > 0 {
		i.OwnerNumber = owner - 1
		i.Evidence = fmt.Sprintf("owner_id of the lock at %v is %d, gtid+1", i.Lock, owner)
	}
}

// wordInfo reads a one-word lock. Most kinds store their owner in it.
func (lk *locks) wordInfo(i *rtl.LockInfo) bool {
	w, err := layout.ReadUint(lk.mem, i.Lock, 4)
	if err != nil {
		return false
	}
	l, ok := parseWord(w)
	if !ok {
		return false
	}
	i.Kind, i.Held, i.OwnerNumber = l.kind, l.held, l.owner
	if l.owner >= 0 {
		i.Evidence = fmt.Sprintf("the word of the %s lock at %v is %#x: gtid %d holds it", l.kind, i.Lock, w, l.owner)
	}
	return true
}

// nameOwner finds the thread with the owner's number.
func (lk *locks) nameOwner(i *rtl.LockInfo) {
	if n := i.OwnerNumber; n >= 0 && n < int64(len(lk.threads.slots)) && !lk.threads.slots[n].IsNull() {
		i.Owner = handles.Thread{Stamp: lk.stamp, Info: lk.threads.slots[n]}
	}
}
