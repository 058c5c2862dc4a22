package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Values of enum sched_type in a dispatch buffer. The runtime has replaced auto and runtime by one of them.
const (
	schStaticChunked    = 33
	schStaticGreedy     = 40
	schDynamicChunked   = 35
	schTrapezoidal      = 39
	schStaticBalanced   = 41
	schGuidedIterative  = 42
	schGuidedAnalytical = 43
	schStaticSteal      = 44 // dynamic, with threads that steal chunks when they have finished their own
)

// scheduleNames maps schedules to the standard's names.
var scheduleNames = map[uint64]string{
	schStaticChunked: "static", schStaticGreedy: "static", schStaticBalanced: "static",
	schDynamicChunked: "dynamic", schStaticSteal: "dynamic", schTrapezoidal: "trapezoidal",
	schGuidedIterative: "guided", schGuidedAnalytical: "guided",
}

// loopFields are the fields of a loop with a variable of one size. Most are in the thread's buffer, the last two
// in the team's.
type loopFields struct {
	count, lb, ub, st, tc, chunk, lower, upper, given, turn layout.Field
}

// loopFields returns the fields of a loop with a variable of size bytes.
func (rt *base) loopFields(size uint64) loopFields {
	p, s := &rt.l.DispPrivate, &rt.l.DispShared
	if size <= 4 {
		return loopFields{p.Count32, p.Lb32, p.Ub32, p.St32, p.Tc32, p.Chunk32, p.OrderedLower32, p.OrderedUpper32,
			s.Given32, s.Ordered32}
	}
	return loopFields{p.Count, p.Lb, p.Ub, p.St, p.Tc, p.Chunk64, p.OrderedLower64, p.OrderedUpper64, s.Given64,
		s.Ordered64}
}

// maxIterations bounds the iterations of a loop: more do not fit in a signed 64-bit number.
const maxIterations = 1<<63 - 1

// Loop describes the loop in a thread's dispatch buffer, or a loop that the thread's code divided in advance.
func (lp *loops) Loop(h handles.Thread, code *rtl.LoopCode) (rtl.LoopInfo, error) {
	th, err := lp.threads.byHandle(h)
	if err != nil {
		return rtl.LoopInfo{}, err
	}
	shared, own, err := lp.dispatchBuffers(th)
	switch static := code != nil && code.Call.Kind == rtl.LoopStatic; {
	case err != nil && static:
		return lp.staticLoop(code)
	case err != nil:
		return rtl.LoopInfo{}, err
	case static:
		return rtl.LoopInfo{}, fmt.Errorf("loop of gtid %d: static by its code, and with a dispatch buffer at %v: %w",
			th.gtid, own, callbacks.Unavailable)
	}
	d, err := lp.handed(own)
	info := rtl.LoopInfo{
		Schedule: scheduleNames[d.kind], Ordered: d.ordered || lp.doacross(th), Step: &d.step, Iterations: &d.total,
		Evidence: fmt.Sprintf("dispatch_private_info_t at %v, dispatch_shared_info_t at %v", own, shared),
	}
	if err != nil {
		return info, fmt.Errorf("loop of gtid %d: %w", th.gtid, err)
	}
	if d.kind != schStaticGreedy && d.kind != schStaticBalanced && d.kind != schTrapezoidal && d.chunk > 0 &&
		d.chunk <= maxIterations {
		info.Chunk = &d.chunk
	}
	switch from, to := code.Range(d.step); {
	case d.kind == schStaticBalanced: // the buffer has the thread's part in place of the loop
		info.From, info.To = rtl.StepRange(d.first, d.limit, d.step)
	case d.ordered && d.lower <= d.upper && d.upper < d.total:
		info.From, info.To = d.valueAt(d.lower), d.valueAt(d.upper)
	case from != nil && d.contains(*from) && d.contains(*to):
		info.From, info.To, info.Evidence = from, to, rtl.JoinEvidence(info.Evidence, code.Evidence())
	}
	if d.kind != schStaticBalanced {
		info.First, info.Last = &d.first, d.valueAt(d.total-1)
	}
	if code != nil && code.Counter != nil && d.contains(*code.Counter) {
		code.Place(&info)
	}
	info.Left = lp.countLeft(th, shared, d)
	return info, nil
}

// dispatchBuffers returns the buffers of the thread's loop: the team's (shared) and the thread's own.
func (lp *loops) dispatchBuffers(th *thread) (shared, own callbacks.Address, err error) {
	d := &lp.l.Disp
	r := layout.Read(lp.mem, th.addr, lp.l.Thread.Dispatch)
	dr := layout.Read(lp.mem, r.Address(lp.l.Thread.Dispatch), d.DispatchShCurrent, d.DispatchPrCurrent)
	shared, own = dr.Address(d.DispatchShCurrent), dr.Address(d.DispatchPrCurrent)
	if r.Err() != nil || dr.Err() != nil || shared.IsNull() || own.IsNull() {
		return shared, own, fmt.Errorf("gtid %d is in no loop: %w", th.gtid, callbacks.Unavailable)
	}
	return shared, own, nil
}

// doacross reports whether a thread is in a loop with the clause ordered(n).
func (lp *loops) doacross(th *thread) bool {
	info, err := lp.field(th.addr, lp.l.Thread.Dispatch, lp.l.Disp.DoacrossInfo)
	return err == nil && info != 0
}
