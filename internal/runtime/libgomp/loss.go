package libgomp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

var _ rtl.LossReader = (*runtime)(nil)

// loss describes the missing threads of one pool.
type loss struct {
	count, of int // missing threads, and all threads of the pool
}

// findLosses returns, by the address of a pool, the threads that the pool lists and the target does not have. A
// child process gets copies of the stacks of its parent's threads, including their data, so a thread that was in
// the pool still refers to it. This distinguishes lost threads from a list that is being filled.
func (ths *threads) findLosses(w *world) map[uint64]loss {
	out := map[uint64]loss{}
	for _, th := range w.threads {
		if _, seen := out[th.pool.Offset]; seen || th.pool.IsNull() {
			continue
		}
		out[th.pool.Offset] = ths.lossOf(w, th.pool)
	}
	return out
}

// lossOf counts the missing threads of a pool. The count is 0 unless each missing thread is proven.
func (ths *threads) lossOf(w *world, pool callbacks.Address) loss {
	f := &ths.l.Pool
	r := layout.Read(ths.mem, pool, f.Threads, f.ThreadsUsed)
	list, n := r.Address(f.Threads), r.Uint(f.ThreadsUsed)
	if r.Err() != nil || list.IsNull() || n < 2 || n > maxTeamSize {
		return loss{}
	}
	entries := make([]byte, 8*n)
	if ths.mem.ReadMemory(list, entries) != nil {
		return loss{}
	}
	l, proven, replaced := loss{of: int(n)}, false, 0
	for i := range n {
		a := callbacks.Addr(callbacks.Word(entries[8*i : 8*i+8]))
		if w.byAddr[a.Offset] != nil {
			continue
		}
		if mistaken, other := w.others[a.Offset]; other {
			proven = proven || mistaken
			replaced++
			continue
		}
		tr := layout.Read(ths.mem, a, ths.l.Thread.ThreadPool)
		if tr.Address(ths.l.Thread.ThreadPool) != pool || tr.Err() != nil {
			return loss{}
		}
		l.count++
	}
	if l.count > 0 || proven { // otherwise one may be about to start
		l.count += replaced
	}
	return l
}

// LostThreads finds the threads that the runtime counts on although they do not exist: threads in a pool's list,
// threads that forked a region, and threads that are ending in a region that they forked. A thread waits for
// them if it is at a barrier of their team, or where a team's threads meet first.
func (s *states) LostThreads(of func(handles.Thread) *handles.Evidence) rtl.Loss {
	w, out := s.threads.world(), rtl.Loss{}
	var evidence []string
	for pool, l := range w.lost {
		if l.count == 0 {
			continue
		}
		out.Count += l.count
		evidence = append(evidence, fmt.Sprintf("the pool at %v has %d threads (threads_used); %d of them are not in "+
			"the process", callbacks.Addr(pool), l.of, l.count))
	}
	left := map[*region]bool{} // regions whose primary thread no longer reaches their barriers
	for _, r := range w.order {
		switch p := r.primaryThread(); {
		case p != nil && w.ending[p] != "":
			left[r] = true
		case p == nil && w.lost[r.poolAddress()].count == 0 && s.threads.forkerGone(r):
			left[r] = true
			out.Count++
			evidence = append(evidence, fmt.Sprintf("the thread that forked the team at %v is not in the process",
				r.team.addr))
		}
	}
	for _, th := range w.threads {
		if why := w.ending[th]; why != "" {
			out.Ending = append(out.Ending, s.threadHandle(th))
			evidence = append(evidence, why)
		}
	}
	if out.Count == 0 && len(out.Ending) == 0 {
		return out
	}
	out.Evidence = strings.Join(evidence, "; ")
	for _, th := range w.threads {
		h := s.threadHandle(th)
		lost := w.lost[th.pool.Offset].count > 0 && s.waitsForLost(th, of(h))
		if lost || left[w.regionAtFrame(th, 0)] && w.ending[th] == "" &&
			s.inferState(th, of(h)).WaitKind == picture.WaitBarrier {
			out.Waiting = append(out.Waiting, h)
		}
	}
	return out
}

