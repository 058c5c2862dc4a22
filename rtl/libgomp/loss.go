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
func (rt *runtime) losses(w *world) map[uint64]loss {
	out := map[uint64]loss{}
	for _, th := range w.threads {
		if _, seen := out[th.pool.Offset]; seen || th.pool.IsNull() {
			continue
		}
		out[th.pool.Offset] = rt.lossOf(w, th.pool)
	}
	return out
}

// lossOf counts the threads of a pool that are not there; none if that cannot be
// told of each.
func (rt *runtime) lossOf(w *world, pool callbacks.Address) loss {
	f := &rt.l.Pool
	r := layout.Read(rt.mem, pool, f.Threads, f.ThreadsUsed)
	list, n := r.Address(f.Threads), r.Uint(f.ThreadsUsed)
	if r.Err() != nil || list.IsNull() || n < 2 || n > maxTeamSize {
		return loss{}
	}
	entries := make([]byte, 8*n)
	if rt.mem.ReadMemory(list, entries) != nil {
		return loss{}
	}
	l := loss{of: int(n)}
	for i := range n {
		a := callbacks.At(callbacks.Word(entries[8*i : 8*i+8]))
		if w.byAddr[a.Offset] != nil {
			continue
		}
		tr := layout.Read(rt.mem, a, rt.l.Thread.ThreadPool)
		if tr.Address(rt.l.Thread.ThreadPool) != pool || tr.Err() != nil {
			return loss{}
		}
		l.count++
	}
	return l
}

// LostThreads tells of the threads that pools name and the process does not have.
// A thread waits for them if it is at a barrier of a team that they are in, or
// where a team's threads come together first.
func (rt *runtime) LostThreads(of func(handles.Thread) *rtl.Evidence) rtl.Loss {
	w, out := rt.world(), rtl.Loss{}
	for pool, l := range w.lost {
		if l.count == 0 {
			continue
		}
		out.Count += l.count
		out.Evidence = fmt.Sprintf("the pool at %v has %d threads (threads_used); %d of them are not in the process", callbacks.At(pool), l.of, l.count)
	}
	if out.Count == 0 {
		return out
	}
	for _, th := range w.threads {
		if h := rt.threadHandle(th); w.lost[th.pool.Offset].count > 0 && rt.waitsForLost(th, of(h)) {
			out.Waiting = append(out.Waiting, h)
		}
	}
	return out
}

// waitsForLost tells whether a thread waits for threads that are lost.
func (rt *runtime) waitsForLost(th *thread, ev *rtl.Evidence) bool {
	if ev != nil && !ev.Futex.IsNull() && ev.Futex == rt.dock(th) {
		return true
	}
	r := rt.world().at(th, 0)
	return r != nil && rt.observe(th, ev).infer().WaitKind == "barrier" && slices.Contains(r.members, nil)
}
