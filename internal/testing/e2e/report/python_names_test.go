package report

import (
	"bufio"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestPythonThreadNames compares the names of threads with those of threading.enumerate(), live and in a core.
func TestPythonThreadNames(t *testing.T) {
	omptest.NeedsMore(t, "python3 and gcore")
	for name, path := range testedPythons(t) {
		t.Run(name, func(t *testing.T) {
			pid, want := startThreadNames(t, path(t), 0)
			_, out, _ := e2e.Output(t, "threads", "--json", strconv.Itoa(pid))
			checkThreadNames(t, e2e.Decode(t, out), want)
			core := gcore(t, pid)
			_, out, _ = e2e.Output(t, "threads", "--json", core)
			pic := e2e.Decode(t, out)
			if slices.ContainsFunc(pic.Warnings, func(w string) bool { return strings.Contains(w, "reads as zeros") }) {
				t.Log("gcore cannot read stacks with this C library: no check of the core")
				return
			}
			checkThreadNames(t, pic, want)
			for _, verb := range []string{"threads", "stacks"} {
				if _, out, _ = e2e.Output(t, verb, core); !strings.Contains(out, "loader") ||
					strings.Contains(out, "MainThread") || strings.Contains(out, "Dummy-") {
					t.Errorf("%s does not show the names of threads:\n%s", verb, out)
				}
			}
		})
	}
}

// startThreadNames starts testdata/python/thread_names.py with some more threads, and returns the names of its threads
// by their pthread_t.
func startThreadNames(t *testing.T, python string, more int) (pid int, names map[uint64]string) {
	t.Helper()
	cmd := pythonScript(t, python, "thread_names.py", strconv.Itoa(more))
	cmd.Env = append(os.Environ(), "PYTHONIOENCODING=utf-8")
	input, err1 := cmd.StdinPipe() // it continues until the end of its input
	output, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the signal
	})
	names = map[uint64]string{}
	for lines := bufio.NewScanner(output); lines.Scan() && lines.Text() != "ready"; {
		words := strings.SplitN(lines.Text(), " ", 3)
		at, err := strconv.ParseUint(words[1], 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		names[at] = words[2]
	}
	return cmd.Process.Pid, names
}

// checkThreadNames checks that threads have the names that Python has for them, except those that it shows of no
// thread.
func checkThreadNames(t *testing.T, pic *picture.Picture, want map[uint64]string) {
	t.Helper()
	got := map[uint64]string{}
	for _, th := range pic.Threads {
		if th.Name != "" {
			got[uint64(*th.Pthread)] = th.Name
		}
	}
	want = maps.Clone(want)
	maps.DeleteFunc(want, func(_ uint64, name string) bool {
		return name == "MainThread" || strings.HasPrefix(name, "Dummy-")
	})
	if len(want) < 7 || !maps.Equal(got, want) {
		t.Errorf("names %q, want %q; warnings %q", slices.Collect(maps.Values(got)), slices.Collect(maps.Values(want)),
			pic.Warnings)
	}
	if slices.ContainsFunc(pic.Warnings, func(w string) bool { return strings.Contains(w, "Python") }) {
		t.Errorf("warnings %q", pic.Warnings)
	}
}
