package libomp

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// lockWait is the lock that a thread waits for.
type lockWait struct {
	lock     callbacks.Address // the runtime's lock, or the variable that is the lock itself
	variable callbacks.Address // the program's variable of the lock or critical section; null if not found
	text     string
}

// findLock finds the lock that th waits for: among the words that the runtime's
// frames of its waiting call hold, and in the arguments of that call.
func (rt *runtime) findLock(th *thread, ev *rtl.Evidence, kind entryKind) (lockWait, bool) {
	clues := rt.clues(ev)
	arg := lockArgument(th, ev, kind)
	if arg != 0 {
		clues = append([]uint64{arg}, clues...)
	}
	for _, c := range clues {
		if lock, ok := rt.resolveVariable(c); ok && kind != entryLock {
			if text, ok := rt.lockText(lock, th); ok {
				return lockWait{lock, rt.variableOf(lock, kind, arg, clues), text}, true
			}
		}
		if text, ok := rt.lockText(callbacks.At(c), th); ok {
			return lockWait{callbacks.At(c), rt.variableOf(callbacks.At(c), kind, arg, clues), text}, true
		}
	}
	for _, c := range clues {
		w, ok := rt.simpleLock(c, th, c == arg)
		if !ok || kind == entryOther {
			continue
		}
		w.variable = w.lock
		if kind == entryLock && rt.isNumber(arg) {
			w.variable = callbacks.At(arg)
		}
		return w, true
	}
	return lockWait{}, false
}

// lockArgument is the argument of the waiting call that is the program's variable;
// 0 if it is not known. omp_set_lock(&lock) and __kmpc_set_lock(&loc, gtid, &lock)
// may stand for each other in the name of the call, so the arguments tell.
func lockArgument(th *thread, ev *rtl.Evidence, kind entryKind) uint64 {
	if ev == nil || ev.Entry == nil || ev.Entry.Arg == nil {
		return 0
	}
	n := 0
	if kind == entryCritical && strings.HasPrefix(ev.Entry.Function, "__kmpc_") {
		n = 2
	} else if gtid, ok := ev.Entry.Arg(1); ok && kind == entryLock && uint32(gtid) == uint32(th.gtid) {
		n = 2
	}
	if v, ok := ev.Entry.Arg(n); ok && v >= lowestAddress {
		return v
	}
	return 0
}

