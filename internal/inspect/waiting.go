package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// futexLock is the lock of GNU's runtime, a word that counts nobody: 0, 1 if a thread has it, and -1 if
// others may sleep on it.
const futexLock = "futex"

// seenToWait counts the threads that wait for locks which count nobody, and of which it matters who
// may still release them, where each of them is known not to have just acquired it: it sleeps, or is
// about to look at the lock's word again. GNU's runtime does so until it has changed the word, and
// then returns.
func (g *gatherer) seenToWait() {
	waits := map[picture.ID][]int{} // by lock: the indices of waits
	for i, w := range g.facts.Waits {
		if w.Lock != "" {
			waits[w.Lock] = append(waits[w.Lock], i)
		}
	}
	for i := range g.facts.Locks {
		l := &g.facts.Locks[i]
		if l.Implementation != futexLock || l.MayRelease == nil && !l.HandedOver || l.Waiting != nil {
			continue
		}
		if n := len(waits[l.ID]); n > 0 && g.allWait(waits[l.ID]) {
			l.Waiting = &n
		}
	}
}

// allWait reports whether some of waits, by their indices, are not asleep, and all those are about to
// look at what they wait for again.
func (g *gatherer) allWait(waits []int) bool {
	awake := false
	for _, i := range waits {
		if g.facts.Waits[i].Asleep {
			continue
		}
		if w := &g.waits[i]; w.timed || !g.from.waits.native.spins.looksAgain(w.n, w.runtimeID) {
			return false
		}
		awake = true
	}
	return awake
}
