package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Values of enum gomp_schedule_type.
const (
	schedStatic  = 1
	schedDynamic = 2
	schedGuided  = 3
)

// scheduleNames maps schedules to the standard's names. The runtime replaces auto by static.
var scheduleNames = map[uint64]string{schedStatic: "static", schedDynamic: "dynamic", schedGuided: "guided"}

// workShare is a copy of a work share: the remaining part of a loop, or of sections.
type workShare struct {
	schedule        string
	chunk           int64 // in values; 0 if the values are divided evenly
	end, step, next int64
	left            uint64
	some            bool // iterations are left
}

// Reasons why a thread has no loop, as most threads.
var (
	errNoLoop   = fmt.Errorf("the thread is in no loop: %w", callbacks.Unavailable)
	errLoopOver = fmt.Errorf("the thread's work share has no iterations left: %w", callbacks.Unavailable)
)

// Loop describes the loop, or the sections, of a thread's work share. A work share alone does not show whether
// it is over, except by its remaining part. It does not distinguish loops from sections either: sections are a
// dynamic loop over their numbers, from 1 in chunks of 1. The code decides.
func (ls *loops) Loop(h handles.Thread, code *rtl.LoopCode) (rtl.LoopInfo, error) {
	th, err := ls.threads.byHandle(h)
	if err != nil {
		return rtl.LoopInfo{}, err
	}
	ws := th.rec.Address(ls.l.Thread.WorkShare)
	if th.rec.Err() != nil || ws.IsNull() {
		return rtl.LoopInfo{}, errNoLoop
	}
	s, err := ls.workShare(ws)
	if err != nil {
		return rtl.LoopInfo{}, err
	}
	if s.schedule == "" || s.step == 0 || code == nil && (!s.some || s.schedule == "static") {
		return rtl.LoopInfo{Schedule: s.schedule}, errLoopOver
	}
	info := rtl.LoopInfo{Schedule: s.schedule, Evidence: fmt.Sprintf("gomp_work_share at %v", ws)}
	size, step := uint64(s.chunk), s.step
	info.Step = &step
	if s.chunk > 0 {
		info.Chunk = &size
	}
	if s.schedule == "static" { // values are not assigned dynamically: next is the first value
		info.First, info.Iterations = &s.next, &s.left
	} else {
		info.Left = &s.left
	}
	if from, to := code.Range(step); from != nil && s.contains(*from) && s.contains(*to) {
		info.From, info.To = from, to
	}
	info.Last = s.lastValue(info.From)
	switch {
	case code == nil && s.schedule == "dynamic" && s.chunk == 1 && step == 1 && s.next >= 1:
		info.Schedule = "dynamic or sections"
	case code == nil:
	case code.Call.Kind == rtl.LoopSections:
		info.Schedule, info.Evidence = "sections", rtl.JoinEvidence(info.Evidence, code.Evidence())
	default:
		info.Ordered = code.Ordered
		info.Evidence = rtl.JoinEvidence(info.Evidence, code.Evidence())
	}
	return info, nil
}

// contains reports whether v may be a value of the loop: it is before the end, and a whole number of steps from
// the next value.
func (s *workShare) contains(v int64) bool {
	_, ok := countSteps(v, s.end, s.step)
	return ok && (!s.some || (v-s.next)%s.step == 0)
}

// lastValue returns the last value of the loop; nil if no values are left and no value is known.
func (s *workShare) lastValue(one *int64) *int64 {
	from := s.next
	if !s.some {
		if one == nil {
			return nil
		}
		from = *one
	}
	n, ok := countSteps(from, s.end, s.step)
	if !ok {
		return nil
	}
	v := from + int64(n-1)*s.step
	return &v
}

// workShare reads the work share at ws.
func (ls *loops) workShare(ws callbacks.Address) (workShare, error) {
	f := &ls.l.WorkShare
	r := layout.Read(ls.mem, ws, f.Sched, f.ChunkSize, f.End, f.Incr, f.Next)
	s := workShare{chunk: r.Int(f.ChunkSize), end: r.Int(f.End), step: r.Int(f.Incr), next: r.Int(f.Next)}
	kind := r.Uint(f.Sched) &^ schedMonotonic
	s.schedule = scheduleNames[kind]
	if kind == schedDynamic { // the chunk is multiplied by the step
		if s.step == 0 || s.chunk%s.step != 0 {
			s.schedule = ""
		} else {
			s.chunk /= s.step
		}
	}
	if s.chunk < 0 || s.chunk == 0 && s.schedule != "static" {
		s.schedule = ""
	}
	s.left, s.some = countSteps(s.next, s.end, s.step)
	return s, r.Err()
}

// countSteps returns the number of values from next to before end.
func countSteps(next, end, step int64) (n uint64, ok bool) {
	switch {
	case step > 0 && next < end:
		return (uint64(end) - uint64(next) + uint64(step) - 1) / uint64(step), true
	case step < 0 && next > end:
		return (uint64(next) - uint64(end) + uint64(-step) - 1) / uint64(-step), true
	}
	return 0, false
}
