package libomp

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

var _ rtl.WaitReader = (*runtime)(nil)

// lockStates are the states in which a thread waits for a lock of the runtime.
var lockStates = map[rtl.State]bool{rtl.StateWaitLock: true, rtl.StateWaitCritical: true, rtl.StateWaitAtomic: true, rtl.StateWaitMutex: true}

// WaitedLock describes the lock that the thread waits for.
func (rt *runtime) WaitedLock(h handles.Thread, ev *rtl.Evidence) (rtl.LockInfo, error) {
	o, in, err := rt.lookAt(h, ev)
	if err != nil {
		return rtl.LockInfo{}, err
	}
	if in.State == rtl.StateWaitOrdered && !strings.Contains(o.name, "doacross") {
		return rt.turn(o)
	}
	if !lockStates[in.State] {
		return rtl.LockInfo{}, fmt.Errorf("%v waits for no lock: %w", h, callbacks.Unavailable)
	}
	w, ok := rt.findLock(o.th, ev, o.kind)
	if !ok {
		if info, ok := o.destroyed(); ok {
			return info, nil
		}
		return rtl.LockInfo{}, fmt.Errorf("the lock that %v waits for was not found: %w", h, callbacks.Unavailable)
	}
	info := rtl.LockInfo{Lock: w.lock, Variable: w.variable, OwnerNumber: -1, Evidence: w.text}
	info.Nested = o.kind == entryLock && !w.variable.IsNull() && w.variable != w.lock // of one word, only these have a lock elsewhere
	for _, describe := range []func(*rtl.LockInfo) bool{rt.queuingInfo, rt.ticketInfo, rt.drdpaInfo, rt.wordInfo} {
		if describe(&info) {
			rt.nameOwner(&info)
			return info, nil
		}
	}
	return info, fmt.Errorf("the lock at %v is of no known kind: %w", w.lock, callbacks.Unavailable)
}

// lookAt is what is known of the thread that h names, and its state.
func (rt *runtime) lookAt(h handles.Thread, ev *rtl.Evidence) (*observer, inference, error) {
	th, err := rt.byHandle(h)
	if err != nil {
		return nil, inference{}, err
	}
	gs, err := rt.regionsOf(h)
	if err != nil {
		return nil, inference{}, err
	}
	o := rt.observe(th, gs, ev)
	return o, o.infer(), nil
}

// nestable is what depth_locked tells: it is -1 in a lock that is not nestable.
func nestable(depth int64) bool { return depth >= 0 }

// queuingInfo reads the queuing lock at i.Lock. Only a nestable one has its
// owner.
func (rt *runtime) queuingInfo(i *rtl.LockInfo) bool {
	f := &rt.l.Queuing
	r := layout.Read(rt.mem, i.Lock, f.Initialized, f.HeadId, f.TailId, f.OwnerId, f.DepthLocked)
	if r.Err() != nil || r.Address(f.Initialized) != i.Lock {
		return false
	}
	head, tail, owner := r.Int(f.HeadId), r.Int(f.TailId), r.Int(f.OwnerId)
	if !rt.queueEnds(head, tail) {
		return false
	}
	i.Kind, i.Held, i.Nested = "queuing", head != 0, nestable(r.Int(f.DepthLocked))
	if i.Nested && i.Held && owner > 0 {
		i.OwnerNumber = owner - 1
		i.Evidence = fmt.Sprintf("owner_id of the lock at %v is %d, gtid+1", i.Lock, owner)
	}
	for id := head; id >= 1 && id <= int64(len(rt.slots)) && len(i.Waiters) < len(rt.slots); {
		i.Waiters = append(i.Waiters, handles.Thread{Stamp: rt.stamp, Info: rt.slots[id-1]})
		if id == tail {
			break
		}
		next := rt.l.Thread.NextWaiting
		tr := layout.Read(rt.mem, rt.slots[id-1], next)
		if id = tr.Int(next); tr.Err() != nil {
			break
		}
	}
	i.Counted, i.Waiting = true, len(i.Waiters)
	return true
}

// ticketInfo reads the ticket lock at i.Lock. It is held while a ticket is out.
func (rt *runtime) ticketInfo(i *rtl.LockInfo) bool {
	f := &rt.l.Ticket
	r := layout.Read(rt.mem, i.Lock, f.Self, f.NextTicket, f.NowServing, f.OwnerId, f.DepthLocked)
	if r.Err() != nil || r.Address(f.Self) != i.Lock {
		return false
	}
	i.Kind, i.Held = "ticket", uint32(r.Uint(f.NextTicket)) != uint32(r.Uint(f.NowServing))
	// All that have a ticket wait but the one whose turn it is.
	out := int64(uint32(r.Uint(f.NextTicket)) - uint32(r.Uint(f.NowServing)))
	i.Counted, i.Waiting = true, int(min(max(out-1, 0), maxTeamSize))
	rt.recorded(i, r.Int(f.OwnerId), r.Int(f.DepthLocked))
	return true
}

// drdpaInfo reads the DRDPA lock at i.Lock: now_serving is the ticket of the
// thread that has it, and stays when it is given back until the next has taken it,
// so that those who wait cannot be counted.
func (rt *runtime) drdpaInfo(i *rtl.LockInfo) bool {
	f := &rt.l.Drdpa
	r := layout.Read(rt.mem, i.Lock, f.Initialized, f.NextTicket, f.NowServing, f.OwnerId, f.DepthLocked)
	if r.Err() != nil || r.Address(f.Initialized) != i.Lock {
		return false
	}
	i.Kind, i.Held = "drdpa", r.Uint(f.NextTicket) > r.Uint(f.NowServing)
	rt.recorded(i, r.Int(f.OwnerId), r.Int(f.DepthLocked))
	return true
}

// recorded takes the owner that a lock records, which is that of a nestable one.
func (rt *runtime) recorded(i *rtl.LockInfo, owner, depth int64) {
	if i.Nested = nestable(depth); i.Nested && i.Held && owner > 0 {
		i.OwnerNumber = owner - 1
		i.Evidence = fmt.Sprintf("owner_id of the lock at %v is %d, gtid+1", i.Lock, owner)
	}
}

// wordInfo reads a lock that is one word, which most have their owner in.
func (rt *runtime) wordInfo(i *rtl.LockInfo) bool {
	w, err := layout.ReadUint(rt.mem, i.Lock, 4)
	if err != nil {
		return false
	}
	l, ok := parseWord(w)
	if !ok {
		return false
	}
	i.Kind, i.Held, i.OwnerNumber = l.kind, l.held, l.owner
	if l.owner >= 0 {
		i.Evidence = fmt.Sprintf("the word of the %s lock at %v is %#x: gtid %d has it", l.kind, i.Lock, w, l.owner)
	}
	return true
}

// nameOwner finds the thread of the owner's number.
func (rt *runtime) nameOwner(i *rtl.LockInfo) {
	if n := i.OwnerNumber; n >= 0 && n < int64(len(rt.slots)) && !rt.slots[n].IsNull() {
		i.Owner = handles.Thread{Stamp: rt.stamp, Info: rt.slots[n]}
	}
}
