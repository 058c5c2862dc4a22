package record

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// times matches the time of an event, which depends on the last comparison of the clocks.
var times = regexp.MustCompile(`"time":\d+,`)

// TestRecordSaveEqualsProcess compares the saved record of a program that ended by itself with the events of the
// same process just before, while its runtime was still mapped: events, names and places are equal.
func TestRecordSaveEqualsProcess(t *testing.T) {
	for _, program := range []string{"history", "sections"} {
		for _, build := range []struct {
			flags   string
			runtime omptest.Runtime
		}{
			{"-O0", omptest.RuntimeOf(t, 16)}, {"-O2", omptest.RuntimeOf(t, 19)}, {"-O1", omptest.Libgomp(t)},
			{"-O0 -no-pie", omptest.RuntimeOf(t, 14)},
		} {
			t.Run(program+" "+build.runtime.Name, func(t *testing.T) {
				t.Parallel()
				b := omptest.Build{Program: program, Flags: append(strings.Fields(build.flags), "-g")}
				if build.runtime.Name == omptest.Libgomp(t).Name {
					b.Compiler = omptest.GCC
				}
				live, saved := liveAndSaved(t, omptest.Compile(t, b), build.runtime)
				if len(live) < 30 || len(saved) < len(live) {
					t.Fatalf("%d events of the process, %d of the file", len(live), len(saved))
				}
				for i := range live {
					if live[i] != saved[i] {
						t.Fatalf("event %d of the process and of the file:\n%s\n%s", i, live[i], saved[i])
					}
				}
				if program == "sections" {
					checkSections(t, strings.Join(saved, "\n"))
				}
			})
		}
	}
}

// checkSections counts how often two threads entered each section.
func checkSections(t *testing.T, events string) {
	t.Helper()
	for name, want := range map[string]int{"first": 2, "second": 8, "(unnamed)": 16, "late": 4} {
		if n := strings.Count(events, `"acquires critical `+name+`"`); n != want {
			t.Errorf("section %s was entered %d times, want %d", name, n, want)
		}
	}
}

// liveAndSaved returns, as lines of JSON, the events of a program that waits for its input, and those of the file
// that was saved at its end.
func liveAndSaved(t *testing.T, exe string, runtime omptest.Runtime) (live, saved []string) {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"in", "out", "pid", "end"} {
		if err := unix.Mkfifo(at(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const script = `cd "$1" && { LD_LIBRARY_PATH=$2 "$0" 0 <in >out & exec 3>in; read line <out; echo $! >pid
		read line <end; exec 3>&-; wait $!; }`
	ended := make(chan string, 1)
	go func() {
		_, _, errs := e2e.Output(t, "record", "--library", omptest.Recorder(t), "--save", at("saved"), "--",
			"sh", "-c", script, exe, dir, runtime.Dir)
		ended <- errs
	}()
	pid, err := os.ReadFile(at("pid"))
	if err != nil {
		t.Fatal(err)
	}
	live = eventLines(t, strings.TrimSpace(string(pid)), at("live.jsonl"))
	if err := os.WriteFile(at("end"), []byte("now\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if errs := <-ended; errs != "" {
		t.Errorf("record printed %q", errs)
	}
	return live, eventLines(t, at("saved"), at("saved.jsonl"))
}

// eventLines returns the events of a target as lines of JSON, without their times.
func eventLines(t *testing.T, target, file string) []string {
	t.Helper()
	status, out, errs := e2e.Output(t, "trace", "-o", file, target)
	b, err := os.ReadFile(file)
	if status != 0 || out != "" || errs != "" || err != nil {
		t.Fatalf("trace %s: exit status %d, printed %q and %q: %v", target, status, out, errs, err)
	}
	return strings.Split(strings.TrimSpace(times.ReplaceAllString(string(b), "")), "\n")
}
