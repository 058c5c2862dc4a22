package report

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// benchmarked is one of the runtimes that are compared in a benchmark, each with the programs of its compiler.
type benchmarked struct {
	compiler omptest.Compiler
	runtime  omptest.Runtime
}

// eachRuntime runs a benchmark of "many" on both kinds of runtimes, with teams of several sizes.
func eachRuntime(b *testing.B, sizes []int, f func(*testing.B, omptest.Run)) {
	b.Helper()
	eachTeam(b, "many", sizes, f)
}

// eachTeam runs a benchmark of a program as eachRuntime does. args come before the number of threads.
func eachTeam(b *testing.B, program string, sizes []int, f func(*testing.B, omptest.Run), args ...string) {
	b.Helper()
	for _, on := range []benchmarked{{omptest.LLVM, omptest.RuntimeOf(b, 16)}, {omptest.GCC, omptest.Libgomp(b)}} {
		exe := omptest.Compile(b, omptest.Build{Program: program, Compiler: on.compiler})
		for _, threads := range sizes {
			b.Run(fmt.Sprintf("%s/%d", on.runtime.Name, threads), func(b *testing.B) {
				f(b, omptest.Run{Exe: exe, Runtime: on.runtime, Mode: omptest.Kernel,
					Args: append(slices.Clone(args), strconv.Itoa(threads))})
			})
		}
	}
}

// costs has the wall clock and CPU times of runs of a program.
type costs struct {
	clock []time.Duration
	cpu   time.Duration
}

// add runs a program and adds its times.
func (c *costs) add(b *testing.B, name string, args ...string) {
	b.Helper()
	start := time.Now()
	cmd := exec.Command(name, args...)
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	c.clock = append(c.clock, time.Since(start))
	c.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// compare reports the times of this tool and gdb for the same task, and the ratios of the medians on the clock
// and of the CPU times, which a busy machine changes little.
func compare(b *testing.B, ours, gdbs costs) {
	b.Helper()
	reportSpread(b, "ours", ours.clock)
	reportSpread(b, "gdb", gdbs.clock)
	b.ReportMetric(float64(gdbs.clock[len(gdbs.clock)/2])/float64(ours.clock[len(ours.clock)/2]), "ratio")
	b.ReportMetric(float64(gdbs.cpu)/float64(ours.cpu), "cpu-ratio")
}

// BenchmarkReport measures the report of a core within one process, which opens the core again each time.
func BenchmarkReport(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	eachRuntime(b, []int{4, 256, 1024}, func(b *testing.B, r omptest.Run) {
		core := omptest.Dump(b, r).Core
		for b.Loop() {
			if e2e.RunTool([]string{core}, null, os.Stderr) != cli.ExitOK {
				b.Fatal("no report")
			}
		}
	})
}

// BenchmarkAgainstGDB times the whole process against gdb's bare backtrace of
// the same core, in turn, and reports the ratio.
func BenchmarkAgainstGDB(b *testing.B) {
	bin := e2e.BuildTool(b)
	eachRuntime(b, []int{4, 256}, func(b *testing.B, r omptest.Run) {
		core := omptest.Dump(b, r).Core
		var ours, gdbs costs
		for b.Loop() {
			ours.add(b, bin, core)
			gdbs.add(b, "gdb", "-nx", "-batch", "-ex", "thread apply all bt", r.Exe, core)
		}
		compare(b, ours, gdbs)
	})
}
