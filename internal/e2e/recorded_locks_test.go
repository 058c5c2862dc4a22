package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestRecordedHolders looks at programs with the recorder whose code does not show who has the locks
// that threads wait for: the recorder knows, with and without a stop. Where somebody released a lock
// that another thread had acquired, it is not believed.
func TestRecordedHolders(t *testing.T) {
	for _, flag := range []string{"-O0", "-O2"} {
		for arg, hangs := range map[string]bool{"0": true, "1": false, "2": false} {
			for _, how := range [][]string{nil, {"--no-stop"}} {
				t.Run(flag+" "+arg+strings.Join(how, ""), func(t *testing.T) {
					t.Parallel()
					checkRecordedHolders(t, flag, arg, hangs, how)
				})
			}
		}
	}
}

func checkRecordedHolders(t *testing.T, flag, arg string, hangs bool, how []string) {
	t.Helper()
	b := omptest.Build{Program: "recorded_locks", Compiler: omptest.GCC, Flags: []string{flag, "-g"}}
	p := omptest.Start(t, omptest.Run{
		Exe: omptest.Compile(t, b), Runtime: omptest.Libgomp(t), Args: []string{arg},
		Env: []string{"LD_PRELOAD=" + omptest.Recorder(t), "OMP_WAIT_POLICY=passive"},
	})
	pic := livePicture(t, p.PID, how...)
	acquired := 0
	for _, r := range pic.Facts.Recorded {
		acquired += len(r.Held)
	}
	if want := map[string]int{"0": 3, "1": 3, "2": 1}[arg]; acquired != want {
		t.Errorf("the recorder knows of %d locks that threads have, want %d", acquired, want)
	}
	var cycles int
	for _, v := range pic.Verdicts {
		if v.Severity != picture.SeverityHang {
			continue
		}
		if !hangs || v.Kind != picture.VerdictDeadlock || v.Certainty != picture.Certain || len(v.Cycle) != 3 {
			t.Errorf("%s (%s): %s: %q", v.Kind, v.Certainty, v.Summary, v.Evidence)
		}
		for _, step := range v.Cycle {
			if strings.HasPrefix(step.HeldEvidence, "recorded: it acquired lock accounts[") {
				cycles++
			}
		}
	}
	if hangs && cycles != 3 {
		t.Errorf("%d of 3 steps are recorded", cycles)
	}
	status, out, errs := output(t, append([]string{"diagnose", strconv.Itoa(p.PID)}, how...)...)
	if want := map[bool]int{true: cli.ExitFound, false: 0}[hangs]; status != want || errs != "" {
		t.Errorf("diagnose: exit status %d, printed %q and %q", status, out, errs)
	}
}
