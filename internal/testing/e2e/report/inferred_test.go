package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestInferredFrames requires the same mark of functions that have no frame in each output of stacks, and no mark of
// functions that have one.
func TestInferredFrames(t *testing.T) {
	const mark = "no frame: it ended in a tail call"
	for name, c := range map[string]struct {
		compiler omptest.Compiler
		runtime  omptest.Runtime
	}{
		"libgomp": {omptest.GCC, omptest.Libgomp(t)}, "libomp": {"", omptest.RuntimeOf(t, 16)},
	} {
		exe := omptest.Compile(t, omptest.Build{Program: "removed_frames", Compiler: c.compiler,
			Flags: []string{"-O2", "-g"}})
		core := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: c.runtime, Mode: omptest.Kernel,
			Args: []string{"0"}}).Core
		stack := e2e.Report(t, core).Threads[0].UserStack
		for function, want := range map[string]string{
			"leaf": mark, "solve": mark, "step": mark, "hold": "", "main": "",
		} {
			i := slices.IndexFunc(stack, func(f picture.Frame) bool { return f.Function == function })
			if i < 0 || stack[i].How != want {
				t.Errorf("%s: %s is not marked %q: %+v", name, function, want, stack)
			}
		}
		page := filepath.Join(t.TempDir(), "page.html")
		a := e2e.OutputInTime(t, "stacks", core)
		e2e.OutputInTime(t, "report", "-o", page, core)
		html, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for output, text := range map[string]string{"text": a.Stdout, "HTML": string(html)} {
			for _, function := range []string{"leaf", "solve", "step", "hold", "main"} {
				marked, seen := function != "hold" && function != "main", false
				for line := range strings.Lines(text) {
					if !strings.Contains(line, function+" removed_frames.c:") {
						continue
					}
					seen = true
					if strings.Contains(line, "guessed: "+mark) != marked {
						t.Errorf("%s, %s: the mark of %s is wrong: %s", name, output, function, line)
					}
				}
				if !seen {
					t.Errorf("%s, %s: no %s", name, output, function)
				}
			}
		}
	}
}
