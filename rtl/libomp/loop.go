package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// Values of enum sched_type in a dispatch buffer, where the runtime has already
// chosen among them.
const (
	schStaticChunked    = 33
	schStaticGreedy     = 40
	schDynamicChunked   = 35
	schTrapezoidal      = 39
	schStaticBalanced   = 41
	schGuidedIterative  = 42
	schGuidedAnalytical = 43
	schStaticSteal      = 44 // dynamic, where threads that are done take over from others
)

// scheduleNames are the standard's names of schedules.
var scheduleNames = map[uint64]string{
	schStaticChunked: "static", schStaticGreedy: "static", schStaticBalanced: "static",
	schDynamicChunked: "dynamic", schStaticSteal: "dynamic", schTrapezoidal: "trapezoidal",
	schGuidedIterative: "guided", schGuidedAnalytical: "guided",
}

// loopFields are the fields of a loop with a variable of one size.
type loopFields struct {
	lb, st, tc, chunk, lower, upper, given layout.Field
}

func (rt *runtime) loopFields(size int64) loopFields {
	p, s := &rt.l.DispPrivate, &rt.l.DispShared
	if size <= 4 {
		return loopFields{p.Lb32, p.St32, p.Tc32, p.Chunk32, p.OrderedLower32, p.OrderedUpper32, s.Given32}
	}
	return loopFields{p.Lb, p.St, p.Tc, p.Chunk64, p.OrderedLower64, p.OrderedUpper64, s.Given64}
}

// maxIterations bounds what is believed of a loop: more cannot be counted in 64
// bits with a sign.
const maxIterations = 1<<63 - 1

// Loop tells of the loop whose dispatch buffer a thread has.
func (rt *runtime) Loop(h handles.Thread) (rtl.LoopInfo, error) {
	th, err := rt.byHandle(h)
	if err != nil {
		return rtl.LoopInfo{}, err
	}
	shared, own, err := rt.dispatch(th)
	if err != nil {
		return rtl.LoopInfo{}, err
	}
	p := &rt.l.DispPrivate
	head := layout.Read(rt.mem, own, p.Schedule, p.TypeSize, p.Ordered)
	f := rt.loopFields(head.Int(p.TypeSize))
	r := layout.Read(rt.mem, own, f.lb, f.st, f.tc, f.chunk, f.lower, f.upper)
	kind, total, chunk := head.Uint(p.Schedule), r.Uint(f.tc), r.Uint(f.chunk)
	first, step := r.Int(f.lb), r.Int(f.st)
	if head.Err() != nil || r.Err() != nil {
		return rtl.LoopInfo{}, fmt.Errorf("loop of gtid %d: %w", th.gtid, callbacks.Unavailable)
	}
	info := rtl.LoopInfo{
		Schedule: scheduleNames[kind], Ordered: head.Uint(p.Ordered) != 0,
		Evidence: fmt.Sprintf("dispatch_private_info_t at %v, dispatch_shared_info_t at %v", own, shared),
	}
	if info.Schedule == "" || total == 0 || total > maxIterations || step == 0 {
		return info, fmt.Errorf("loop of gtid %d: schedule %d with %d iterations: %w", th.gtid, kind, total, callbacks.Unavailable)
	}
	at := func(i uint64) *int64 { v := first + int64(i)*step; return &v }
	info.First, info.Last, info.Step, info.Iterations = &first, at(total-1), &step, &total
	if kind != schStaticGreedy && kind != schStaticBalanced && kind != schTrapezoidal && chunk > 0 && chunk <= maxIterations {
		info.Chunk = &chunk
	}
	if lower, upper := r.Uint(f.lower), r.Uint(f.upper); info.Ordered && lower <= upper && upper < total {
		info.From, info.To = at(lower), at(upper)
	}
	info.Left = rt.left(shared, f, kind, total, chunk)
	return info, nil
}

// dispatch are the buffers of the loop that a thread is in: the team's and its own.
func (rt *runtime) dispatch(th *thread) (shared, own callbacks.Address, err error) {
	d := &rt.l.Disp
	r := layout.Read(rt.mem, th.addr, rt.l.Thread.Dispatch)
	dr := layout.Read(rt.mem, r.Address(rt.l.Thread.Dispatch), d.DispatchShCurrent, d.DispatchPrCurrent)
	shared, own = dr.Address(d.DispatchShCurrent), dr.Address(d.DispatchPrCurrent)
	if r.Err() != nil || dr.Err() != nil || shared.IsNull() || own.IsNull() {
		return shared, own, fmt.Errorf("gtid %d is in no loop: %w", th.gtid, callbacks.Unavailable)
	}
	return shared, own, nil
}

// left is how many iterations of a loop no thread has got yet; nil where threads
// have their parts from the begin on.
func (rt *runtime) left(shared callbacks.Address, f loopFields, kind, total, chunk uint64) *uint64 {
	given, err := rt.field(shared, f.given)
	if err != nil {
		return nil
	}
	switch kind {
	case schDynamicChunked:
		if chunk == 0 || given > total/chunk { // threads that found nothing were counted too
			given = total
		} else {
			given *= chunk
		}
	case schGuidedIterative:
	default:
		return nil
	}
	n := total - min(total, given)
	return &n
}
