package libomp

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// lockWait is the lock for which a thread waits.
type lockWait struct {
	lock     callbacks.Address // the runtime's lock, or the variable that is itself the lock
	variable callbacks.Address // the program's variable of the lock or critical section; null if not found
	text     string
}

// findLock finds the lock for which th waits: among the words in the runtime's frames of the waiting call, and
// in the arguments of that call.
func (lk *locks) findLock(th *thread, ev *handles.Evidence, kind entryKind) (lockWait, bool) {
	clues := lk.clues(ev)
	arg := lockArgument(th, ev, kind)
	if arg != 0 {
		clues = append([]uint64{arg}, clues...)
	}
	for _, c := range clues {
		if lock, ok := lk.resolveVariable(c); ok && kind != entryLock {
			if text, ok := lk.lockText(lock, th); ok {
				return lockWait{lock, lk.variableOf(lock, kind, arg, clues), text}, true
			}
		}
		if text, ok := lk.lockText(callbacks.Addr(c), th); ok {
			return lockWait{callbacks.Addr(c), lk.variableOf(callbacks.Addr(c), kind, arg, clues), text}, true
		}
	}
	for _, c := range clues {
		w, ok := lk.simpleLock(c, th, c == arg)
		if !ok || kind == entryOther || kind == entryLock && c != arg && arg != 0 && !lk.isNested(c) {
			continue
		}
		w.variable = w.lock
		if kind == entryLock && lk.isNumber(arg) {
			w.variable = callbacks.Addr(arg)
		}
		return w, true
	}
	return lockWait{}, false
}

// maxDepth bounds the number of nested acquisitions of a lock by one thread. A word above it is not a depth.
const maxDepth = 1 << 20

// isNested reports whether a word that looks like a lock is followed by the depth of a nestable lock. Only
// nestable one-word locks are outside of the program's variable. The word alone could be an ordinary number of
// the program.
func (lk *locks) isNested(a uint64) bool {
	depth, err := layout.ReadUint(lk.mem, callbacks.Addr(a).Add(4), 4)
	return err == nil && depth >= 1 && depth < maxDepth
}

// lockArgument returns the argument of the waiting call that is the program's variable; 0 if unknown.
// omp_set_lock(&lock) ends in __kmpc_set_lock(&loc, gtid, &lock), and only the latter name may be visible; then
// the arguments decide.
func lockArgument(th *thread, ev *handles.Evidence, kind entryKind) uint64 {
	if ev == nil || ev.Entry == nil || ev.Entry.Arg == nil {
		return 0
	}
	n := 0
	switch {
	case !strings.HasPrefix(ev.Entry.Function, "__kmpc_"):
	case kind == entryCritical:
		n = 2
	case kind == entryLock:
		if gtid, ok := ev.Entry.Arg(1); ok && uint32(gtid) == uint32(th.gtid) {
			n = 2
		}
	}
	if v, ok := ev.Entry.Arg(n); ok && v >= lowestAddress {
		return v
	}
	return 0
}

