package main

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// waitingTeam starts a program with a team of that many threads, all but one of
// which wait at a barrier.
func waitingTeam(b *testing.B, threads int) *omptest.Process {
	b.Helper()
	return omptest.Start(b, omptest.Run{
		Exe: omptest.Compile(b, omptest.Build{Program: "many"}), Runtime: omptest.RuntimeOf(b, 16),
		Args: []string{strconv.Itoa(threads)}, Mode: omptest.Live,
	})
}

// BenchmarkPause is how long a process stands still for a whole report: the
// median and the 99th percentile of all stops of a look together.
func BenchmarkPause(b *testing.B) {
	for _, threads := range []int{4, 64, 256} {
		b.Run(strconv.Itoa(threads), func(b *testing.B) {
			p := waitingTeam(b, threads)
			var pauses []int64
			for b.Loop() {
				pauses = append(pauses, livePicture(b, p.PID).Target.Pause.Microseconds)
			}
			slices.Sort(pauses)
			b.ReportMetric(float64(pauses[len(pauses)/2]), "µs/median")
			b.ReportMetric(float64(pauses[len(pauses)*99/100]), "µs/p99")
		})
	}
}

// BenchmarkLiveAgainstGDB times the whole process against gdb's attach, bare
// backtrace and detach of the same program, in turn, and reports the ratio.
func BenchmarkLiveAgainstGDB(b *testing.B) {
	bin := buildTool(b)
	for _, threads := range []int{4, 64, 256} {
		b.Run(strconv.Itoa(threads), func(b *testing.B) {
			p := waitingTeam(b, threads)
			pid := strconv.Itoa(p.PID)
			var ours, gdbs time.Duration
			for b.Loop() {
				ours += timed(b, bin, pid)
				gdbs += timed(b, "gdb", "-nx", "-batch", "-p", pid, "-ex", "thread apply all bt")
			}
			b.ReportMetric(float64(ours.Microseconds())/float64(b.N)/1000, "ms/ours")
			b.ReportMetric(float64(gdbs.Microseconds())/float64(b.N)/1000, "ms/gdb")
			b.ReportMetric(float64(gdbs)/float64(ours), "ratio")
		})
	}
}
