package report

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestGeneratedCode checks the stacks of threads that wait in a function which code made at run time called, live and
// in a core: they continue after that code, which has no unwind tables, to main.
func TestGeneratedCode(t *testing.T) {
	omptest.NeedsMore(t, "gcc and gcore")
	dir := t.TempDir()
	source := filepath.Join(filepath.Dir(omptest.Programs(t)), "generated")
	object, program := filepath.Join(dir, "through.o"), filepath.Join(dir, "generated")
	for _, args := range [][]string{
		{"-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-stack-protector",
			"-fcf-protection=none", "-c", filepath.Join(source, "through.c"), "-o", object},
		{"-g", "-O2", "-fopenmp", "-rdynamic", filepath.Join(source, "generated.c"), "-o", program},
	} {
		if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	for _, tt := range []struct {
		way, live, core string // the name of the code
	}{
		{"object", "through", "through"},
		{"map", "through", ""}, // perf maps belong to processes
		{"none", "", ""},
	} {
		t.Run(tt.way, func(t *testing.T) {
			cmd := exec.Command(program, object, tt.way)
			output, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()                                                  // the signal
				_ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)) // it may be missing
			})
			if line, err := bufio.NewReader(output).ReadString('\n'); err != nil {
				t.Fatalf("%q, %v", line, err)
			}
			_, out, _ := e2e.Output(t, "threads", "--json", strconv.Itoa(cmd.Process.Pid))
			checkGenerated(t, e2e.Decode(t, out), tt.live)
			_, out, _ = e2e.Output(t, "threads", "--json", gcore(t, cmd.Process.Pid))
			checkGenerated(t, e2e.Decode(t, out), tt.core)
		})
	}
}

// checkGenerated checks that the stacks of three threads lead from park by code of a name to main.
func checkGenerated(t *testing.T, pic *picture.Picture, name string) {
	t.Helper()
	found := 0
	for _, th := range pic.Threads {
		park := slices.IndexFunc(th.UserStack, func(f picture.Frame) bool { return f.Function == "park" })
		if park < 0 {
			continue
		}
		found++
		outer := th.UserStack[park+1:]
		if len(outer) < 2 || outer[0].Function != name || outer[0].Module != "" || outer[0].PC == nil ||
			outer[len(outer)-1].Function != "main" {
			t.Errorf("thread %d: %+v, errors %q", th.LWP, th.UserStack, th.Errors)
		}
	}
	if found != 3 {
		t.Errorf("%d threads in park, want 3: %+v", found, pic.Threads)
	}
}
