package waits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// readWriteWait finds the wait of n for a read-write lock of the C library, which names the thread that holds it
// for writing.
func (nw *nativeWaits) readWriteWait(n *teams.Thread, futex uint64, word uint32) (wait, bool) {
	call := ""
	for _, name := range []string{"pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_timedrdlock",
		"pthread_rwlock_timedwrlock", "pthread_rwlock_clockrdlock", "pthread_rwlock_clockwrlock"} {
		if nw.isInCall(n, name) {
			call = name
			break
		}
	}
	if call == "" {
		return wait{}, false
	}
	addr, _ := nw.topArgument(n, 0)
	rw, err := nw.data.Library().ReadWriteLock(futex, addr)
	if err != nil {
		return wait{}, false
	}
	w := wait{
		Wait:    picture.Wait{Kind: picture.WaitReadWrite, Name: nw.data.PlaceName(rw.Address), Call: call},
		address: rw.Address, variable: rw.Address, timed: nw.isTimed(n, word),
	}
	if rw.Writer != 0 && nw.roster.ByLWP[int(rw.Writer)] != nil {
		w.WaitOn = int(rw.Writer)
		w.Evidence = fmt.Sprintf("__cur_writer of the read-write lock at %v is %d", picture.Hex(rw.Address), rw.Writer)
	}
	return w, true
}

// readWriteLock describes the read-write lock that w waits for: the writer by its own record, else the readers by
// their code.
func (wf *Finder) readWriteLock(w wait) (picture.Lock, error) {
	nw := wf.native
	rw, err := nw.data.Library().ReadWriteLock(w.address, w.address)
	if err != nil {
		return picture.Lock{}, err
	}
	l := picture.Lock{Implementation: "rwlock", Owner: w.WaitOn, Evidence: w.Evidence}
	l.Held = rw.Writer != 0 || rw.Readers > 0
	l.Shared = l.Owner == 0 && rw.Shared && nw.spins.isShared(rw.Address)
	switch {
	case l.Owner != 0:
	case rw.Writer != 0 && !rw.Shared && nw.numbersThread(w.n):
		const words = "__cur_writer of the read-write lock at %v is %d, which is no thread of the process"
		l.OwnerEnded, l.Evidence = true, fmt.Sprintf(words, picture.Hex(rw.Address), rw.Writer)
	case rw.Writer == 0:
		l.Evidence = fmt.Sprintf("%s of the read-write lock at %v", readerCount(rw.Readers), picture.Hex(rw.Address))
		l.Holders = slices.Clone(wf.holders.find(w, l))
		for i := range l.Holders {
			l.Holders[i].Evidence += "; " + l.Evidence
		}
	}
	return l, nil
}

// countReaders raises the certainty of threads that may hold a read-write lock for reading, and wait for it for
// writing. It does so if they are as many as the lock counts, no other thread may release it, and the code leaves
// it only where a check of the C++ library fails.
func (g *gatherer) countReaders(w *wait, l *picture.Lock, same map[int]bool) {
	if w.Kind != picture.WaitReadWrite || l.Owner != 0 || l.MayRelease.Incomplete || !g.noTaskPending() ||
		!g.facts.StacksComplete || g.facts.TasksTruncated {
		return
	}
	other := func(lwp int) bool { return !same[lwp] }
	strong := func(at picture.Leak) bool { return !strings.HasPrefix(at.ExitCall, "std::__throw_") }
	if slices.ContainsFunc(l.MayRelease.Threads, other) || slices.ContainsFunc(l.KnownLeaks(), strong) {
		return
	}
	rw, err := g.from.native.data.Library().ReadWriteLock(w.address, w.address)
	if err != nil || rw.Writer != 0 || rw.Readers != len(l.Holders) {
		return
	}
	if slices.ContainsFunc(l.Holders, func(h picture.Holder) bool {
		return h.Certainty != picture.Possible || !same[h.Thread] || !g.waitsToWrite(h.Thread)
	}) {
		return
	}
	l.Holders = slices.Clone(l.Holders) // other locks share the list
	for i := range l.Holders {
		l.Holders[i].Certainty = picture.Likely
		l.Holders[i].Evidence += ", and no other thread's code may have it"
	}
}

// waitsToWrite reports whether a thread waits for a read-write lock for writing.
func (g *gatherer) waitsToWrite(lwp int) bool {
	i := slices.IndexFunc(g.waits, func(w wait) bool { return w.Thread == lwp })
	return i >= 0 && strings.HasSuffix(g.waits[i].Call, "wrlock")
}

func readerCount(n int) string {
	if n == 1 {
		return "there is 1 reader"
	}
	return fmt.Sprintf("there are %d readers", n)
}
