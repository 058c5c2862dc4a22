package verdicts

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestRunCrashes runs programs that die and compares the report with the verdict on their cores. It omits
// programs with threads that wait in unmapped memory, as these die of another signal as soon as they are stopped.
func TestRunCrashes(t *testing.T) {
	for _, l := range e2e.Lanes() {
		if l.Mode != omptest.Live {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			for _, e := range expectations() {
				if !e.crash || !e.holdsIn(l) || !l.Turn(e.program) || e.kind == picture.VerdictLockFreed {
					continue
				}
				t.Run(e.program, func(t *testing.T) {
					r := l.Run(t, e.inLane())
					r.Mode = omptest.Kernel
					dir := t.TempDir()
					status, pic := e2e.ReportOfRun(t, r.CommandLine(dir))
					if want := cli.ExitSignal + int(unix.SignalNum(pic.Target.Signal)); status != want ||
						want == cli.ExitSignal {
						t.Errorf("exit status %d after %s", status, pic.Target.Signal)
					}
					diagnosed := cli.ExitOK // the status of diagnose
					if slices.ContainsFunc(pic.Verdicts, diagnose.Crashes) {
						diagnosed = cli.ExitCrash
					}
					e.judge(t, l, diagnosed, pic, "of run")
				})
			}
		})
	}
}

// TestRunHangs runs programs that hang, by themselves and as children of a shell.
func TestRunHangs(t *testing.T) {
	for _, l := range e2e.Lanes() {
		if l.Mode != omptest.Live {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			for _, e := range expectations() {
				if !e.holdsIn(l) || !l.Turn(e.program) ||
					!slices.Contains([]string{"lock_cycle", "verdict_self_lock", "verdict_task_lock"}, e.program) {
					continue
				}
				t.Run(e.program, func(t *testing.T) {
					argv := l.Run(t, e.inLane()).CommandLine(t.TempDir())
					if e.program == "lock_cycle" {
						argv = append([]string{"sh", "-c", `"$@"; exit 0`, "sh"}, argv...)
					}
					argv[slices.Index(argv, string(omptest.Live))] = "wait"
					status, pic := e2e.ReportOfRun(t, argv, "--hang-after", "1s")
					if status != cli.ExitHang {
						t.Errorf("exit status %d, want %d", status, cli.ExitHang)
					}
					e.judge(t, l, cli.ExitFound, pic, "of run")
				})
			}
		})
	}
}

// TestRunSpinsOnLocalVariable runs a program that spins on a variable of its own thread: nothing outside of it can end
// that.
func TestRunSpinsOnLocalVariable(t *testing.T) {
	for i, run := range handoverRuns(t, "verdict_spin_local", "0") {
		t.Run(handoverName(i, run), func(t *testing.T) {
			argv := run.CommandLine(t.TempDir())
			argv[slices.Index(argv, string(omptest.Live))] = "wait"
			argv = slices.Insert(argv, slices.Index(argv, run.Exe), "OMPD_READY_FD=9") // which the test does not read
			argv = append([]string{"sh", "-c", `exec "$@" 9>/dev/null`, "sh"}, argv...)
			status, pic := e2e.ReportOfRun(t, argv, "--hang-after", "1s")
			if status != cli.ExitHang || len(pic.Verdicts) == 0 || pic.Verdicts[0].Kind != picture.VerdictSpinning {
				t.Fatalf("exit status %d, verdicts %+v", status, pic.Verdicts)
			}
			if s := pic.Target.Pause.Standstill; s == nil || len(s.Spinning) == 0 || s.WaitsOutside {
				t.Errorf("standstill %+v, want threads that spin, and no wait for another process", s)
			}
		})
	}
}
