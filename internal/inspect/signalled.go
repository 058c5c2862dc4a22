package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/spin"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// signalled finds the semaphore, or the flag, that w waits for among the facts, or adds it.
// Any thread may write a flag; only a handler of a signal ends a loop that has no way out.
func (g *gatherer) signalled(w *wait) picture.ID {
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
			shared := w.Kind == picture.WaitFlag && g.from.waits.native.spins.shared(w.address)
			l.MayRelease.Incomplete = g.blank || shared || g.from.reach.hasHandlers()
		}
		g.polled(w, &l)
		g.facts.Locks = append(g.facts.Locks, l)
	}
	if may := g.facts.Locks[i].MayRelease; g.helps(w) {
		may.Incomplete = true
	}
	return g.facts.Locks[i].ID
}

// helps reports whether the loop that w is in writes what others wait for.
func (g *gatherer) helps(w *wait) bool {
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

// lockSize is how much of what threads wait for may be what wakes them: the locks of the C library and of
// OpenMP's runtimes are no larger.
const lockSize = 64

// polled finds who has the lock that w tries to acquire in a loop, and where it was left.
func (g *gatherer) polled(w *wait, l *picture.Lock) {
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
	l.Holders = g.from.waits.holders.find(*w, picture.Lock{})
	l.Leaks = g.from.waits.holders.leaves(*w, family, same)
}
