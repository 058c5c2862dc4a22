package report

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// A goal limits the cost of a report of a team in mixed waits, by the team's size.
type goal struct {
	threads       int
	core, process float64       // least ratio of gdb's CPU time to ours
	mib           float64       // most resident memory
	pause         time.Duration // median
}

// goals are the limits for BenchmarkMixed.
var goals = []goal{
	{4, 25, 20, 30, 200 * time.Microsecond},
	{64, 20, 15, 32, 1200 * time.Microsecond},
	{256, 15, 10, 48, 4 * time.Millisecond},
	{1024, 10, 8, 64, 16 * time.Millisecond},
}

// mixedRuntimes are the runtimes of BenchmarkMixed; OMPD_BENCH_MORE=1 adds an older one.
func mixedRuntimes(b *testing.B) []benchmarked {
	b.Helper()
	all := []benchmarked{{omptest.LLVM, omptest.RuntimeOf(b, 19)}, {omptest.GCC, omptest.Libgomp(b)}}
	if os.Getenv("OMPD_BENCH_MORE") != "" {
		all = append(all, benchmarked{omptest.LLVM, omptest.RuntimeOf(b, 16)})
	}
	return all
}

// BenchmarkMixed compares a report on teams in waits of all kinds with gdb's bare backtrace of the same core and
// the same process, in turn: medians of the CPU time of each and their ratio, our most memory, and for processes
// the pause. Each number with a goal is printed together with the goal and with the lower bound for any look
// (rivals).
//
// The setup is that of the goals: half of a team at an explicit barrier, a quarter waiting for a named critical
// section that one of the others holds, passive waiting, stacks of 256 KB, the distribution's stripped libomp 19
// and libgomp 12, cores by gcore, and gdb as a user starts it, `gdb -batch -ex 'thread apply all bt'` with its
// own configuration and with the debug information of the C library, if that is installed. Without it, gdb's
// times are a third; those of newer gdbs are about double (docs/internals/performance.md).
func BenchmarkMixed(b *testing.B) {
	bin := e2e.BuildTool(b)
	for _, on := range mixedRuntimes(b) {
		exe := omptest.Compile(b, omptest.Build{Program: "mixed", Compiler: on.compiler})
		for _, g := range goals {
			r := omptest.Run{
				Exe: exe, Runtime: on.runtime, Args: []string{strconv.Itoa(g.threads)}, Mode: omptest.Gcore,
				Env: []string{"OMP_STACKSIZE=256K"},
			}
			b.Run(fmt.Sprintf("%s/%d/core", on.runtime.Name, g.threads), func(b *testing.B) {
				core := omptest.Dump(b, r).Core
				againstGDB(b, []string{bin, core}, []string{exe, core}, g.core, g.mib)
			})
			b.Run(fmt.Sprintf("%s/%d/process", on.runtime.Name, g.threads), func(b *testing.B) {
				pid := strconv.Itoa(omptest.Start(b, r).PID)
				againstGDB(b, []string{bin, pid}, []string{"-p", pid}, g.process, g.mib)
				reportPauses(b, pausesOf(b, bin, pid), g.pause)
				reportFloor(b, pid)
			})
		}
	}
}

// againstGDB runs the tool and gdb's bare backtrace in turn.
func againstGDB(b *testing.B, tool, target []string, ratio, mib float64) {
	b.Helper()
	gdb := append([]string{"gdb", "-batch", "-ex", "thread apply all bt"}, target...)
	spender, others := spender(b), rivals(b, tool, target)
	var ours, gdbs, memory []float64
	for b.Loop() {
		our, its := spentOn(b, spender, nil, tool...), spentOn(b, spender, nil, gdb...)
		ours, memory = append(ours, our.us/1000), append(memory, our.kib/1024)
		gdbs = append(gdbs, its.us/1000)
		for _, r := range others {
			r.run(b, spender)
		}
	}
	b.ReportMetric(0, "ns/op") // the sum of both is meaningless
	b.ReportMetric(median(ours), "ours-ms")
	b.ReportMetric(median(gdbs), "gdb-ms")
	b.ReportMetric(median(gdbs)/median(ours), "ratio")
	b.ReportMetric(ratio, "ratio-goal")
	for _, r := range others {
		b.ReportMetric(median(r.ms), r.name+"-ms")
	}
	b.ReportMetric(median(memory), "MB")
	b.ReportMetric(mib, "MB-goal")
}

// median sorts numbers and returns their median.
func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// pausesOf runs several looks of the tool at a process, and returns for each how long the process was stopped.
func pausesOf(b *testing.B, bin, pid string) []float64 {
	b.Helper()
	var ms []float64
	for range looksPerAttach {
		out, err := exec.Command(bin, "report", "--json", pid).Output()
		if err != nil {
			b.Fatalf("report %s: %v", pid, err)
		}
		var pic picture.Picture
		if err := json.Unmarshal(out, &pic); err != nil || pic.Target.Pause == nil {
			b.Fatalf("report %s: no pause: %v", pid, err)
		}
		ms = append(ms, float64(pic.Target.Pause.Microseconds)/1000)
	}
	return ms
}

// reportPauses reports the median and the longest.
func reportPauses(b *testing.B, ms []float64, goal time.Duration) {
	b.Helper()
	b.ReportMetric(median(ms), "pause-ms")
	b.ReportMetric(float64(goal.Microseconds())/1000, "pause-goal-ms")
	b.ReportMetric(ms[len(ms)-1], "pause-max-ms")
}
