package libomp

import (
	"encoding/binary"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// The thread's description of a loop with dependences, th_doacross_info, is an array of 8-byte numbers: the
// number of loops, the address of a counter of the team, and the first value, last value and step of the
// outermost loop. For each other loop follow its number of iterations, first value, last value and step. The
// pointer before that to the array points to the flags of all iterations, a bit for each, in the order of serial
// execution.
const (
	doacrossLoops = 0
	doacrossFirst = 2 // first value, last value and step of the outermost loop
	doacrossNext  = 4 // distance from one loop to the next
	// waitedVector is the index of the argument of __kmpc_doacross_wait(loc, gtid, vec) with the awaited
	// iteration's values.
	waitedVector = 2
)

// WaitedIteration returns the iteration for which the thread waits in a loop with dependences. It returns an
// error if the iteration is posted.
func (wr *waits) WaitedIteration(h handles.Thread, ev *handles.Evidence) (rtl.Iteration, error) {
	o, in, err := wr.lookAt(h, ev)
	if err != nil {
		return rtl.Iteration{}, err
	}
	if in.State != handles.StateWaitOrdered || ev == nil || ev.Entry == nil || ev.Entry.Arg == nil ||
		ev.Entry.Function != "__kmpc_doacross_wait" {
		return rtl.Iteration{}, fmt.Errorf("%v waits for no iteration: %w", h, callbacks.Unavailable)
	}
	vec, ok := ev.Entry.Arg(waitedVector)
	if !ok {
		return rtl.Iteration{}, fmt.Errorf("the iteration that %v waits for: %w", h, callbacks.Unavailable)
	}
	dispatch := layout.Read(wr.mem, o.th.addr, wr.l.Thread.Dispatch)
	if err := dispatch.Err(); err != nil {
		return rtl.Iteration{}, err
	}
	at := dispatch.Address(wr.l.Thread.Dispatch).Add(wr.l.Disp.DoacrossInfo.Offset)
	info, err := layout.ReadUint(wr.mem, at, 8)
	if err != nil {
		return rtl.Iteration{}, err
	}
	flags, err := layout.ReadUint(wr.mem, callbacks.Addr(at.Offset-8), 8)
	if err != nil {
		return rtl.Iteration{}, err
	}
	return wr.unpostedIteration(info, flags, vec)
}

// unpostedIteration returns the iteration with the values at vec if its flag is not set.
func (wr *waits) unpostedIteration(info, flags, vec uint64) (rtl.Iteration, error) {
	n, err := layout.ReadUint(wr.mem, callbacks.Addr(info+8*doacrossLoops), 8)
	if err != nil || n == 0 || n > rtl.MaxDoacrossLoops || flags == 0 {
		return rtl.Iteration{}, fmt.Errorf("th_doacross_info at %#x has %d loops: %w", info, n, callbacks.Unavailable)
	}
	loops, err := wr.numbers(info, doacrossFirst+doacrossNext*int(n)-1)
	if err != nil {
		return rtl.Iteration{}, err
	}
	values, err := wr.numbers(vec, int(n))
	if err != nil {
		return rtl.Iteration{}, err
	}
	flat := int64(0)
	for i, v := range values {
		loop := loops[doacrossFirst+doacrossNext*i:]
		first, last, step := loop[0], loop[1], loop[2]
		if step == 0 || (v-first)/step < 0 || (last-v)/step < 0 || v != first && (v > first) != (step > 0) ||
			v != last && (v < last) != (step > 0) {
			return rtl.Iteration{}, fmt.Errorf("%v is no iteration, and not waited for: %w", values,
				callbacks.Unavailable)
		}
		if i > 0 {
			flat *= loops[doacrossFirst+doacrossNext*i-1]
		}
		flat += (v - first) / step
	}
	if flat < 0 {
		return rtl.Iteration{}, fmt.Errorf("iteration %d: %w", flat, callbacks.Unavailable)
	}
	flag, err := layout.ReadUint(wr.mem, callbacks.Addr(flags+uint64(flat)/8), 1)
	switch {
	case err != nil:
		return rtl.Iteration{}, err
	case flag>>(flat%8)&1 != 0:
		return rtl.Iteration{}, fmt.Errorf("iteration %d was posted: %w", flat, callbacks.Unavailable)
	}
	return rtl.Iteration{
		Values: values, Evidence: fmt.Sprintf("bit %d of th_doacross_flags at %#x is 0", flat, flags),
		Posted: flags + uint64(flat)/8, PostedSize: 1,
	}, nil
}

// numbers reads n numbers of 8 bytes each.
func (wr *waits) numbers(addr uint64, n int) ([]int64, error) {
	b := make([]byte, 8*n)
	if err := wr.mem.ReadMemory(callbacks.Addr(addr), b); err != nil {
		return nil, err
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return out, nil
}
