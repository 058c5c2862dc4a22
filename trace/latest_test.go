package trace_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/tracetest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestLatest copies the newest records of a ring that a thread still writes. Older ones are skipped, or lost if
// they are overwritten; each is counted once.
func TestLatest(t *testing.T) {
	m := tracetest.New(1, 12)
	reader, err := trace.Open(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	written := uint64(0)
	for _, step := range []struct{ write, most, read, passed, lost uint64 }{
		{write: 5, most: 10, read: 5},
		{write: 100, most: 10, read: 10, passed: 90},
		{write: 0, most: 10},
		{write: 5000, most: 10, read: 10, passed: 4086, lost: 904},
		{write: 7, most: 0, passed: 7},
		{write: 4097, most: 5000, read: 4096, lost: 1},
	} {
		for range step.write {
			m.Put(0, tracetest.Record{Time: 1 + written, Code: 27, A: 0x401000, B: written})
			written++
		}
		rec, err := reader.Latest(step.most)
		if err != nil {
			t.Fatal(err)
		}
		run := rec.Threads[0].Main
		if uint64(run.Len()) != step.read || run.Passed != step.passed || run.Lost != step.lost || run.Damaged != 0 {
			t.Errorf("after %d records more: %d read, %d passed, %d lost, %d damaged, want %+v",
				step.write, run.Len(), run.Passed, run.Lost, run.Damaged, step)
		}
		if e, ok := run.Back(1); step.read > 0 && (!ok || e.B != written-1) {
			t.Errorf("the newest event is %d, want %d", e.B, written-1)
		}
	}
}
