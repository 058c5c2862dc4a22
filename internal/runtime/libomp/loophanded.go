package libomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// dynamicLoop is a thread's record of a dynamically scheduled loop.
type dynamicLoop struct {
	kind, total, chunk uint64
	first, limit, step int64
	lower, upper       uint64 // in an ordered loop: iterations of the thread
	count, end         uint64 // if chunks may be stolen: the chunks reserved for the thread
	given              layout.Field
	ordered            bool
}

// valueAt returns the value of iteration i.
func (d *dynamicLoop) valueAt(i uint64) *int64 { v := d.first + int64(i)*d.step; return &v }

// contains reports whether the loop's variable takes the value v.
func (d *dynamicLoop) contains(v int64) bool {
	off := v - d.first
	return off%d.step == 0 && off/d.step >= 0 && uint64(off/d.step) < d.total
}

// handed reads the buffer of a thread at own.
func (lp *loops) handed(own callbacks.Address) (dynamicLoop, error) {
	p := &lp.l.DispPrivate
	head := layout.Read(lp.mem, own, p.Schedule, p.TypeSize, p.Ordered)
	f := lp.loopFields(head.Uint(p.TypeSize))
	r := layout.Read(lp.mem, own, f.count, f.lb, f.ub, f.st, f.tc, f.chunk, f.lower, f.upper)
	d := dynamicLoop{
		kind: head.Uint(p.Schedule), ordered: head.Uint(p.Ordered) != 0, given: f.given,
		total: r.Uint(f.tc), chunk: r.Uint(f.chunk), first: r.Int(f.lb), limit: r.Int(f.ub), step: r.Int(f.st),
		lower: r.Uint(f.lower), upper: r.Uint(f.upper), count: r.Uint(f.count), end: r.Uint(f.ub),
	}
	if err := errors.Join(head.Err(), r.Err()); err != nil {
		return d, err
	}
	if scheduleNames[d.kind] == "" || d.total == 0 || d.total > maxIterations || d.step == 0 {
		return d, fmt.Errorf("schedule %d with %d iterations: %w", d.kind, d.total, callbacks.Unavailable)
	}
	return d, nil
}

// countLeft returns the number of iterations of a loop that are not yet assigned to a thread. It returns nil if
// the number is unknown, or if all iterations are assigned at the start.
func (lp *loops) countLeft(th *thread, shared callbacks.Address, d dynamicLoop) *uint64 {
	given, err := lp.field(shared, d.given)
	if err != nil {
		return nil
	}
	switch d.kind {
	case schStaticSteal:
		n, ok := lp.aside.Get(shared.Offset)
		if !ok {
			n = lp.countReserved(th, shared, d)
			lp.aside.Put(shared.Offset, n)
		}
		return n
	case schDynamicChunked:
		if d.chunk == 0 || given > d.total/d.chunk { // unsuccessful requests were counted too
			given = d.total
		} else {
			given *= d.chunk
		}
	case schGuidedIterative:
	default:
		return nil
	}
	n := d.total - min(d.total, given)
	return &n
}

// countReserved returns the number of iterations reserved for the members of a team, in a loop in which threads
// steal from others. It returns nil if a member is not in the loop: it may have finished its part, or not have
// arrived.
func (lp *loops) countReserved(th *thread, shared callbacks.Address, d dynamicLoop) *uint64 {
	t, err := lp.threads.readTeam(th.team)
	if err != nil || d.chunk == 0 {
		return nil
	}
	chunks := (d.total + d.chunk - 1) / d.chunk
	var n uint64
	for i := range t.nproc {
		m, err := lp.threads.member(t, i)
		if err != nil {
			return nil
		}
		sh, own, err := lp.dispatchBuffers(m)
		if err != nil || sh != shared {
			return nil
		}
		o, err := lp.handed(own)
		if err != nil || o.kind != schStaticSteal || o.end > chunks {
			return nil
		}
		if o.count < o.end {
			n += (o.end - o.count) * d.chunk
			if o.end == chunks { // the last chunk may be smaller
				n -= chunks*d.chunk - d.total
			}
		}
	}
	if n > d.total {
		return nil
	}
	return &n
}
