package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// Values of enum gomp_schedule_type.
const (
	schedDynamic = 2
	schedGuided  = 3
)

// Loop tells of the loop whose work share a thread has. A work share is not told
// from one that is over but by the iterations that it has left, so a loop whose
// iterations are all given out is not seen. Sections have the work share of a
// dynamic loop over their numbers, from 1 in chunks of 1: where it may be either,
// both are told.
func (rt *runtime) Loop(h handles.Thread) (rtl.LoopInfo, error) {
	th, err := rt.byHandle(h)
	if err != nil {
		return rtl.LoopInfo{}, err
	}
	ws, f := th.rec.Address(rt.l.Thread.WorkShare), &rt.l.WorkShare
	if th.rec.Err() != nil || ws.IsNull() {
		return rtl.LoopInfo{}, fmt.Errorf("the thread is in no loop: %w", callbacks.Unavailable)
	}
	r := layout.Read(rt.mem, ws, f.Sched, f.ChunkSize, f.End, f.Incr, f.Next)
	kind, chunk, end, step, next := r.Uint(f.Sched)&^schedMonotonic, r.Int(f.ChunkSize), r.Int(f.End), r.Int(f.Incr), r.Int(f.Next)
	if err := r.Err(); err != nil {
		return rtl.LoopInfo{}, err
	}
	info := rtl.LoopInfo{Evidence: fmt.Sprintf("gomp_work_share at %v", ws)}
	switch {
	case kind == schedDynamic && step != 0 && chunk%step == 0: // chunk_size is that of the values
		info.Schedule, chunk = "dynamic", chunk/step
	case kind == schedGuided:
		info.Schedule = "guided"
	}
	if info.Schedule == "dynamic" && chunk == 1 && step == 1 && next >= 1 {
		info.Schedule = "dynamic or sections"
	}
	left, ok := steps(next, end, step)
	if info.Schedule == "" || chunk <= 0 || !ok {
		return info, fmt.Errorf("work share at %v has no iterations left: %w", ws, callbacks.Unavailable)
	}
	size, last := uint64(chunk), next+int64(left-1)*step
	info.Chunk, info.Last, info.Step, info.Left = &size, &last, &step, &left
	return info, nil
}

// steps is how many values there are from next to before end.
func steps(next, end, step int64) (n uint64, ok bool) {
	switch {
	case step > 0 && next < end:
		return (uint64(end) - uint64(next) + uint64(step) - 1) / uint64(step), true
	case step < 0 && next > end:
		return (uint64(next) - uint64(end) + uint64(-step) - 1) / uint64(-step), true
	}
	return 0, false
}
