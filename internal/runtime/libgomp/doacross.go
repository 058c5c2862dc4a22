package libgomp

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Offsets in struct gomp_doacross_work_share. A doacross loop points to this structure with the field that other
// loops use for the list of ordered loops. It ends with an array of elements, one for each thread or chunk: how
// far the iterations of that part are posted, as one number or as one for each loop of the nest.
const (
	doacrossBefore    = 12 // bytes before ordered_owner, in the work share
	doacrossChunk     = 0  // static loops without a chunk: the number of iterations of most threads
	doacrossElement   = 8  // size of an element
	doacrossCounts    = 16 // number of loops in the nest
	doacrossFlattened = 20
	doacrossArray     = 24
	doacrossT         = 32 // static loops without a chunk: the number of threads with one iteration more
	doacrossBoundary  = 40 // the first iteration after those of these threads
	doacrossShifts    = 56 // 4 bytes for each loop
	// maxShift is the number of bits in a posted number.
	maxShift = 64
)

// doacross is a copy of the runtime's data of a loop with dependences.
type doacross struct {
	at                callbacks.Address
	counts, flattened uint64
	element           uint64 // address of the element for the awaited iteration
}

// WaitedIteration returns the iteration for which the thread waits in a loop with dependences. It returns an
// error if the thread that executes the iteration has posted that iteration or a later one.
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
	out.Posted, out.PostedSize = d.element, 8
	if d.flattened == 0 {
		out.PostedSize *= d.counts
	}
	return out, nil
}

// waitsForIteration reports whether a runtime function waits for an iteration. Loops over unsigned long long
// have functions of their own with the same arguments.
func waitsForIteration(function string) bool {
	return strings.HasPrefix(function, "GOMP_doacross_wait") || strings.HasPrefix(function, "GOMP_doacross_ull_wait")
}

// doacross reads the loop in which o waits, and finds the part that contains iteration first of the outermost
// loop.
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

// partOf returns the part of a loop that contains an iteration. A part is the range of one thread in a static
// loop, and a chunk in other loops.
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

// posted reports whether a part of a loop is posted up to the awaited iteration.
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
