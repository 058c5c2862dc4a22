package recordings

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// historyEach bounds the newest records of each ring that a look reads, and historyAll those
// of all together, so that no look takes more than 8 MB and some 50 ms for them. 4,096 are
// about 1,300 acquisitions of a lock by each thread: what a program does in a loop is there
// many times. `ompd-inspect trace stats` reads all.
const historyEach, historyAll = 4096, 1 << 18

// historyShown bounds what of each kind is told.
const historyShown = 8

// history tells what the newest events show. A rehearsal does so, too, to learn what their
// names need.
func (r *Reader) history(w *describer, rec *trace.Recording) *picture.History {
	past := *w
	past.rec = rec
	if r.Monotonic != nil { // the program went on while the events were read
		past.now = r.presentTicks(rec)
	}
	stats := analyze.Stats(rec, analyze.Window{Until: past.now}, r.onlyTests)
	h := &picture.History{Threads: stats.Threads, Events: stats.Events, Nanoseconds: stats.Span.Nanoseconds()}
	for _, row := range largest(stats.Rows, imbalance) {
		h.Imbalances = append(h.Imbalances, past.imbalance(&row))
	}
	for _, row := range largest(stats.Rows, contention) {
		h.Contentions = append(h.Contentions, past.contention(&row))
	}
	for _, g := range largest(stats.Grains(&rec.Clock), func(g analyze.Grain) int64 { return int64(g.Count) }) {
		h.TaskGrains = append(h.TaskGrains, picture.TaskGrain{
			Frame: past.place(g.PC), Count: g.Count, Short: g.Short, Period: g.Period.Nanoseconds(),
		})
	}
	h.LockOrders = past.lockOrders(analyze.LockOrder(rec, analyze.Window{}, analyze.Calls{Tests: r.onlyTests}))
	h.Timeline = past.timeline()
	return h
}

// largest are those of a list with the largest numbers, as many as are told: each is named, which costs more than
// to count it. One whose number is negative is none.
func largest[T any](list []T, number func(T) int64) []T {
	list = slices.DeleteFunc(slices.Clone(list), func(v T) bool { return number(v) < 0 })
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(number(b), number(a)) })
	return list[:min(len(list), historyShown)]
}

// onlyTests reports whether the call that returns to pc is one that does not wait. LLVM's
// runtime before 19 tells of it as of one that does.
func (r *Reader) onlyTests(pc uint64) bool {
	return lockCallOf(r.Code.CallTarget(pc)) == LockCallTests
}

// imbalance is how long, in nanoseconds, threads waited for the last one by a row of statistics, -1 of a row without
// barriers.
func imbalance(row analyze.Row) int64 {
	if row.Barriers == 0 {
		return -1
	}
	return max(0, row.Imbalance.Nanoseconds())
}

// contention is how long, in nanoseconds, threads waited for a lock by a row, -1 of a row of others.
func contention(row analyze.Row) int64 {
	if row.Barriers > 0 || row.What != analyze.LockWait || row.Contended == 0 {
		return -1
	}
	return max(0, row.Wait.Nanoseconds())
}

// imbalance tells of a row with barriers.
func (w *describer) imbalance(row *analyze.Row) picture.Imbalance {
	return picture.Imbalance{
		Text: w.title(row), Frame: w.place(row.PC), Count: row.Barriers, Threads: row.Threads,
		Nanoseconds: row.Elapsed.Nanoseconds(), Waited: row.Imbalance.Nanoseconds(),
		Last: int(row.Late.LWP), LastCount: row.Late.Count,
	}
}

// contention tells of a row of waits for a lock.
func (w *describer) contention(row *analyze.Row) picture.Contention {
	return picture.Contention{
		Text: w.title(row), Frame: w.place(row.PC), Count: row.Count, Contended: row.Contended, Threads: row.Threads,
		Nanoseconds: row.Elapsed.Nanoseconds(), Waited: row.Wait.Nanoseconds(), Holder: w.place(row.Holder.PC),
		Waiting: row.Waiting, Longest: row.Longest.Nanoseconds(),
	}
}

// title is what the spans of a row are called.
func (w *describer) title(row *analyze.Row) string {
	return analyze.Title(row.What, row.Kind, row.Lock, w.words)
}

// lockOrders are the cycles, those of the same code once.
func (w *describer) lockOrders(cycles []analyze.Cycle) (out []picture.LockOrder) {
	seen := map[string]int{}
	for _, c := range cycles {
		var places []string
		for i := range c {
			places = append(places, fmt.Sprint(c[i].FirstPC, c[i].SecondPC))
		}
		slices.Sort(places)
		key := fmt.Sprint(places)
		if i, ok := seen[key]; ok {
			out[i].Similar++
			continue
		}
		if len(out) == historyShown {
			continue
		}
		seen[key] = len(out)
		var o picture.LockOrder
		for i := range c {
			o.Steps = append(o.Steps, w.step(&c[i]))
		}
		out = append(out, o)
	}
	return out
}

// step is a step in words.
func (w *describer) step(s *analyze.Step) picture.LockStep {
	first, second := s.Events()
	first.Time, first.PC, second.Time, second.PC = s.FirstAt(), s.FirstPC, s.At, s.SecondPC
	out := picture.LockStep{Thread: int(s.LWP), First: w.event(&first), Second: w.event(&second)}
	out.First.Text, out.Second.Text = w.words.Mutex(&first), w.words.Mutex(&second)
	return out
}

// activitiesMax bounds the activities of a timeline: what is beyond that has no place.
const activitiesMax = 256

// timeline is what threads did in the last seconds, with the places of it.
func (w *describer) timeline() *picture.Timeline {
	now := uint64(0)
	if w.Monotonic != nil {
		now = w.now
	}
	line := analyze.NewTimeline(w.rec, now)
	if line == nil {
		return nil
	}
	clock := &w.rec.Clock
	since := func(ticks uint64) int64 { return clock.Elapsed(line.Begin, ticks).Nanoseconds() }
	out := &picture.Timeline{Nanoseconds: since(line.End), Newest: since(line.Newest), Omitted: line.Omitted}
	if now > 0 {
		out.Quiet = max(1, clock.Elapsed(line.Newest, now).Nanoseconds())
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
func (w *describer) activity(a analyze.Activity) picture.Activity {
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
