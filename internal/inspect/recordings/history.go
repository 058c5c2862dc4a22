package recordings

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// historyEach bounds the newest records of each ring that a snapshot reads, and historyAll the records of all
// rings: together at most 8 MB and about 50 ms. 4,096 records are about 1,300 acquisitions of a lock by each
// thread, so they contain the work of a loop many times. `ompd-inspect trace stats` reads all records.
const historyEach, historyAll = 4096, 1 << 18

// historyShown bounds the shown entries of each kind.
const historyShown = 8

// history summarizes the newest events. A rehearsal calls it, too, to learn the memory that their names need.
func (r *Reader) history(w *describer, rec *trace.Recording) *picture.History {
	past := *w
	past.rec = rec
	if r.Monotonic != nil { // the program continued while the events were read
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

// largest returns the shown number of entries with the largest numbers. Naming an entry costs more than counting
// it. An entry with a negative number is left out.
func largest[T any](list []T, number func(T) int64) []T {
	list = slices.DeleteFunc(slices.Clone(list), func(v T) bool { return number(v) < 0 })
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(number(b), number(a)) })
	return list[:min(len(list), historyShown)]
}

// onlyTests reports whether the call that returns to pc does not wait. LLVM's runtime before 19 reports it like a
// call that waits.
func (r *Reader) onlyTests(pc uint64) bool {
	return lockCallOf(r.Code.CallTarget(pc)) == LockCallTests
}

// imbalance returns the time, in nanoseconds, for which threads waited for the last one in a row of statistics, -1
// for a row without barriers.
func imbalance(row analyze.Row) int64 {
	if row.Barriers == 0 {
		return -1
	}
	return max(0, row.Imbalance.Nanoseconds())
}

// contention returns the time, in nanoseconds, for which threads waited for a lock in a row, -1 for a row about
// something else.
func contention(row analyze.Row) int64 {
	if row.Barriers > 0 || row.What != analyze.LockWait || row.Contended == 0 {
		return -1
	}
	return max(0, row.Wait.Nanoseconds())
}

// imbalance describes a row with barriers.
func (w *describer) imbalance(row *analyze.Row) picture.Imbalance {
	return picture.Imbalance{
		Text: w.title(row), Frame: w.place(row.PC), Count: row.Barriers, Threads: row.Threads,
		Nanoseconds: row.Elapsed.Nanoseconds(), Waited: row.Imbalance.Nanoseconds(),
		Last: int(row.Late.LWP), LastCount: row.Late.Count,
	}
}

// contention describes a row of waits for a lock.
func (w *describer) contention(row *analyze.Row) picture.Contention {
	return picture.Contention{
		Text: w.title(row), Frame: w.place(row.PC), Count: row.Count, Contended: row.Contended, Threads: row.Threads,
		Nanoseconds: row.Elapsed.Nanoseconds(), Waited: row.Wait.Nanoseconds(), Holder: w.place(row.Holder.PC),
		Waiting: row.Waiting, Longest: row.Longest.Nanoseconds(),
	}
}

// title returns the title of the spans of a row.
func (w *describer) title(row *analyze.Row) string {
	return analyze.Title(row.What, row.Kind, row.Lock, w.words)
}

// lockOrders describes cycles, those of the same code once.
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

// step describes a step of a cycle.
func (w *describer) step(s *analyze.Step) picture.LockStep {
	first, second := s.Events()
	first.Time, first.PC, second.Time, second.PC = s.FirstAt(), s.FirstPC, s.At, s.SecondPC
	out := picture.LockStep{Thread: int(s.LWP), First: w.event(&first), Second: w.event(&second)}
	out.First.Text, out.Second.Text = w.words.Mutex(&first), w.words.Mutex(&second)
	return out
}

// activitiesMax bounds the activities of a timeline; further activities have no place.
const activitiesMax = 256

// timeline returns the activities of threads in the last seconds, with their places.
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

// activity describes an activity.
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
