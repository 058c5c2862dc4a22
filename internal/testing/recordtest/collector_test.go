package recordtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// collected is a runtime with a compiler of programs for it.
type collected struct {
	omptest.Runtime
	compiler string
	flags    []string
}

// collectedOn returns the runtimes for the tests of the collector's interface.
func collectedOn(t *testing.T) []collected {
	t.Helper()
	all := []collected{{omptest.Libgomp(t), "gcc", []string{"-fopenmp", "-DGNU"}}}
	for _, r := range omptest.Runtimes(t) {
		all = append(all, collected{r, "clang-16", []string{"-fopenmp", "-L/usr/lib/llvm-16/lib"}})
	}
	return all
}

// output runs a program to its end, with the recorder and other libraries preloaded, and returns its output.
func output(t *testing.T, r omptest.Runtime, argv []string, preload string, env ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append([]string{"LD_LIBRARY_PATH=" + r.Dir, "PATH=" + os.Getenv("PATH"),
		"LD_PRELOAD=" + omptest.Recorder(t) + preload, "OMP_WAIT_POLICY=passive"}, env...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v on %s: %v\n%s", argv, r.Name, err, text)
	}
	return string(text)
}

// TestCollectorRequests makes each request of Sun's collector API, valid and invalid, in the required order and
// in others.
func TestCollectorRequests(t *testing.T) {
	for _, on := range collectedOn(t) {
		t.Run(on.Name, func(t *testing.T) {
			exe := build(t, on.compiler, "collector_requests.c", on.flags...)
			kind := "llvm"
			if gnu(on.Runtime) {
				kind = "gnu"
			}
			if got := output(t, on.Runtime, []string{exe, kind}, ""); got != "161 checks, 0 failed\n" {
				t.Error(got)
			}
			got := output(t, on.Runtime, []string{exe, "late"}, "", "OMP_TOOL=disabled")
			if got != "3 checks, 0 failed\n" {
				t.Error(got)
			}
		})
	}
}

// TestCollectorStates brings a thread into each state of Sun's collector API, queries it in a signal handler, and
// counts the events.
func TestCollectorStates(t *testing.T) {
	for _, on := range collectedOn(t) {
		t.Run(on.Name, func(t *testing.T) {
			exe := build(t, on.compiler, "collector_states.c", on.flags...)
			got := output(t, on.Runtime, []string{exe}, "", "KMP_FORCE_REDUCTION=critical")
			if got != "0 failed\n" {
				t.Error(got)
			}
		})
	}
}

// TestCollectorProfile profiles a program as the paper describes it: by timers, with the stacks of forks. Work
// and wait add up to the time, and stacks are those of the source, also for workers.
func TestCollectorProfile(t *testing.T) {
	for _, on := range collectedOn(t) {
		if on.Major == 14 || on.Major == 15 { // like 16
			continue
		}
		t.Run(on.Name, func(t *testing.T) {
			profiler := build(t, "gcc", "collector_profiler.c", "-D_GNU_SOURCE", "-shared", "-fPIC", "-ldl")
			exe := build(t, on.compiler, "collector_program.c", append(on.flags, "-rdynamic", profiler)...)
			got := output(t, on.Runtime, []string{exe}, ":"+profiler)
			stacks, waited, threads := map[string]int{}, 0, 0
			for line := range strings.Lines(got) {
				var work, wait, idle, counted, off, n, samples int
				var stack string
				if k, _ := fmt.Sscanf(line, "thread %d %d %d %d %d", &work, &wait, &idle, &counted, &off); k == 5 {
					threads++
					waited += wait
					if work == 0 || work+wait+idle != counted || off > 2 {
						t.Errorf("work %d, wait %d, idle %d of %d periods; the clock says %d more",
							work, wait, idle, counted, off)
					}
				}
				if k, _ := fmt.Sscanf(line, "stack %s %d %d", &stack, &n, &samples); k == 3 {
					stacks[stack] = n
				}
			}
			want := map[string]int{"burn;outlined;solve;main": 3, "burn;outlined;deep;outlined;solve;main": 2}
			for stack, n := range want {
				if stacks[stack] != n {
					t.Errorf("%d threads at %s, want %d", stacks[stack], stack, n)
				}
			}
			if threads != 4 || waited == 0 || !strings.Contains(got, "forks 2\n") {
				t.Errorf("%d threads, %d periods of waiting:\n%s", threads, waited, got)
			}
		})
	}
}
