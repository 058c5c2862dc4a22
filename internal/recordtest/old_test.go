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
	if r.IDs != idsRegions || g.state() != waitLock || g.main[len(g.main)-1].B != second {
		t.Errorf("ids are of kind %d, the state is %#x, the last record %v", r.IDs, g.state(), g.main[len(g.main)-1])
	}
	if g.Held != 1 || g.HeldTable[0].B != first || g.Regions != 1 || g.RegionTable[0].B != region {
		t.Errorf("%d locks, first %v; %d regions, first %v", g.Held, g.HeldTable[0], g.Regions, g.RegionTable[0])
	}
	if g.Tasks != 1 || g.TaskTable[0].Parallel != region || g.ThreadID == 0 {
		t.Errorf("%d tasks, first %+v; thread %#x", g.Tasks, g.TaskTable[0], g.ThreadID)
	}
}
