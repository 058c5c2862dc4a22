package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// coreOf makes a kernel core of a program on libomp 16.
func coreOf(tb testing.TB, program string, args ...string) *omptest.Result {
	tb.Helper()
	exe := omptest.Compile(tb, omptest.Build{Program: program})
	return omptest.Dump(tb, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(tb, 16), Args: args, Mode: omptest.Kernel})
}

// buildTool builds the tool as it ships.
func buildTool(tb testing.TB) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), "ompd-inspect")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// BenchmarkReport is the report of a core within one process, opened anew each
// time.
func BenchmarkReport(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	for _, threads := range []int{4, 256, 1024} {
		b.Run(strconv.Itoa(threads), func(b *testing.B) {
			core := coreOf(b, "many", strconv.Itoa(threads)).Core
			for b.Loop() {
				if run([]string{core}, null, os.Stderr) != exitOK {
					b.Fatal("no report")
				}
			}
		})
	}
}

// BenchmarkAgainstGDB times the whole process against gdb's bare backtrace of
// the same core, in turn, and reports the ratio.
func BenchmarkAgainstGDB(b *testing.B) {
	bin := buildTool(b)
	for _, threads := range []int{4, 256} {
		b.Run(strconv.Itoa(threads), func(b *testing.B) {
			r := coreOf(b, "many", strconv.Itoa(threads))
			var ours, gdbs time.Duration
			for b.Loop() {
				ours += timed(b, bin, r.Core)
				gdbs += timed(b, "gdb", "-nx", "-batch", "-ex", "thread apply all bt", r.Exe, r.Core)
			}
			b.ReportMetric(float64(ours.Microseconds())/float64(b.N)/1000, "ms/ours")
			b.ReportMetric(float64(gdbs.Microseconds())/float64(b.N)/1000, "ms/gdb")
			b.ReportMetric(float64(gdbs)/float64(ours), "ratio")
		})
	}
}

func timed(b *testing.B, name string, args ...string) time.Duration {
	b.Helper()
	start := time.Now()
	cmd := exec.Command(name, args...)
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return time.Since(start)
}
