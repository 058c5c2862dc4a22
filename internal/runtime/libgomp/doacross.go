package libgomp

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// struct gomp_doacross_work_share, which the loop points to where others have the list of
// ordered loops. It has an array with an element for each thread, or each part of the loop: how
// far the iterations of that part are posted, as one number or as one for each loop.
const (
	doacrossBefore    = 12 // bytes before ordered_owner, in the work share
	doacrossChunk     = 0  // of static loops without a chunk: the iterations of most threads
	doacrossElement   = 8  // size of an element
	doacrossCounts    = 16 // how many loops
	doacrossFlattened = 20
	doacrossArray     = 24
	doacrossT         = 32 // of static loops without a chunk: how many threads have one iteration more
	doacrossBoundary  = 40 // and the first iteration after theirs
	doacrossShifts    = 56 // of each loop, 4 bytes
	// maxShift is the bits of a number.
	maxShift = 64
)

// doacross is the runtime's data of a loop with dependences.
type doacross struct {
	at                callbacks.Address
	counts, flattened uint64
	element           uint64 // address of the one of the iteration that is waited for
}

// WaitedIteration returns the iteration of a loop with dependences for which the thread waits, if
// the iteration's thread has posted neither it nor a later one.
func (wr *waits) WaitedIteration(h handles.Thread, ev *handles.Evidence) (rtl.Iteration, error) {
	o, st, err := wr.states.stateOfHandle(h, ev)
	if err != nil {
		return rtl.Iteration{}, err
	}
	if st.State != handles.StateWaitOrdered || !waitsForIteration(o.calledFunction()) ||
		ev.Entry == nil || ev.Entry.Arg == nil {
		return rtl.Iteration{}, fmt.Errorf("%v waits for no iteration: %w", h, callbacks.Unavailable)
	}
	first, ok := ev.Entry.Arg(0)
	if !ok || o.region == nil || o.region.team == nil {
		return rtl.Iteration{}, fmt.Errorf("the iteration that %v waits for: %w", h, callbacks.Unavailable)
	}
	d, err := wr.doacross(o, int64(first))
	if err != nil {
		return rtl.Iteration{}, err
	}
	out := rtl.Iteration{Values: []int64{int64(first)}}
	for i := range d.counts - 1 {
		v, ok := ev.Entry.Arg(int(i) + 1)
		if !ok {
			return rtl.Iteration{}, fmt.Errorf("the iteration that %v waits for: %w", h, callbacks.Unavailable)
		}
		out.Values = append(out.Values, int64(v))
	}
	posted, err := wr.posted(d, out.Values)
	switch {
	case err != nil:
		return rtl.Iteration{}, err
	case posted:
		return rtl.Iteration{}, fmt.Errorf("iteration %v was posted: %w", out.Values, callbacks.Unavailable)
	}
	out.Evidence = fmt.Sprintf("what is posted of its part of the loop, at %#x, is before it", d.element)
	return out, nil
}

// waitsForIteration reports whether a function of the runtime is one of those that wait for an
// iteration: of loops over unsigned long long it has its own, with the same arguments.
func waitsForIteration(function string) bool {
	return strings.HasPrefix(function, "GOMP_doacross_wait") || strings.HasPrefix(function, "GOMP_doacross_ull_wait")
}

// doacross reads the loop that o waits in, and finds the part of it that has an iteration of
// the outermost loop.
func (wr *waits) doacross(o *observer, first int64) (doacross, error) {
	f := &wr.l.WorkShare
	ws := o.th.rec.Address(wr.l.Thread.WorkShare)
	r := layout.Read(wr.mem, ws, f.Sched, f.ChunkSize, f.OrderedOwner)
	if err := r.Err(); err != nil {
		return doacross{}, err
	}
	at, err := layout.ReadUint(wr.mem, ws.Add(f.OrderedOwner.Offset-doacrossBefore), 8)
	if err != nil {
		return doacross{}, err
	}
	d := doacross{at: callbacks.Addr(at)}
	words := map[uint64]int64{}
	for _, w := range []struct{ at, size uint64 }{
		{doacrossChunk, 8}, {doacrossElement, 8}, {doacrossCounts, 4}, {doacrossFlattened, 1}, {doacrossArray, 8},
		{doacrossT, 8}, {doacrossBoundary, 8},
	} {
		v, err := layout.ReadUint(wr.mem, callbacks.Addr(at+w.at), w.size)
		if err != nil {
			return d, err
		}
		words[w.at] = int64(v)
	}
	d.counts, d.flattened = uint64(words[doacrossCounts]), uint64(words[doacrossFlattened])
	part, ok := partOf(first, words, r.Uint(f.Sched)&^schedMonotonic, int64(r.Uint(f.ChunkSize)),
		int64(o.region.numThreads()))
	if !ok || first < 0 || part < 0 || d.counts == 0 || d.counts > rtl.MaxDoacrossLoops || d.flattened > 1 ||
		words[doacrossArray] == 0 {
		return d, fmt.Errorf("the loop with dependences at %#x: %w", at, callbacks.Unavailable)
	}
	d.element = uint64(words[doacrossArray]) + uint64(part)*uint64(words[doacrossElement])
	return d, nil
}

// partOf returns the part of a loop that contains an iteration: a thread's part in a static loop,
// otherwise its chunk.
func partOf(first int64, words map[uint64]int64, s uint64, chunk, threads int64) (int64, bool) {
	q, boundary := words[doacrossChunk], words[doacrossBoundary]
	switch {
	case s == schedStatic && chunk > 0:
		return first / chunk % threads, threads > 0
	case s == schedStatic && first < boundary:
		return first / (q + 1), q >= 0
	case s == schedStatic:
		return (first-boundary)/max(q, 1) + words[doacrossT], q > 0
	case s == schedGuided:
		return first, true
	}
	return first / max(q, 1), q > 0
}

// posted reports whether a part of a loop is posted as far as an iteration.
func (wr *waits) posted(d doacross, values []int64) (bool, error) {
	flat := uint64(0)
	for i, v := range values {
		if d.flattened == 0 {
			now, err := layout.ReadUint(wr.mem, callbacks.Addr(d.element+8*uint64(i)), 8)
			if err != nil || uint64(v)+1 != now {
				return uint64(v)+1 < now, err
			}
			continue
		}
		shift, err := layout.ReadUint(wr.mem, d.at.Add(doacrossShifts+4*uint64(i)), 4)
		if err != nil || shift >= maxShift {
			return false, fmt.Errorf("the loop with dependences at %v: %w", d.at, callbacks.Unavailable)
		}
		flat |= uint64(v) << shift
	}
	if d.flattened == 0 {
		return true, nil
	}
	now, err := layout.ReadUint(wr.mem, callbacks.Addr(d.element), 8)
	return flat < now, err
}
