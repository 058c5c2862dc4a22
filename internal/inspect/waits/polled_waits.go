package waits

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/spin"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// signalledLock finds the semaphore, or the flag, that w waits for among the facts, or adds it. Any thread may
// write a flag; only a signal handler ends a loop without an exit.
func (g *gatherer) signalledLock(w *wait) picture.ID {
	key := lockKey{kind: w.Kind, address: w.address}
	i, ok := g.locks[key]
	if !ok {
		i = len(g.facts.Locks)
		g.locks[key] = i
		l := picture.Lock{ID: lockID(i), Implementation: string(w.Kind)}
		l.MayRelease = &picture.Candidates{Threads: []int{}}
		if w.Kind == picture.WaitSemaphore {
			l.MayRelease.Threads = append(l.MayRelease.Threads, g.from.reach.threads(rtl.FamilySemaphore)...)
			l.MayRelease.Incomplete = g.blank || g.from.reach.handlerMayPost()
		} else {
			shared := w.Kind == picture.WaitFlag && g.from.native.spins.isShared(w.address)
			handled := !w.triesOnly() && g.from.reach.hasHandlers()
			l.MayRelease.Incomplete = g.blank || shared || handled
		}
		g.addPolledHolders(w, &l)
		g.facts.Locks = append(g.facts.Locks, l)
	}
	return g.facts.Locks[i].ID
}

// addWriters marks the words for which a thread waits in a loop that writes what others wait for: they may continue,
// and change these words.
func (g *gatherer) addWriters() {
	for i := range g.waits {
		w := &g.waits[i]
		if j, ok := g.locks[lockKey{kind: w.Kind, address: w.address}]; ok && g.writesAwaited(w) {
			g.facts.Locks[j].MayRelease.Incomplete = true
		}
	}
}

// triesOnly reports whether only the release of a lock ends the loop that w is in. As for threads that sleep until a
// lock is released, no handler of a signal is expected to do that.
func (w *wait) triesOnly() bool {
	return w.Kind == picture.WaitFlag && w.Call != "" && len(w.words) == 1
}

// writesAwaited reports whether the loop that w is in writes words that other threads wait for.
func (g *gatherer) writesAwaited(w *wait) bool {
	return slices.ContainsFunc(w.written, func(word spin.Word) bool {
		over := func(at uint64, size uint64) bool {
			return at < word.Address+uint64(word.Size) && word.Address < at+size
		}
		return slices.ContainsFunc(g.waits, func(o wait) bool {
			if o.Thread == w.Thread || o.words != nil {
				return o.Thread != w.Thread && slices.ContainsFunc(o.words, func(r spin.Word) bool {
					return over(r.Address, uint64(r.Size))
				})
			}
			return over(o.address, lockSize) || over(o.variable, lockSize)
		})
	})
}

// lockSize is the size of an awaited thing in which a write may wake its waiters: the locks of the C library and
// of OpenMP's runtimes are no larger.
const lockSize = 64

// addPolledHolders finds the holders of the lock that w tries to acquire in a loop, and the places that leave it.
func (g *gatherer) addPolledHolders(w *wait, l *picture.Lock) {
	family, ok := lockFamily(*w, picture.Lock{})
	if w.Kind != picture.WaitFlag || !ok {
		return
	}
	same := map[int]bool{}
	for i := range g.waits {
		if o := &g.waits[i]; o.Kind == w.Kind && o.address == w.address {
			same[o.Thread] = true
		}
	}
	l.Holders = g.from.holders.find(*w, picture.Lock{})
	l.Leaks = g.from.holders.findLeaks(*w, family, same)
}

// futexLock is the lock of GNU's runtime, a word without a count of waiters: 0, 1 if a thread holds it, and -1 if
// others may sleep on it.
const futexLock = "futex"

// countWaiters counts the threads that wait for a lock without a count of its own, if the verdict depends on its
// releases. Each of them must be known not to have just acquired the lock: it sleeps, or is about to read the
// lock's word again. A thread in GNU's runtime reads it until it has changed the word, and then returns.
func (g *gatherer) countWaiters() {
	waits := map[picture.ID][]int{} // indices of waits, by lock
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

// allWait reports whether some of the waits, by their indices, are not asleep, and all those are about to read the
// awaited word again.
func (g *gatherer) allWait(waits []int) bool {
	awake := false
	for _, i := range waits {
		if g.facts.Waits[i].Asleep {
			continue
		}
		if w := &g.waits[i]; w.timed || !g.from.native.spins.rereadsWord(w.n, w.runtimeID) {
			return false
		}
		awake = true
	}
	return awake
}