// variableOf returns the program's variable of a lock that was found. The variable of a critical section points
// to the kmp_indirect_lock_t of the lock. The variable of a user lock holds twice its index, and is only known
// from the arguments.
func (lk *locks) variableOf(lock callbacks.Address, kind entryKind, arg uint64, clues []uint64) callbacks.Address {
	if kind == entryLock {
		return callbacks.Addr(arg) // the memory there may no longer contain a lock
	}
	var found []uint64
	for _, c := range clues {
		if l, ok := lk.resolveVariable(c); ok && l == lock && c != lock.Offset {
			if c == arg {
				return callbacks.Addr(c)
			}
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return callbacks.Address{}
	}
	return callbacks.Addr(found[0])
}

// isNumber reports whether the program's variable at a may hold the index of a user lock, times 2.
func (lk *locks) isNumber(a uint64) bool {
	v, err := layout.ReadUint(lk.mem, callbacks.Addr(a), 4)
	return err == nil && v&1 == 0 && v < maxLocks
}

// lowestAddress is the lowest possible address of a program's memory: Linux never maps the first page.
const lowestAddress = 4096

// maxLocks bounds the index of a user lock, times 2: 64 Mi locks take 4 GiB.
const maxLocks = 128 << 20

// resolveVariable follows the program's variable of a critical section to the runtime's lock: the variable
// points to a kmp_indirect_lock_t.
func (lk *locks) resolveVariable(a uint64) (callbacks.Address, bool) {
	p, err := layout.ReadUint(lk.mem, callbacks.Addr(a), 8)
	if err != nil || p&1 != 0 || p == 0 {
		return callbacks.Address{}, false
	}
	return lk.indirectLock(p)
}

// indirectLock returns the lock of the kmp_indirect_lock_t at p.
func (lk *locks) indirectLock(p uint64) (callbacks.Address, bool) {
	f := &lk.l.Indirect
	r := layout.Read(lk.mem, callbacks.Addr(p), f.Lock, f.Type)
	lock, kind := r.Address(f.Lock), r.Uint(f.Type)
	return lock, r.Err() == nil && !lock.IsNull() && kind < lockKinds
}

// lockKinds is an upper bound for the number of values of kmp_indirect_locktag_t.
const lockKinds = 16

// lockText reports whether there is a lock at a for which th waits, and returns the evidence.
func (lk *locks) lockText(a callbacks.Address, th *thread) (string, bool) {
	if text, ok := lk.queuing(a, th); ok {
		return text, true
	}
	if text, ok := lk.isTicketLock(a); ok {
		return text, true
	}
	return lk.drdpa(a)
}

// queuing reports whether there is a queuing lock at a with th in its queue.
func (lk *locks) queuing(a callbacks.Address, th *thread) (string, bool) {
	f := &lk.l.Queuing
	r := layout.Read(lk.mem, a, f.Initialized, f.HeadId, f.TailId)
	self, head, tail := r.Address(f.Initialized), r.Int(f.HeadId), r.Int(f.TailId)
	if r.Err() != nil || self != a || head < 1 || !lk.queueEnds(head, tail) {
		return "", false
	}
	n, waits := lk.queueOf(a, head, tail).place[int64(th.gtid)+1]
	if !waits {
		return "", false
	}
	return fmt.Sprintf("queue of the lock at %v: gtid %d is number %d, head_id %d, tail_id %d", a, th.gtid, n, head,
		tail), true
}

// queueEnds reports whether head and tail are possible values in a queuing lock: it is free, or one thread holds
// it, or threads wait for it. A DRDPA lock has a pointer at the same offsets.
func (lk *locks) queueEnds(head, tail int64) bool {
	if head < 1 {
		return head >= -1 && tail == 0
	}
	return head <= int64(len(lk.threads.slots)) && tail >= 1 && tail <= int64(len(lk.threads.slots))
}

// isTicketLock reports whether there is a ticket lock at a for which threads wait. The waiting threads are not
// recorded.
func (lk *locks) isTicketLock(a callbacks.Address) (string, bool) {
	f := &lk.l.Ticket
	r := layout.Read(lk.mem, a, f.Initialized, f.Self, f.NextTicket, f.NowServing)
	self, next, serving := r.Address(f.Self), uint32(r.Uint(f.NextTicket)), uint32(r.Uint(f.NowServing))
	if r.Err() != nil || self != a || !r.Bool(f.Initialized) || int32(next-serving) < 2 {
		return "", false
	}
	return fmt.Sprintf("ticket lock at %v: next_ticket %d, now_serving %d", a, next, serving), true
}

// drdpa reports whether there is a DRDPA lock at a for which threads wait.
func (lk *locks) drdpa(a callbacks.Address) (string, bool) {
	f := &lk.l.Drdpa
	r := layout.Read(lk.mem, a, f.Initialized, f.NextTicket, f.NowServing, f.NumPolls)
	self, next, serving := r.Address(f.Initialized), r.Uint(f.NextTicket), r.Uint(f.NowServing)
	if polls := r.Uint(f.NumPolls); r.Err() != nil || self != a || int64(next-serving) < 1 || polls == 0 ||
		polls > uint64(maxSlots) {
		return "", false
	}
	return fmt.Sprintf("drdpa lock at %v: next_ticket %d, now_serving %d", a, next, serving), true
}

// Tags of locks that are stored in the program's variable itself (kmp_direct_locktag_t).
const (
	tagTas     = 3
	tagFutex   = 5
	tagHLE     = 7
	tagRTMSpin = 9
)

// lockWord is the parsed value of a one-word lock.
type lockWord struct {
	kind  string
	held  bool
	owner int64 // gtid; -1 if the word has no owner
}

// parseWord parses the value of a one-word lock: the low byte is its tag, the rest is the gtid+1 of its owner.
// Locks with speculation only show that they are held.
func parseWord(w uint64) (lockWord, bool) {
	switch w & 0xff {
	case tagTas:
		return lockWord{"test-and-set", w>>8 != 0, int64(w>>8) - 1}, true
	case tagFutex, tagFutex &^ 1: // threads that sleep on the futex set bit 0
		return lockWord{"futex", w>>9 != 0, int64(w>>9) - 1}, true
	case tagHLE, tagRTMSpin:
		return lockWord{"speculative", w>>8 == 1, -1}, w>>8 <= 1
	}
	return lockWord{}, false
}

// simpleLock reports whether the variable at a is a held one-word lock. known means that a is the object of the
// wait. If it is false, a is only a word on the stack; then the lock must name another thread as its owner.
func (lk *locks) simpleLock(a uint64, th *thread, known bool) (lockWait, bool) {
	w, err := layout.ReadUint(lk.mem, callbacks.Addr(a), 4)
	if err != nil {
		return lockWait{}, false
	}
	l, ok := parseWord(w)
	switch {
	case !ok || !l.held || l.owner >= int64(len(lk.threads.slots)):
		return lockWait{}, false
	case l.owner < 0 && known:
		return lockWait{lock: callbacks.Addr(a), text: fmt.Sprintf("%s lock at %#x is %#x: held", l.kind, a, w)}, true
	case l.owner < 0 || !known && (l.owner == int64(th.gtid) || lk.threads.slots[l.owner].IsNull()):
		return lockWait{}, false
	}
	return lockWait{lock: callbacks.Addr(a), text: fmt.Sprintf("%s lock at %#x is %#x: held by gtid %d", l.kind, a, w,
		l.owner)}, true
}
