package verdicts

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestNoFalseAlarms looks at a healthy program repeatedly while it runs: there must never be a verdict of a hang,
// of freed memory, or of shared processors, as the threads are not bound. The campaign soak looks 1,000
// times on each family of runtimes.
func TestNoFalseAlarms(t *testing.T) {
	runs := e2e.BusyRuns(t)
	share := omptest.Number(t, "verdicts", 60) / len(runs)
	for i, run := range runs {
		t.Run(fmt.Sprint(i, "-", run.Runtime.Name, run.Env), func(t *testing.T) {
			l := e2e.StartLoop(t, run)
			hints := 0
			for range share {
				status, pic := e2e.Diagnose(t, strconv.Itoa(l.Process.Pid))
				for _, v := range pic.Verdicts {
					if diagnose.Hangs(v) || v.Kind == picture.VerdictLockFreed ||
						v.Kind == picture.VerdictSharedProcessor || v.Severity == picture.SeverityHang ||
						v.Severity == picture.SeverityCrash || status != cli.ExitOK {
						t.Fatalf("exit status %d, %s of a healthy program: %s\n%q\n%+v", status, v.Kind, v.Summary,
							v.Evidence, v.Cycle)
					}
					hints++
				}
			}
			t.Logf("%d looks, %d hints, %d iterations", share, hints, l.End(t))
		})
	}
}
