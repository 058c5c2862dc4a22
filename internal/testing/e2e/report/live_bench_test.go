package report

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// looksPerAttach is the number of pauses measured for each attach of gdb, which takes that many times longer.
const looksPerAttach = 20

// BenchmarkPause measures the time for which a process is stopped during a whole report (all stops of a look
// together), and during gdb's attach and detach of the same process, in microseconds. The team computes and
// waits, or hangs: one thread holds a critical section at a barrier.
func BenchmarkPause(b *testing.B) {
	sizes := []int{4, 64, 256}
	b.Run("team", func(b *testing.B) { eachRuntime(b, sizes, measurePause) })
	b.Run("hang", func(b *testing.B) { eachTeam(b, "verdict_critical_barrier", sizes, measurePause, "1") })
}

func measurePause(b *testing.B, r omptest.Run) {
	p := omptest.Start(b, r)
	var ours, gdbs []time.Duration
	for b.Loop() {
		for range looksPerAttach {
			pause := e2e.ReportProcess(b, p.PID).Target.Pause
			ours = append(ours, time.Duration(pause.Microseconds)*time.Microsecond)
		}
		gdbs = append(gdbs, standstill(b, p.PID, "gdb", "-nx", "-batch", "-p", strconv.Itoa(p.PID), "-ex", "detach"))
	}
	reportSpread(b, "ours", ours)
	reportSpread(b, "gdb", gdbs)
}

// reportSpread reports the median, the 90th and 99th percentiles, and the maximum.
func reportSpread(b *testing.B, whose string, d []time.Duration) {
	b.Helper()
	slices.Sort(d)
	b.ReportMetric(float64(d[len(d)/2].Microseconds()), "µs-median/"+whose)
	b.ReportMetric(float64(d[len(d)*90/100].Microseconds()), "µs-p90/"+whose)
	b.ReportMetric(float64(d[len(d)*99/100].Microseconds()), "µs-p99/"+whose)
	b.ReportMetric(float64(d[len(d)-1].Microseconds()), "µs-max/"+whose)
}

// standstill runs a debugger on a process, and measures from outside how long the process was stopped.
func standstill(b *testing.B, pid int, debugger ...string) time.Duration {
	b.Helper()
	cmd := exec.Command(debugger[0], debugger[1:]...)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var first, last time.Time
	for {
		select {
		case err := <-ended:
			if err != nil || first.IsZero() {
				b.Fatalf("%v: %v, held the process: %v", debugger, err, !first.IsZero())
			}
			return last.Sub(first)
		case <-time.After(50 * time.Microsecond):
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			b.Fatal(err)
		}
		if !bytes.Contains(status, []byte("State:\tt")) {
			continue
		}
		if last = time.Now(); first.IsZero() {
			first = last
		}
	}
}

// BenchmarkLiveAgainstGDB times the whole process against gdb's attach, bare
// backtrace and detach of the same program, in turn: median and 99th percentile of
// each, in microseconds, and the ratios.
func BenchmarkLiveAgainstGDB(b *testing.B) {
	bin := e2e.BuildTool(b)
	eachRuntime(b, []int{4, 64, 256}, func(b *testing.B, r omptest.Run) {
		pid := strconv.Itoa(omptest.Start(b, r).PID)
		var ours, gdbs costs
		for b.Loop() {
			ours.add(b, bin, pid)
			gdbs.add(b, "gdb", "-nx", "-batch", "-p", pid, "-ex", "thread apply all bt")
		}
		compare(b, ours, gdbs)
	})
}
