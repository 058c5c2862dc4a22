package recordtest

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// TestOMPT2013 runs a runtime that knows only the draft of 2013: it calls ompt_initialize,
// and its events are recorded as those of today.
func TestOMPT2013(t *testing.T) {
	exe := build(t, "gcc", "runtime2013.c", "-rdynamic")
	p := run(t, omptest.Runtime{Name: "of 2013"}, exe, "LD_PRELOAD="+omptest.Recorder(t))
	r := readRecording(t, p.Process.Pid)
	const idsRegions, waitLock, region, first, second = 3, 0x41, 4711, 0x1000, 0x2000
	g := r.of(t, p.Process.Pid)
	if r.IDs != idsRegions || g.State != waitLock || g.last().Lock() != second {
		t.Errorf("ids are of kind %d, the state is %#x, the last event %s", r.IDs, g.State, short(g.last()))
	}
	if len(g.Held) != 1 || g.Held[0].Lock() != first || len(g.Forked) != 1 || g.Forked[0].Region != region {
		t.Errorf("locks %v; regions %v", g.Held, g.Forked)
	}
	if len(g.Tasks) != 1 || g.Tasks[0].Region != region || g.ID == 0 {
		t.Errorf("tasks %+v; thread %#x", g.Tasks, g.ID)
	}
}