// waitsForLost reports whether a thread waits for lost threads.
func (s *states) waitsForLost(th *thread, ev *handles.Evidence) bool {
	if ev != nil && !ev.Futex.IsNull() && ev.Futex == s.dockAddress(th) {
		return true
	}
	r := s.threads.world().regionAtFrame(th, 0)
	return r != nil && s.inferState(th, ev).WaitKind == picture.WaitBarrier && slices.Contains(r.members, nil)
}

// poolAddress returns the pool of the region's threads; 0 if no existing thread has one.
func (r *region) poolAddress() uint64 {
	for _, m := range r.members {
		if m != nil {
			return m.pool.Offset
		}
	}
	return 0
}

// forkerGone reports whether the thread that forked a region no longer exists. The enclosing team has the
// gomp_thread of each member except the first. That one is the same thread as in the next outer team, up to the
// root of the pool.
func (ths *threads) forkerGone(r *region) bool {
	root := callbacks.Addr(r.poolAddress())
	for t, n := r.team, 0; n < maxNesting; n++ {
		if t.prev.IsNull() || t.prevLevel == 0 {
			break
		}
		around, err := ths.records.readTeam(t.prev)
		if err != nil || t.prevID >= around.nthreads {
			return false
		}
		if t.prevID > 0 {
			a, err := ths.records.releaseOf(around, t.prevID)
			return err == nil && ths.gone(a.Add(-ths.l.Thread.Release.Offset))
		}
		t = around
	}
	f := ths.l.Pool.Threads
	pool := layout.Read(ths.mem, root, f)
	first, err := layout.ReadUint(ths.mem, pool.Address(f), 8)
	return err == nil && pool.Err() == nil && ths.gone(callbacks.Addr(first))
}

// gone reports whether no thread of the process has its gomp_thread at address a.
func (ths *threads) gone(a callbacks.Address) bool {
	w := ths.world()
	_, other := w.others[a.Offset]
	return !a.IsNull() && w.byAddr[a.Offset] == nil && !other
}

// endingThreads maps the threads that are ending in a region that they forked to the evidence for it.
func (ths *threads) endingThreads(w *world) map[*thread]string {
	out := map[*thread]string{}
	for _, th := range w.threads {
		if why := ths.endsInRegion(th); why != "" {
			out[th] = why
		}
	}
	return out
}

// endsInRegion returns the evidence that a thread is ending in a region that it forked, or "". A root that ends
// gives each worker of its pool an internal function of the runtime to execute next, which ends the worker, and
// waits until all are idle. In a region they never are: they wait for the root at the region's end. A region
// gives them a function of the program.
func (ths *threads) endsInRegion(th *thread) string {
	if len(th.frames) == 0 || !th.root() || th.err != nil || th.idle != "" {
		return ""
	}
	f := &ths.l.Pool
	r := layout.Read(ths.mem, th.pool, f.Threads, f.ThreadsUsed)
	list, n := r.Address(f.Threads), r.Uint(f.ThreadsUsed)
	if r.Err() != nil || list.IsNull() || n < 2 || n > maxTeamSize {
		return ""
	}
	for i := range n {
		a, err := ths.word(list.Offset + 8*i)
		if err != nil || i == 0 && a != th.addr.Offset {
			return ""
		}
		if i == 0 {
			continue
		}
		fn, err := layout.ReadUint(ths.mem, callbacks.Addr(a).Add(ths.l.Thread.Fn.Offset), 8)
		if err != nil || !ths.Owns(fn) {
			return ""
		}
	}
	return fmt.Sprintf("LWP %d is in the runtime's destructor of a thread's data, in a region that it forked: it "+
		"has given the other threads of its pool (%d) the function by which they end (fn), and waits until they "+
		"are idle", th.lwp, n-1)
}

var _ rtl.DamageReader = (*runtime)(nil)

// Damage finds the threads that forked a region, or seem to have, and whose team's fields contradict each other
// or point outside of the program's memory. The team of a thread that forked it is valid from before the thread
// enters it until the thread leaves it; teams of other threads may have been freed. Memory that the target does
// not provide, as in a truncated core, is not damage.
func (ths *threads) Damage() []string {
	var out []string
	for _, th := range ths.world().threads {
		if th.id != 0 || th.team.IsNull() {
			continue
		}
		if errors.Is(th.err, callbacks.StaleHandle) || errors.Is(th.err, callbacks.ErrUnmapped) {
			out = append(out, fmt.Sprintf("LWP %d: %v", th.lwp, th.err))
		}
	}
	return out
}
