package report

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestPythonSources checks that an editor gets Python frames with files that exist and have the lines, in the
// directory of the script and in one that sourceMap names.
func TestPythonSources(t *testing.T) {
	pid, want := startPythonFrames(t, "/usr/bin/python3")
	sources := filepath.Join(filepath.Dir(omptest.Programs(t)), "python")
	checkPythonSources(t, pid, nil, sources, want)
	copied := t.TempDir()
	text, err := os.ReadFile(filepath.Join(sources, "frames.py"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, "frames.py"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	checkPythonSources(t, pid, map[string]string{sources: copied}, copied, want)
}

// checkPythonSources compares the frames that an editor gets with those that the program wrote, "function file line",
// and looks for each function of frames.py in the line's surroundings.
func checkPythonSources(t *testing.T, pid int, paths map[string]string, dir string, want []string) {
	t.Helper()
	c := startAdapter(t)
	daptest.Ask[any](c, "initialize", map[string]any{"adapterID": "ompd"})
	daptest.Ask[any](c, "configurationDone", nil)
	daptest.Ask[any](c, "attach", map[string]any{"target": strconv.Itoa(pid), "sourceMap": paths})
	stop := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
	frames := daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", map[string]any{"threadId": stop.ThreadId})
	var got []string
	own := 0
	for _, f := range frames.StackFrames {
		if f.Source == nil || !strings.HasSuffix(f.Source.Name, ".py") {
			continue
		}
		function := f.Name[strings.LastIndexByte(f.Name, '.')+1:]
		got = append(got, fmt.Sprintf("%s %s %d", function, f.Source.Name, f.Line))
		text, err := os.ReadFile(f.Source.Path)
		if err != nil {
			t.Errorf("the source of %s: %v", f.Name, err)
			continue
		}
		if lines := strings.Split(string(text), "\n"); f.Line < 1 || f.Line > len(lines) ||
			strings.TrimSpace(lines[f.Line-1]) == "" {
			t.Errorf("%s has no line %d, where %s is", f.Source.Path, f.Line, f.Name)
		}
		if f.Source.Name == "frames.py" {
			own++
			omptest.Equal(t, "path", f.Source.Path, filepath.Join(dir, "frames.py"))
		}
		omptest.Equal(t, "hint of "+f.Source.Path, f.Source.PresentationHint, "")
	}
	if len(got) != len(want) || own == 0 {
		t.Fatalf("frames %q, want %q", got, want)
	}
	for i := 1; i < len(want); i++ { // the innermost one has continued to another line
		omptest.Equal(t, fmt.Sprintf("frame %d", i), got[i], want[i])
	}
}

// startAdapter starts the tool as an adapter until the end of the test.
func startAdapter(t *testing.T) *daptest.Client {
	t.Helper()
	cmd := exec.Command(e2e.BuildTool(t), "dap", "--no-debuginfod")
	cmd.Stderr = os.Stderr
	input, err1 := cmd.StdinPipe()
	output, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := daptest.New(t, output, input)
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Wait() // it ends with its input
	})
	return c
}
