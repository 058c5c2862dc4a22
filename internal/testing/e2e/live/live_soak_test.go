package live

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestForkLoopUnderLooks looks at a busy program repeatedly. All its sums must be right, and it must make
// progress.
func TestForkLoopUnderLooks(t *testing.T) {
	n := omptest.Number(t, "looks", 300)
	for i, major := range liveRuntimes {
		t.Run(fmt.Sprintf("libomp-%d", major), func(t *testing.T) {
			l := e2e.StartLoop(t, loopOn(t, major))
			share := (n + i) / len(liveRuntimes)
			longest := int64(0)
			for range share {
				pic := verbPicture(t, "threads", l.Process.Pid)
				longest = max(longest, pic.Target.Pause.Microseconds)
				checkMoment(t, pic, map[string]int{}, true)
				if t.Failed() {
					break
				}
			}
			t.Logf("%d rounds, %d iterations, longest stop %d µs", share, l.End(t), longest)
		})
	}
}

// verbPicture returns the picture that a verb prints of a process.
func verbPicture(t testing.TB, verb string, pid int) *picture.Picture {
	t.Helper()
	status, out, errs := e2e.Output(t, verb, "--json", strconv.Itoa(pid))
	if status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	return e2e.Decode(t, out)
}

// TestForkLoopUnderKilledLooks kills the tool at various moments. The program continues each time, and its sums
// are right in the end.
func TestForkLoopUnderKilledLooks(t *testing.T) {
	n := omptest.Number(t, "kills", 60)
	l := e2e.StartLoop(t, loopOn(t, 16))
	pid := l.Process.Pid
	whole := lifetime(t, pid)
	rng := rand.New(rand.NewPCG(1, uint64(pid)))
	killed := 0
	for range n {
		cmd, start := e2e.Process("--json", strconv.Itoa(pid)), time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(rng.Int64N(int64(whole))), func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			killed++
		} else {
			whole = min(whole, time.Since(start)) // the machine was busier before
		}
		timer.Stop()
		checkRuns(t, pid)
	}
	if killed < n/5 {
		t.Errorf("only %d of %d were killed before they were done", killed, n)
	}
	t.Logf("%d of %d killed within %v, %d iterations", killed, n, whole, l.End(t))
}

// lifetime returns the shortest run time of the tool on a process, of a few runs.
func lifetime(t *testing.T, pid int) time.Duration {
	t.Helper()
	best := time.Hour
	for range 5 {
		start := time.Now()
		if out, err := e2e.Process("--json", strconv.Itoa(pid)).Output(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		best = min(best, time.Since(start))
	}
	return best
}

// checkRuns proves that no thread of a process is stopped or held. The kernel releases the threads while it tears
// down the killed tool; that is finished when the parent has the tool's status.
func checkRuns(t *testing.T, pid int) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, task.Name()))
		if err != nil {
			continue // it has ended
		}
		status := string(b)
		if !strings.Contains(status, "TracerPid:\t0\n") || strings.Contains(status, "State:\tt") ||
			strings.Contains(status, "State:\tT") {
			t.Fatalf("thread %s after the tool was killed:\n%.200s", task.Name(), status)
		}
	}
}
