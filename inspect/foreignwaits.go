package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/arch"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// conditionSize is the size of glibc's pthread_cond_t in bytes, in which the words
// lie that threads sleep on.
const conditionSize = 48

// awaitsCondition tells whether n waits on a condition variable without a time
// limit. Which one, the call tells.
func (in *Inspector) awaitsCondition(n *native, futex uint64, _ uint32) (Wait, bool) {
	if !arch.EndlessWait(in.registers(n)) || !in.called(n, "pthread_cond_wait") {
		return Wait{}, false
	}
	w := Wait{Kind: WaitCondition}
	if cond, ok := in.topArgument(n, 0); ok && futex-cond < conditionSize {
		w.Address, w.Variable, w.Name = cond, cond, in.placeName(cond)
	}
	return w, true
}

// topArgument is integer argument i of the call by which n's innermost frame that
// is neither the C library's nor a runtime's went to wait.
func (in *Inspector) topArgument(n *native, i int) (uint64, bool) {
	st := in.stackOf(n)
	top := slices.Index(st.kinds, kindUser)
	if top < 1 {
		return 0, false
	}
	if v, ok := in.argument(st.frames[top].PC, i, st.frames[top].Registers); ok {
		return v, true
	}
	return in.flowArgument(st, top, i)
}

// callsLock tells whether n, of which no runtime knows, waits for a lock of one: a
// thread that the program made may take locks without becoming the runtime's. The
// word that it sleeps on is the lock.
func (in *Inspector) callsLock(n *native, futex uint64, _ uint32) (Wait, bool) {
	st := in.stackOf(n)
	top := st.topSegment()
	if n.rt != nil || top == 0 || top >= len(st.kinds) || st.kinds[top] != kindUser {
		return Wait{}, false
	}
	w := Wait{Address: futex}
	w.Call, _ = in.calledFunction(st, top)
	c, ok := rtl.LockCallOf(w.Call)
	if !ok || !c.Set || foreignKinds[c.Family] == "" {
		return Wait{}, false
	}
	w.Kind = foreignKinds[c.Family]
	if c.Arg >= 0 {
		if v, ok := in.topArgument(n, c.Arg); !ok || v != futex {
			return Wait{}, false
		}
		w.Variable = futex
	}
	w.Name = in.waitName(w)
	return w, true
}

// foreignKinds are the kinds of waits by the family of the call.
var foreignKinds = map[string]string{
	rtl.FamilyLock: WaitLock, rtl.FamilyNest: WaitNestLock, rtl.FamilyCritical: WaitCritical, rtl.FamilyAtomic: WaitAtomic,
}

// foreignLock tells who has the lock that a thread waits for of which no runtime
// knows. Only the stacks tell.
func (in *Inspector) foreignLock(w Wait) (Lock, error) {
	word, ok := in.word(w.Address)
	if w.n == nil || w.n.rt != nil || !ok {
		return Lock{}, errNoWaits
	}
	l := Lock{Kind: "futex", Nested: w.Kind == WaitNestLock, Held: word != 0}
	if l.Held {
		l.Holders = in.holders(w, l)
	}
	return l, nil
}
