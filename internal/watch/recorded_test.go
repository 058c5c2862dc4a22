package watch

import (
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestRecorded counts the records of threads between looks, and over all looks. A thread that is new has no
// count, and a program without the recorder has no counts.
func TestRecorded(t *testing.T) {
	look := func(counts map[int]int64) (total []picture.Use, _ *picture.Trace) {
		trace := &picture.Trace{Threads: map[int]picture.ThreadTrace{}}
		for lwp, n := range counts {
			total = append(total, picture.Use{LWP: lwp, Records: n})
			trace.Threads[lwp] = waiting
		}
		return total, trace
	}
	var s Series
	start := time.Now()
	for i, counts := range []map[int]int64{{1: 100, 2: 7}, {1: 1100, 2: 7, 3: 50}, {1: 1100, 2: 7, 3: 450}} {
		total, trace := look(counts)
		s.Look(&picture.Picture{}, trace, start.Add(time.Duration(i)*2*time.Second), total)
		s.Conclude()
	}
	first, last, all := s.changes[0].Recorded, s.Last().Change, s.Last().Result
	right := *first == picture.RecordedChange{Records: 1000, PerSecond: 500} &&
		*last.Recorded == picture.RecordedChange{Records: 400, PerSecond: 200}
	if !right || *all.Recorded != (picture.RecordedChange{Records: 1000, PerSecond: 250}) {
		t.Errorf("%+v, %+v, %+v", first, last.Recorded, all.Recorded)
	}
	for _, th := range last.Threads {
		if want := map[int]int64{3: 400}[th.LWP]; th.Records != want {
			t.Errorf("LWP %d has %d records, want %d", th.LWP, th.Records, want)
		}
	}
	checkSteps(t)
	var without Series
	for range 2 {
		_, trace := look(map[int]int64{1: 5})
		without.Look(&picture.Picture{}, trace, start, nil)
	}
	if r := without.Last().Change.Recorded; r != nil {
		t.Errorf("%+v without a recorder", r)
	}
}

// checkSteps checks that only events that show progress count as movement.
func checkSteps(t *testing.T) {
	t.Helper()
	var s Series
	for i := range 3 {
		trace := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: waiting}}
		total := []picture.Use{{LWP: 1, Records: int64(10 + 5*i), Step: []uint64{7, 7, 9}[i]}}
		s.Look(&picture.Picture{}, trace, time.Now().Add(time.Duration(i)*time.Second), total)
		s.Rest(total)
	}
	if first, last := s.changes[0], s.changes[1]; first.Verdict != picture.WatchStuck ||
		last.Verdict != picture.WatchProgress ||
		last.Threads[0].Activity != picture.ActivityMoved || last.Reason != "1 thread made progress: events of 1" {
		t.Errorf("%+v, then %+v", first, last)
	}
}
