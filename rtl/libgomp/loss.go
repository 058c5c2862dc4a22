package libgomp

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

var _ rtl.LossReader = (*runtime)(nil)

// loss are the threads of one pool that are not there.
type loss struct {
	count, of int // of the pool's threads
}

// losses has, by the address of a pool, what it names and the target does not
// have. The stacks of a parent's threads are copied into its child, and with them
// what the threads kept: a thread that was in the pool still names it. So a list
// that is being filled is not taken for one of lost threads.
func (ths *threads) losses(w *world) map[uint64]loss {
	out := map[uint64]loss{}
	for _, th := range w.threads {
		if _, seen := out[th.pool.Offset]; seen || th.pool.IsNull() {
			continue
		}
		out[th.pool.Offset] = ths.lossOf(w, th.pool)
	}
	return out
}

// lossOf counts the threads of a pool that are not there; none if that cannot be
// told of each.
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
		a := callbacks.At(callbacks.Word(entries[8*i : 8*i+8]))
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
	if l.count > 0 || proven { // else one may be about to begin
		l.count += replaced
	}
	return l
}

// LostThreads tells of the threads that pools name and the process does not have.
// A thread waits for them if it is at a barrier of a team that they are in, or
// where a team's threads come together first.
func (s *states) LostThreads(of func(handles.Thread) *rtl.Evidence) rtl.Loss {
	w, out := s.threads.world(), rtl.Loss{}
	for pool, l := range w.lost {
		if l.count == 0 {
			continue
		}
		out.Count += l.count
		out.Evidence = fmt.Sprintf("the pool at %v has %d threads (threads_used); %d of them are not in the process",
			callbacks.At(pool), l.of, l.count)
	}
	if out.Count == 0 {
		return out
	}
	for _, th := range w.threads {
		if h := s.threadHandle(th); w.lost[th.pool.Offset].count > 0 && s.waitsForLost(th, of(h)) {
			out.Waiting = append(out.Waiting, h)
		}
	}
	return out
}

// waitsForLost reports whether a thread waits for threads that are lost.
func (s *states) waitsForLost(th *thread, ev *rtl.Evidence) bool {
	if ev != nil && !ev.Futex.IsNull() && ev.Futex == s.dock(th) {
		return true
	}
	r := s.threads.world().at(th, 0)
	return r != nil && s.inferred(th, ev).WaitKind == "barrier" && slices.Contains(r.members, nil)
}

var _ rtl.DamageReader = (*runtime)(nil)

// Damage tells of threads that forked a region whose team is none. What a thread that forked
// it names as its team is one, from before it is entered until it is left; those of others may
// have been freed meanwhile.
func (ths *threads) Damage() []string {
	var out []string
	for _, th := range ths.world().threads {
		if th.err != nil && th.id == 0 && !th.team.IsNull() {
			out = append(out, th.err.Error())
		}
	}
	return out
}
