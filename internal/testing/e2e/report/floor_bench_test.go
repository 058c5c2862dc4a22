package report

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// A rival is a program that is measured in turn with a look: a program that does less, so that its cost is a
// lower bound for ours, or this project's version when the goals were set.
type rival struct {
	name    string
	command []string
	ms      []float64 // CPU time of each run
}

// rivals returns the rivals of a look at a target: an empty Go program and our own start; for a process, a
// program that only stops its threads; with OMPD_BENCH_MORE, newer gdbs; and, if it is set, OMPD_BENCH_BASE: an
// executable of another commit (the goals are of a8570e6).
func rivals(b *testing.B, tool, target []string) []*rival {
	b.Helper()
	all := []*rival{
		{name: "empty-go", command: []string{smallestGo(b)}},
		{name: "version", command: []string{tool[0], "version"}},
	}
	if target[0] == "-p" {
		all = append(all, &rival{name: "floor", command: []string{floorOf(b), target[1], "1"}})
	}
	if os.Getenv("OMPD_BENCH_MORE") != "" {
		for _, suite := range omptest.GdbSuites {
			line := append([]string{omptest.GdbOf(b, suite), "-batch", "-ex", "thread apply all bt"}, target...)
			all = append(all, &rival{name: "gdb-" + suite, command: line})
		}
	}
	if base := os.Getenv("OMPD_BENCH_BASE"); base != "" {
		all = append(all, &rival{name: "base", command: []string{base, "report", tool[1]}})
	}
	return all
}

// run runs a rival once.
func (r *rival) run(b *testing.B, spender string) {
	b.Helper()
	r.ms = append(r.ms, spentOn(b, spender, nil, r.command...).us/1000)
}

// smallestGo builds the smallest Go program: every start of ours includes its cost.
func smallestGo(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	source, exe := filepath.Join(dir, "empty.go"), filepath.Join(dir, "empty")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", exe, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return exe
}

// floorOf builds the program that stops all threads of a process, reads their registers, and resumes them.
func floorOf(tb testing.TB) string {
	tb.Helper()
	exe := filepath.Join(tb.TempDir(), "floor")
	source := filepath.Join(e2e.Root, "live", "testdata", "floor.c")
	if out, err := exec.Command("gcc", "-O2", "-o", exe, source).CombinedOutput(); err != nil {
		tb.Fatalf("%v: apt-get install gcc\n%s", err, out)
	}
	return exe
}

// reportFloor reports the median of the pauses of that program.
func reportFloor(b *testing.B, pid string) {
	b.Helper()
	out, err := exec.Command(floorOf(b), pid).Output()
	var least, usual, most float64
	if n, scan := fmt.Sscan(strings.TrimSpace(string(out)), &least, &usual, &most); err != nil || n != 3 {
		b.Fatalf("floor %s: %q, %v, %v", pid, out, err, scan)
	}
	b.ReportMetric(usual, "pause-floor-ms")
}
