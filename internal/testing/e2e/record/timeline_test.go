package record

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// checkTimeline compares the timeline of lock_cycle, in a core made by abort, with the program: two threads each
// hold a lock until the end, and wait for the other's from their request on, or are just about to request it.
func checkTimeline(t *testing.T, core, exe string) {
	t.Helper()
	status, out, errs := e2e.Output(t, "report", "--json", "--exe", exe, core)
	pic := new(picture.Picture)
	if err := json.Unmarshal([]byte(out), pic); status != 0 || errs != "" || err != nil {
		t.Fatalf("report: exit status %d, printed %q: %v", status, errs, err)
	}
	line := pic.Facts.History.Timeline
	waits := 0
	for _, r := range line.Rows {
		for i, s := range r.Spans {
			if s.Begin >= s.End || i > 0 && s.Begin < r.Spans[i-1].End {
				t.Errorf("LWP %d: %+v", r.Thread, r.Spans)
			}
		}
		last := r.Spans[len(r.Spans)-1]
		what := line.Activities[last.Activity]
		if what.Kind != picture.ActivityLockWait {
			continue
		}
		waits++
		if len(r.Held) == 0 || r.Held[len(r.Held)-1].End != line.Nanoseconds || last.End != line.Nanoseconds {
			t.Errorf("LWP %d: %+v, its locks %+v", r.Thread, r.Spans, r.Held)
			continue
		}
		has := line.Activities[r.Held[len(r.Held)-1].Activity]
		named := strings.HasPrefix(what.Text, "wait for lock ") && strings.HasPrefix(has.Text, "lock ")
		if !named || what.Frame == nil || what.Frame.Line == 0 || has.Frame == nil ||
			has.Frame.Line == what.Frame.Line {
			t.Errorf("LWP %d: %+v, and has %+v", r.Thread, what, has)
		}
	}
	if waits != 2 || line.Newest <= 0 || line.Quiet != 0 {
		t.Errorf("%d threads wait for a lock: %+v", waits, line)
	}
}

// TestTimelinePresent looks at programs that write events all the time: the newest event was written during the
// look, and its time is nevertheless in the past.
func TestTimelinePresent(t *testing.T) {
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(runtime.Name, func(t *testing.T) {
			b, load := omptest.Build{Program: "healthy_busy"}, "OMP_TOOL_LIBRARIES="
			if runtime.Name == omptest.Libgomp(t).Name {
				b.Compiler, load = omptest.GCC, "LD_PRELOAD="
			}
			l := e2e.StartLoop(t, omptest.Run{Exe: omptest.Compile(t, b), Runtime: runtime,
				Env: []string{load + omptest.Recorder(t)}})
			for range 10 {
				line := e2e.ReportProcess(t, l.Process.Pid).Facts.History.Timeline
				if line == nil || line.Newest <= 0 || line.Quiet <= 0 {
					t.Errorf("the timeline is %+v", line)
				}
			}
			l.End(t)
		})
	}
}
