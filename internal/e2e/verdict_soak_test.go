package e2e

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// busyRuns are the ways to run a busy and healthy program: on several runtimes,
// with threads that sleep and threads that spin, and with several kinds of locks.
func busyRuns(t *testing.T) []omptest.Run {
	t.Helper()
	gnu := omptest.Compile(t, omptest.Build{Program: "healthy_busy", Compiler: omptest.GCC,
		Flags: []string{"-O2", "-g"}})
	llvm := omptest.Compile(t, omptest.Build{Program: "healthy_busy"})
	return []omptest.Run{
		{Exe: llvm, Runtime: omptest.RuntimeOf(t, 16)},
		{Exe: gnu, Runtime: omptest.Libgomp(t)},
		{Exe: llvm, Runtime: omptest.RuntimeOf(t, 19), Env: []string{"KMP_BLOCKTIME=0"}},
		{Exe: gnu, Runtime: omptest.LibgompOf(t, "trixie"),
			Env: []string{"OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=infinite"}},
		{Exe: llvm, Runtime: omptest.RuntimeOf(t, 16), Env: []string{"KMP_LOCK_KIND=tas"}},
		{Exe: llvm, Runtime: omptest.RuntimeOf(t, 16), Env: []string{"KMP_LOCK_KIND=drdpa"}},
		{Exe: gnu, Runtime: omptest.Libgomp(t), Env: []string{"GOMP_SPINCOUNT=0"}},
	}
}

// TestNoFalseAlarms looks at a healthy program again and again while it runs: there
// must be no verdict of a hang, ever, none on memory that was freed, and none on
// processors that are shared: they are not bound. `make soak` looks 1,000 times on each family
// of runtimes.
func TestNoFalseAlarms(t *testing.T) {
	runs := busyRuns(t)
	share := rounds(t, "OMPD_VERDICT_ROUNDS", 60) / len(runs)
	for i, run := range runs {
		t.Run(fmt.Sprint(i, "-", run.Runtime.Name, run.Env), func(t *testing.T) {
			l := startLoop(t, run)
			hints := 0
			for range share {
				status, pic := verdictsOf(t, strconv.Itoa(l.Process.Pid))
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
			t.Logf("%d looks, %d hints, %d iterations", share, hints, l.end(t))
		})
	}
}