// variableOf is the program's variable of a lock that was found. That of a
// critical section points to the kmp_indirect_lock_t of the lock. A user lock has
// the number of one, times 2, and is known from the arguments only.
func (rt *runtime) variableOf(lock callbacks.Address, kind entryKind, arg uint64, clues []uint64) callbacks.Address {
	if kind == entryLock {
		return callbacks.At(arg) // what is there may be no lock any more
	}
	var found []uint64
	for _, c := range clues {
		if l, ok := rt.resolveVariable(c); ok && l == lock && c != lock.Offset {
			if c == arg {
				return callbacks.At(c)
			}
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return callbacks.Address{}
	}
	return callbacks.At(found[0])
}

// isNumber tells whether the program's variable at a may be a user lock that is the
// number of one, times 2.
func (rt *runtime) isNumber(a uint64) bool {
	v, err := layout.ReadUint(rt.mem, callbacks.At(a), 4)
	return err == nil && v&1 == 0 && v < maxLocks
}

// lowestAddress is where a program's memory begins at the earliest: Linux maps
// nothing in the first page.
const lowestAddress = 4096

// maxLocks bounds the number of a user lock, times 2: a program with 64 Mi locks
// has 4 GiB of them.
const maxLocks = 128 << 20

// resolveVariable follows the program's variable of a critical section to the
// runtime's lock: it points to a kmp_indirect_lock_t.
func (rt *runtime) resolveVariable(a uint64) (callbacks.Address, bool) {
	p, err := layout.ReadUint(rt.mem, callbacks.At(a), 8)
	if err != nil || p&1 != 0 || p == 0 {
		return callbacks.Address{}, false
	}
	return rt.indirect(p)
}

// indirect is the lock of the kmp_indirect_lock_t at p.
func (rt *runtime) indirect(p uint64) (callbacks.Address, bool) {
	f := &rt.l.Indirect
	r := layout.Read(rt.mem, callbacks.At(p), f.Lock, f.Type)
	lock, kind := r.Address(f.Lock), r.Uint(f.Type)
	return lock, r.Err() == nil && !lock.IsNull() && kind < lockKinds
}

// lockKinds is more than kmp_indirect_locktag_t has values.
const lockKinds = 16

// lockText tells whether there is a lock at a that th waits for, and how that
// shows.
func (rt *runtime) lockText(a callbacks.Address, th *thread) (string, bool) {
	if text, ok := rt.queuing(a, th); ok {
		return text, true
	}
	if text, ok := rt.ticket(a); ok {
		return text, true
	}
	return rt.drdpa(a)
}

// queuing tells whether there is a queuing lock at a, and th in its queue. The
// queue goes from head_id through th_next_waiting; the numbers are gtid+1.
func (rt *runtime) queuing(a callbacks.Address, th *thread) (string, bool) {
	f := &rt.l.Queuing
	r := layout.Read(rt.mem, a, f.Initialized, f.HeadId, f.TailId)
	self, head, tail := r.Address(f.Initialized), r.Int(f.HeadId), r.Int(f.TailId)
	if r.Err() != nil || self != a || head < 1 || !rt.queueEnds(head, tail) {
		return "", false
	}
	id := head
	for n := 1; n <= len(rt.slots); n++ {
		if id == int64(th.gtid)+1 {
			return fmt.Sprintf("queue of the lock at %v: gtid %d is number %d, head_id %d, tail_id %d", a, th.gtid, n, head, tail), true
		}
		if id < 1 || id > int64(len(rt.slots)) || id == tail {
			return "", false
		}
		next := rt.l.Thread.NextWaiting
		tr := layout.Read(rt.mem, rt.slots[id-1], next)
		if id = tr.Int(next); tr.Err() != nil {
			return "", false
		}
	}
	return "", false
}

// queueEnds tells whether head and tail can be those of a queuing lock: it is free,
// or one thread has it, or threads wait for it. Where they lie, a DRDPA lock has a
// pointer.
func (rt *runtime) queueEnds(head, tail int64) bool {
	if head < 1 {
		return head >= -1 && tail == 0
	}
	return head <= int64(len(rt.slots)) && tail >= 1 && tail <= int64(len(rt.slots))
}

// ticket tells whether there is a ticket lock at a that threads wait for. Its
// waiting threads cannot be told apart.
func (rt *runtime) ticket(a callbacks.Address) (string, bool) {
	f := &rt.l.Ticket
	r := layout.Read(rt.mem, a, f.Initialized, f.Self, f.NextTicket, f.NowServing)
	self, next, serving := r.Address(f.Self), uint32(r.Uint(f.NextTicket)), uint32(r.Uint(f.NowServing))
	if r.Err() != nil || self != a || !r.Bool(f.Initialized) || int32(next-serving) < 2 {
		return "", false
	}
	return fmt.Sprintf("ticket lock at %v: next_ticket %d, now_serving %d", a, next, serving), true
}

// drdpa tells whether there is a DRDPA lock at a that threads wait for.
func (rt *runtime) drdpa(a callbacks.Address) (string, bool) {
	f := &rt.l.Drdpa
	r := layout.Read(rt.mem, a, f.Initialized, f.NextTicket, f.NowServing, f.NumPolls)
	self, next, serving := r.Address(f.Initialized), r.Uint(f.NextTicket), r.Uint(f.NowServing)
	if polls := r.Uint(f.NumPolls); r.Err() != nil || self != a || int64(next-serving) < 1 || polls == 0 || polls > uint64(maxSlots) {
		return "", false
	}
	return fmt.Sprintf("drdpa lock at %v: next_ticket %d, now_serving %d", a, next, serving), true
}

// Tags of locks that are the program's variable itself (kmp_direct_locktag_t).
const (
	tagTas     = 3
	tagFutex   = 5
	tagHLE     = 7
	tagRTMSpin = 9
)

// lockWord is the word of a lock that is one.
type lockWord struct {
	kind  string
	held  bool
	owner int64 // gtid; -1 if the word has none
}

// parseWord takes the word of a lock apart: the low byte has its tag, and the rest
// gtid+1 of its owner. Those that speculate say only that they are held.
func parseWord(w uint64) (lockWord, bool) {
	switch w & 0xff {
	case tagTas:
		return lockWord{"test-and-set", w>>8 != 0, int64(w>>8) - 1}, true
	case tagFutex, tagFutex &^ 1: // bit 0 of the futex's value is lost to its sleepers
		return lockWord{"futex", w>>9 != 0, int64(w>>9) - 1}, true
	case tagHLE, tagRTMSpin:
		return lockWord{"speculative", w>>8 == 1, -1}, w>>8 <= 1
	}
	return lockWord{}, false
}

// simpleLock tells whether the variable at a is a lock that is one word, and is
// held. If a is only a word on the stack, and not known to be what the thread waits
// for, the word must name another thread as its owner.
func (rt *runtime) simpleLock(a uint64, th *thread, known bool) (lockWait, bool) {
	w, err := layout.ReadUint(rt.mem, callbacks.At(a), 4)
	if err != nil {
		return lockWait{}, false
	}
	l, ok := parseWord(w)
	switch {
	case !ok || !l.held || l.owner >= int64(len(rt.slots)):
		return lockWait{}, false
	case l.owner < 0 && known:
		return lockWait{lock: callbacks.At(a), text: fmt.Sprintf("%s lock at %#x is %#x: held", l.kind, a, w)}, true
	case l.owner < 0 || !known && (l.owner == int64(th.gtid) || rt.slots[l.owner].IsNull()):
		return lockWait{}, false
	}
	return lockWait{lock: callbacks.At(a), text: fmt.Sprintf("%s lock at %#x is %#x: held by gtid %d", l.kind, a, w, l.owner)}, true
}
