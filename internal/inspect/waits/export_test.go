package waits

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// LockQuestions returns the questions about the locks that threads wait for: their holders, the places where code
// leaves them, and the threads that may come to a release. A question is answered when it is called.
func LockQuestions(wf *Finder) map[string]func() string {
	addresses := map[uint64]bool{0: true}
	for _, w := range wf.all() {
		addresses[w.variable], addresses[w.address] = true, true
	}
	holders, out := wf.holders, map[string]func() string{}
	for _, family := range []string{rtl.FamilyLock, rtl.FamilyNest, rtl.FamilyCritical, rtl.FamilyMutex,
		rtl.FamilyAtomic, rtl.FamilyReduction, rtl.FamilyCondition, rtl.FamilyEvent, rtl.FamilyReadWrite} {
		for a := range addresses {
			lock := lockflow.Lock{Family: family, Address: a}
			out[fmt.Sprintf("holders of %s %#x", family, a)] = func() string { return holdersOf(holders, lock) }
			out[fmt.Sprintf("departures of %s %#x", family, a)] = func() string {
				return fmt.Sprintf("%+v", holders.look.Departures(lock, holders.holding()))
			}
		}
		out["releasers of "+family] = func() string { return fmt.Sprint(wf.reach.threads(family)) }
	}
	return out
}

func holdersOf(lh *lockHolders, lock lockflow.Lock) string {
	out := ""
	for _, h := range lh.look.Holders(lock) {
		out += fmt.Sprintf("LWP %d, frame %d, %d:", h.Thread.ID, h.Frame, h.Certainty)
		for _, s := range h.Taken {
			out += fmt.Sprintf(" %#x", s.PC)
		}
		out += "; "
	}
	return out
}
