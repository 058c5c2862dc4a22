package record

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestRecordedHolders looks at programs with the recorder: their code does not show the holders of the locks that
// threads wait for: the record does. If a thread released a lock that another thread had acquired, the record is
// not used.
func TestRecordedHolders(t *testing.T) {
	gcc := omptest.Build{Program: "recorded_locks", Compiler: omptest.GCC}
	for _, on := range []omptest.Runtime{omptest.Libgomp(t), omptest.RuntimeOf(t, 14), omptest.RuntimeOf(t, 19)} {
		b, load := omptest.Build{Program: "recorded_locks"}, "OMP_TOOL_LIBRARIES="
		ways := [][]string{nil} // a thread that waits in LLVM's runtime runs: without a stop its stack is not read
		if on.Name == omptest.Libgomp(t).Name {
			b, load = gcc, "LD_PRELOAD="
			ways = append(ways, []string{"--no-stop"})
		}
		for _, flag := range []string{"-O0", "-O2"} {
			b.Flags = []string{flag, "-g"}
			for arg := range recordedHolders {
				for _, how := range ways {
					run := omptest.Run{
						Exe: omptest.Compile(t, b), Runtime: on, Args: []string{arg},
						Env: []string{load + omptest.Recorder(t), "OMP_WAIT_POLICY=passive"},
					}
					t.Run(on.Name+" "+flag+" "+arg+strings.Join(how, ""), func(t *testing.T) {
						t.Parallel()
						checkRecordedHolders(t, run, how)
					})
				}
			}
		}
	}
}

// recordedHolders has, by the program's argument, the number of locks with events of their threads, the steps of
// the deadlock (0: it does not hang), and the number of recorded steps.
var recordedHolders = map[string]struct{ acquired, steps, recorded int }{
	"0": {3, 3, 3}, "1": {3, 0, 0}, "2": {1, 0, 0}, "3": {1, 2, 1}, "4": {1, 0, 0},
}

func checkRecordedHolders(t *testing.T, run omptest.Run, how []string) {
	t.Helper()
	want := recordedHolders[run.Args[0]]
	p := omptest.Start(t, run)
	pic := e2e.ReportProcess(t, p.PID, how...)
	acquired := 0
	for _, r := range pic.Facts.Recorded {
		acquired += len(r.Held)
	}
	if run.Args[0] == "2" && run.Runtime.Name != omptest.Libgomp(t).Name {
		acquired-- // calls of the runtime that bypass the interposed functions are recorded, too
	}
	if acquired != want.acquired {
		t.Errorf("the recorder knows of %d locks that threads have, want %d", acquired, want.acquired)
	}
	var steps int
	for _, v := range pic.Verdicts {
		if v.Severity != picture.SeverityHang {
			continue
		}
		if want.steps == 0 || v.Kind != picture.VerdictBarrierMissing && v.Kind != picture.VerdictDeadlock ||
			v.Certainty != picture.Certain || v.Kind == picture.VerdictDeadlock && len(v.Cycle) != want.steps {
			t.Errorf("%s (%s): %s: %q", v.Kind, v.Certainty, v.Summary, v.Evidence)
		}
		for _, step := range v.Cycle {
			if strings.HasPrefix(step.HeldEvidence, "recorded: it acquired lock ") {
				steps++
			}
		}
	}
	if steps != want.recorded {
		t.Errorf("%d steps are recorded, want %d", steps, want.recorded)
	}
	status, out, errs := e2e.Output(t, append([]string{"diagnose", strconv.Itoa(p.PID)}, how...)...)
	if exit := map[bool]int{true: cli.ExitFound, false: 0}[want.steps > 0]; status != exit || errs != "" {
		t.Errorf("diagnose: exit status %d, printed %q and %q", status, out, errs)
	}
}
