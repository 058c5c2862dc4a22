package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// activitiesMax bounds the activities of a timeline: what is beyond that has no place.
const activitiesMax = 256

// timeline is what threads did in the last seconds, with the places of it.
func (w *recordedWords) timeline() *picture.Timeline {
	now := uint64(0)
	if w.monotonic != nil {
		now = w.now
	}
	line := analyze.NewTimeline(w.rec, now)
	if line == nil {
		return nil
	}
	clock := &w.rec.Clock
	since := func(ticks uint64) int64 { return clock.Between(line.Begin, ticks).Nanoseconds() }
	out := &picture.Timeline{Nanoseconds: since(line.End), Newest: since(line.Newest), Omitted: line.Omitted}
	if now > 0 {
		out.Quiet = max(1, clock.Between(line.Newest, now).Nanoseconds())
	}
	at := map[analyze.Activity]int{}
	spans := func(list []analyze.Stretch) (all []picture.TimelineSpan) {
		for _, s := range list {
			if _, known := at[s.Activity]; !known && len(at) >= activitiesMax {
				s.PC, s.Lock = 0, 0
			}
			i, known := at[s.Activity]
			if !known {
				i = len(out.Activities)
				at[s.Activity] = i
				out.Activities = append(out.Activities, w.activity(s.Activity))
			}
			all = append(all, picture.TimelineSpan{
				Begin: since(s.Begin), End: since(s.End), Activity: i, Merged: s.Merged,
			})
		}
		return all
	}
	for i := range line.Rows {
		r := &line.Rows[i]
		out.Rows = append(out.Rows, picture.TimelineRow{
			Thread: int(r.LWP), Begin: since(r.Begin), End: since(r.End), Spans: spans(r.Spans), Held: spans(r.Held),
		})
	}
	return out
}

// activity is an activity in words.
func (w *recordedWords) activity(a analyze.Activity) picture.Activity {
	out := picture.Activity{
		Kind: picture.ActivityWork, Text: analyze.Title(a.What, a.Kind, a.Lock, w.words), Frame: w.place(a.PC),
	}
	switch a.What {
	case analyze.Task:
		out.Kind = picture.ActivityTask
	case analyze.Sync:
		if out.Kind = picture.ActivityBarrier; !analyze.IsBarrier(a.Kind) {
			out.Kind = picture.ActivityTaskWait
		}
	case analyze.LockWait:
		out.Kind = picture.ActivityLockWait
	case analyze.LockHeld:
		out.Kind = picture.ActivityLock
	case analyze.Device, analyze.DataOperation, analyze.Kernel:
		out.Kind = picture.ActivityDevice
	case analyze.Idle:
		out.Kind = picture.ActivityIdle
	}
	return out
}
