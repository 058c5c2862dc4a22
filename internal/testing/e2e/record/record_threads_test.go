package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestRecordShortThreads runs threads that end and leave their rings to others: the output shows each as a
// separate thread with its end, though GNU's runtime reports no end.
func TestRecordShortThreads(t *testing.T) {
	const roots = 6*8 + 1 // and the initial one
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, said := filepath.Join(dir, "recording"), filepath.Join(dir, "said")
			b, open := omptest.Build{Program: "short_threads"}, 0
			if runtime.Name == omptest.Libgomp(t).Name {
				b.Compiler, open = omptest.GCC, 1 // the initial task, for which no end is reported
			}
			status, _, errs := e2e.Output(t, "record", "--library", omptest.Recorder(t), "--memory", "2M",
				"--save", file, "--", "env", "LD_LIBRARY_PATH="+runtime.Dir, "sh", "-c", `exec "$0" >"$1"`, omptest.Compile(t, b), said)
			if status != 0 || errs != "" {
				t.Fatalf("exit status %d, printed %q", status, errs)
			}
			ends := endsOf(t, said)
			status, out, errs := e2e.Output(t, "trace", "stats", file)
			heading := fmt.Sprintf(": %d threads, ", len(ends))
			if status != 0 || errs != "" || !strings.Contains(out, heading) ||
				!strings.Contains(out, fmt.Sprintf(" events of %d threads in ", len(ends))) {
				t.Errorf("%d threads: exit status %d, printed %q and\n%s", len(ends), status, errs, out)
			}
			row := regexp.MustCompile(fmt.Sprintf(`(?m)^ +[\d.]+ %% +initial task +%d .*$`, roots)).FindString(out)
			if over := !strings.Contains(row, "not over"); row == "" || over != (open == 0) ||
				strings.Count(out, "not over") != open || !over && !strings.Contains(row, " 1 not over") {
				t.Errorf("stats say of the initial tasks %q:\n%s", row, out)
			}
			chrome := filepath.Join(dir, "x.json")
			if status, _, errs = e2e.Output(t, "trace", "-o", chrome, file); status != 0 || errs != "" {
				t.Fatalf("exit status %d, printed %q", status, errs)
			}
			checkSlices(t, chrome, ends, open > 0)
		})
	}
}

// endsOf returns the ends of a recorded program's threads in nanoseconds; an unreported end is 0.
func endsOf(t *testing.T, file string) map[int]int64 {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[int]int64{}
	for line := range strings.Lines(string(b)) {
		var lwp int
		var end int64
		if _, err := fmt.Sscan(line, &lwp, &end); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		ends[lwp] = end
	}
	return ends
}

// checkSlices requires each thread in a file of Chrome's format. If the last event is before the thread's noted
// end, no slice may end after it.
func checkSlices(t *testing.T, file string, ends map[int]int64, timely bool) {
	t.Helper()
	b, err := os.ReadFile(file)
	var chrome struct {
		TraceEvents []struct {
			Phase string  `json:"ph"`
			TID   int     `json:"tid"`
			TS    float64 `json:"ts"`
		}
	}
	if err == nil {
		err = json.Unmarshal(b, &chrome)
	}
	if err != nil {
		t.Fatal(err)
	}
	open := map[int]int{}
	for _, e := range chrome.TraceEvents {
		switch e.Phase {
		case "B":
			open[e.TID]++
		case "E":
			open[e.TID]--
			const slack = 5e6 // ns: clocks are not compared exactly
			if end := ends[e.TID]; timely && end != 0 && e.TS*1e3 > float64(end)+slack {
				t.Errorf("thread %d: a slice ends %.0f ns after it", e.TID, e.TS*1e3-float64(end))
			}
		}
	}
	if len(open) != len(ends) {
		t.Errorf("there are slices of %d threads, want %d", len(open), len(ends))
	}
	for lwp, n := range open {
		if _, known := ends[lwp]; n != 0 || !known {
			t.Errorf("thread %d: %d slices have no end; known: %v", lwp, n, known)
		}
	}
}
