package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestRecordAarch64 saves the record of programs for aarch64 in an emulator, and compares it with the threads'
// own notes: the acquired and released locks and their order, the number of critical sections, and the number of
// tasks for each thread.
func TestRecordAarch64(t *testing.T) {
	omptest.NeedsCross(t)
	library := omptest.CrossRecorder(t)
	releases := []int{0} // GNU's runtime
	for _, runtime := range omptest.Runtimes(t) {
		releases = append(releases, runtime.Major)
	}
	for _, major := range releases {
		t.Run(fmt.Sprint(major), func(t *testing.T) {
			t.Parallel()
			exe, env := omptest.CompileCross(t, filepath.Join("testdata", "noted.c"), major)
			file := filepath.Join(t.TempDir(), "saved")
			argv := []string{"record", "--library", library, "--save", file, "--"}
			argv = append(argv, omptest.Emulated(exe, env)...)
			status, _, errs := e2e.Output(t, append(argv, file+".notes")...)
			// The emulator's own loader, a program for x86-64, cannot load the library.
			errs = regexp.MustCompile("ERROR: ld.so: .* ignored.\n").ReplaceAllString(errs, "")
			if status != 0 || errs != "" {
				t.Fatalf("exit status %d, printed %q", status, errs)
			}
			notes, err := os.ReadFile(file + ".notes")
			if err != nil {
				t.Fatal(err)
			}
			want, got := perThread(strings.Split(string(notes), "\n")), perThread(notedEvents(t, file))
			if len(want) != 4 || !slices.Equal(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))) {
				t.Fatalf("notes of %d threads, events of %d", len(want), len(got))
			}
			for thread := range want {
				got, want := strings.Join(got[thread], "\n"), strings.Join(want[thread], "\n")
				if got != want {
					t.Errorf("thread %s was recorded to do\n%s\nand noted\n%s", thread, got, want)
				}
			}
		})
	}
}

// perThread groups lines by the thread's number at their start.
func perThread(lines []string) map[string][]string {
	all := map[string][]string{}
	for _, line := range lines {
		if thread, what, ok := strings.Cut(line, " "); ok {
			all[thread] = append(all[thread], what)
		}
	}
	return all
}

// notedEvents returns the events of a saved file that noted.c notes too, in its format.
func notedEvents(t *testing.T, file string) (lines []string) {
	t.Helper()
	text := strings.Join(eventLinesWhole(t, file), "\n")
	for d := json.NewDecoder(strings.NewReader(text)); d.More(); {
		var e struct {
			LWP               int
			Event, Lock, Text string
			Kind, Line        int
		}
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		critical := e.Kind == 5 // ompt_mutex_critical
		switch name := strings.TrimPrefix(e.Event, "ompt_callback_"); {
		case name == "mutex_acquired" && critical:
			lines = append(lines, fmt.Sprint(e.LWP, " enters"))
		case name == "mutex_released" && critical:
			lines = append(lines, fmt.Sprint(e.LWP, " leaves"))
		case name == "mutex_acquired":
			lines = append(lines, fmt.Sprint(e.LWP, " acquires ", e.Lock))
		case name == "mutex_released":
			lines = append(lines, fmt.Sprint(e.LWP, " releases ", e.Lock))
		case name == "task_schedule" && e.Kind == 1: // ompt_task_complete
			lines = append(lines, fmt.Sprint(e.LWP, " executed"))
		}
	}
	return lines
}

// eventLinesWhole returns the events of a file as lines of JSON.
func eventLinesWhole(t *testing.T, file string) []string {
	t.Helper()
	out := file + ".jsonl"
	status, printed, errs := e2e.Output(t, "trace", "-o", out, file)
	b, err := os.ReadFile(out)
	if status != 0 || printed != "" || errs != "" || err != nil {
		t.Fatalf("trace: exit status %d, printed %q and %q: %v", status, printed, errs, err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}
