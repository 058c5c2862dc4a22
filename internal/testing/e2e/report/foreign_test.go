package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestReportOfUnknownRuntime looks at a program on a runtime without a description, as a core and live: the
// report has the facts that the runtime's own functions return in each thread, and names the unknown ones.
func TestReportOfUnknownRuntime(t *testing.T) {
	for _, args := range [][]string{nil, {"2"}} {
		run := omptest.Run{Exe: omptest.Foreign(t, false, "-O2"), Args: args}
		run.Mode = omptest.Kernel
		r := omptest.Dump(t, run)
		checkForeign(t, e2e.Report(t, r.Core), r.Truth)
		run.Mode = omptest.Live
		p := omptest.Start(t, run)
		checkForeign(t, e2e.ReportProcess(t, p.PID), p.Truth)
		p.Stop()
	}
}

func checkForeign(t *testing.T, pic *picture.Picture, truth omptest.Truth) {
	t.Helper()
	if len(pic.Runtimes) != 1 || !strings.Contains(pic.Runtimes[0].Layout, "running the runtime's own functions") {
		t.Fatalf("runtimes %+v", pic.Runtimes)
	}
	if !slices.ContainsFunc(pic.Warnings, func(w string) bool {
		return strings.Contains(w, "tasks") &&
			strings.Contains(w, "not known")
	}) {
		t.Errorf("warnings %q do not say what is not known", pic.Warnings)
	}
	if len(truth.Threads) < 5 || len(pic.Tasks) != 0 {
		t.Errorf("%d threads, %d tasks", len(truth.Threads), len(pic.Tasks))
	}
	for _, th := range truth.Threads {
		e2e.CheckThread(t, pic, th, true)
	}
}

// TestReportOfUnknownRuntimeLinkedIn has the same runtime in the executable: its code cannot be distinguished
// from the program's, so no state is concluded.
func TestReportOfUnknownRuntimeLinkedIn(t *testing.T) {
	r := omptest.Dump(t, omptest.Run{Exe: omptest.Foreign(t, true, "-O2"), Mode: omptest.Kernel})
	for i := range r.Truth.Threads {
		if th := &r.Truth.Threads[i]; th.OpenMP {
			th.State, th.Function = "undefined", ""
		}
	}
	checkForeign(t, e2e.Report(t, r.Core), r.Truth)
}

// TestTextOfUnknownRuntime checks the text that users see.
func TestTextOfUnknownRuntime(t *testing.T) {
	r := omptest.Dump(t, omptest.Run{Exe: omptest.Foreign(t, false, "-O2"), Mode: omptest.Kernel})
	for verb, lines := range map[string][]string{
		"report": {"runtime OpenMP runtime of another kind, ", "layout: derived by running the runtime's own " +
			"functions on the target's memory", "1 of 3 > 0 of 2",
			"lock lock", "team of 2", "which threads outside of parallel regions are its own are not known"},
		"threads": {"0 of 3", "initial     wait_sleep     pause, until a signal comes", "2 of 3"},
		"icvs":    {"nthreads-var", "omp_get_max_threads()"},
		"doctor":  {"there is nothing else to compare them with"},
		"tasks":   {"TASKS 0"},
	} {
		status, out, errs := e2e.Output(t, verb, r.Core)
		for _, line := range lines {
			if status != cli.ExitOK || !strings.Contains(out, line) {
				t.Errorf("%s: status %d, no %q in\n%s%s", verb, status, line, out, errs)
			}
		}
	}
}
