package server

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// recordedRun is a run of a program with the recorder, on LLVM's runtime or GNU's.
func recordedRun(t *testing.T, runtime omptest.Runtime, program string, mode omptest.Mode, args ...string) omptest.Run {
	t.Helper()
	b, load := omptest.Build{Program: program}, "OMP_TOOL_LIBRARIES="
	if runtime.Name == omptest.Libgomp(t).Name {
		b.Compiler, load = omptest.GCC, "LD_PRELOAD="
	}
	return omptest.Run{Exe: omptest.Compile(t, b), Runtime: runtime, Mode: mode, Args: args,
		Env: []string{load + omptest.Recorder(t)}}
}

// TestTraceServedTargets shows the record in cores of gcore and of the kernel, and in a process, locally and at a
// server: events, statistics and verdicts are the same.
func TestTraceServedTargets(t *testing.T) {
	address := e2e.Serve(t)
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.Libgomp(t)} {
		targets := map[string]string{
			"gcore":   omptest.Dump(t, recordedRun(t, runtime, "lock_cycle", omptest.Gcore)).Core,
			"kernel":  omptest.Dump(t, recordedRun(t, runtime, "lock_cycle", omptest.Kernel)).Core,
			"process": strconv.Itoa(omptest.Start(t, recordedRun(t, runtime, "lock_cycle", omptest.Live)).PID),
		}
		for name, target := range targets {
			t.Run(runtime.Name+" "+name, func(t *testing.T) {
				for _, line := range [][]string{
					{"trace", "--json", "--events", "0"}, {"trace", "stats", "--json"}, {"diagnose", "--json"},
				} {
					status, want, errs := e2e.Output(t, append(line, target)...)
					there := append([]string{"--server", address}, append(line, target)...)
					served, got, servedErrs := e2e.Output(t, there...)
					if served != status || errs+servedErrs != "" || status != 0 && status != cli.ExitFound {
						t.Errorf("%v: exit status %d, at a server %d: %q %q", line, status, served, errs, servedErrs)
					}
					if line[0] == "trace" && line[1] == "--json" && (got != want || strings.Count(want, "\n") < 15) {
						t.Errorf("%v: %d lines; %s", line, strings.Count(want, "\n"), firstDifference(got, want))
					}
					for _, says := range map[string][]string{
						"trace": {"second"}, "diagnose": {"recorded: it acquired lock second", "acquired lock first"},
					}[line[0]] {
						if !strings.Contains(got, says) || !strings.Contains(want, says) {
							t.Errorf("%v: not both say %q: %.2000s\n%.2000s", line, says, want, got)
						}
					}
				}
			})
		}
	}
}

// TestTraceServedFollow follows the events of a process at a server until it ends; it ends after some events.
func TestTraceServedFollow(t *testing.T) {
	address := e2e.Serve(t)
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		p := omptest.Start(t, recordedRun(t, runtime, "polls", omptest.Live, "locks"))
		events, theirs, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		seen := make(chan int)
		go func() {
			n := 0
			for lines := bufio.NewScanner(events); lines.Scan(); {
				if !strings.Contains(lines.Text(), "acquires lock ledger") {
					continue
				}
				if n++; n == 100 {
					p.Stop()
				}
			}
			seen <- n
		}()
		args := []string{"--server", address, "trace", "--follow", strconv.Itoa(p.PID)}
		status := e2e.RunTool(args, theirs, os.Stderr)
		_ = theirs.Close()
		if n := <-seen; n < 100 || status != 0 && status != cli.ExitError {
			t.Errorf("%s: exit status %d, %d acquisitions", runtime.Name, status, n)
		}
	}
}
