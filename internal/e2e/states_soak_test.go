package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// recordedRuns are busyRuns with the recorder.
func recordedRuns(t *testing.T) []omptest.Run {
	t.Helper()
	runs := busyRuns(t)
	for i := range runs {
		load := "OMP_TOOL_LIBRARIES="
		if strings.HasPrefix(runs[i].Runtime.Name, "libgomp") {
			load = "LD_PRELOAD="
		}
		runs[i].Env = append(slices.Clone(runs[i].Env), load+omptest.Recorder(t))
	}
	return runs
}

// TestRecordedStates looks at busy programs with the recorder, and holds the states that are
// inferred against those to which the threads' own events lead. Both are of one moment; a thread
// between an event and what it tells of may be in either state, which is rare. `make
// soak-states` looks 100,000 times.
func TestRecordedStates(t *testing.T) {
	runs := recordedRuns(t)
	share := rounds(t, "OMPD_STATE_ROUNDS", 42) / len(runs)
	for i, run := range runs {
		t.Run(fmt.Sprint(i, "-", run.Runtime.Name), func(t *testing.T) {
			l := startLoop(t, run)
			states, disputed := 0, 0
			for range share {
				pic := verbPicture(t, "report", l.Process.Pid)
				for _, v := range pic.Verdicts {
					if diagnose.Hangs(v) {
						t.Fatalf("%s of a healthy program: %s\n%q\n%+v", v.Kind, v.Summary, v.Evidence, v.Cycle)
					}
				}
				for _, th := range pic.Threads {
					if th.State == nil || th.State.Recorded == "" {
						continue
					}
					if states++; th.State.Disputed() {
						disputed++
						t.Logf("%s; the stack is %q", inBrief(&th), innermost(&th))
					}
				}
			}
			const transitions = 2 // of a short run
			if states < share || disputed*1000 > states+transitions*1000 {
				t.Errorf("of %d states, %d are not those that were recorded", states, disputed)
			}
			t.Logf("%d states in %d looks, %d other ones recorded; %d iterations", states, share, disputed, l.end(t))
		})
	}
}

// inBrief says the states of a thread.
func inBrief(th *picture.Thread) string {
	return fmt.Sprintf("%s by %s, and %s was recorded", th.State.Name, th.State.Evidence, th.State.Recorded)
}

// innermost are the functions that a thread is in.
func innermost(th *picture.Thread) (names []string) {
	for _, f := range th.Stack[:min(4, len(th.Stack))] {
		names = append(names, f.Function+" ("+f.Module+")")
	}
	return names
}
