package report

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// rSuites are releases of Debian with different layouts of R's contexts.
var rSuites = []string{"bookworm", "trixie"}

// TestRFrames compares the frames of R with the calls that the program itself reports (sys.calls), with the lines of
// the callers, in a process and in a core.
func TestRFrames(t *testing.T) {
	omptest.NeedsMore(t, "R and gcore")
	for _, suite := range rSuites {
		if suite != rSuites[0] && !omptest.Full() {
			continue
		}
		r := omptest.ROf(t, suite)
		for _, way := range []string{"calls", "apply", "handlers", "evaluated"} {
			t.Run(suite+"/"+way, func(t *testing.T) {
				pid, want := startRFrames(t, r, way)
				_, out, _ := e2e.Output(t, "threads", "--json", strconv.Itoa(pid))
				checkRFrames(t, e2e.Decode(t, out), want)
				_, out, _ = e2e.Output(t, "threads", "--json", gcore(t, pid))
				checkRFrames(t, e2e.Decode(t, out), want)
			})
		}
	}
}

// startRFrames starts testdata/r/frames.R, and returns its calls, "function line of the caller", innermost first.
func startRFrames(t *testing.T, r, way string) (pid int, calls []string) {
	t.Helper()
	output := filepath.Join(t.TempDir(), "calls")
	cmd := exec.Command(r, "-e", fmt.Sprintf("way <- %q; output <- %q; source(%q, keep.source = TRUE)", way, output,
		rScript(t, "frames.R")))
	input, err := cmd.StdinPipe() // it continues until the end of its input
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = input.Close() })
	startR(t, cmd)
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, strings.Split(strings.TrimSpace(string(text)), "\n")
}

// startR starts a program of R until the end of the test, and waits until it prints READY.
func startR(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	startScript(t, cmd, func(line string) bool { return line == "READY\n" })
}

// rScript returns the path of a script of testdata/r.
func rScript(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(filepath.Dir(omptest.Programs(t)), "r", name)
}

// checkRFrames compares the frames of R of the main thread with the calls that the program wrote. The innermost frames
// are those of the function that waits for input.
func checkRFrames(t *testing.T, pic *picture.Picture, calls []string) {
	t.Helper()
	var got []picture.Frame
	for _, f := range pic.Threads[0].UserStack {
		if f.Language == picture.LanguageR {
			got = append(got, f)
		} else if f.Module == "libR.so" || f.Module == "R" {
			t.Errorf("a frame of the interpreter: %+v", f)
		}
	}
	hold := slices.IndexFunc(got, func(f picture.Frame) bool { return f.Function == "hold" })
	if hold < 0 {
		t.Fatalf("no frame of hold: %+v; errors %q, warnings %q", got, pic.Threads[0].Errors, pic.Warnings)
	}
	for i, f := range got[hold:] {
		line := 0
		if i+hold+1 < len(got) {
			line = got[hold+i+1].Line
		}
		if text := fmt.Sprintf("%s %d", f.Function, line); i >= len(calls) || text != calls[i] {
			t.Errorf("call %d: %q; want %q, frames %+v", i, text, calls, got)
			return
		}
		if f.Line != 0 && !strings.HasSuffix(f.File, "/testdata/r/frames.R") {
			t.Errorf("the file of %+v", f)
		}
	}
	if len(got)-hold != len(calls) {
		t.Errorf("%d frames, want %d", len(got)-hold, len(calls))
	}
}

// rLooks is more than the number of looks until a worker is seen in its region.
const rLooks = 200

// TestRRegions looks at workers of libraries that R calls: their stacks lead to the line of the script. No look finds a
// hang.
func TestRRegions(t *testing.T) {
	omptest.NeedsMore(t, "R")
	for _, suite := range rSuites {
		if suite != rSuites[0] && !omptest.Full() {
			continue
		}
		r := omptest.ROf(t, suite)
		for _, tt := range []struct {
			way, module, function string
			line                  int
		}{
			{"multiplied", "libopenblas.so.0", "multiplied", 6},
			{"sorted", "data_table.so", "sorted", 13},
		} {
			t.Run(suite+"/"+tt.way, func(t *testing.T) {
				cmd := exec.Command(r, "-e", fmt.Sprintf("way <- %q; source(%q, keep.source = TRUE)", tt.way,
					rScript(t, "regions.R")))
				cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=3")
				startR(t, cmd)
				for range rLooks {
					_, out, _ := e2e.Output(t, "report", "--json", strconv.Itoa(cmd.Process.Pid))
					pic := e2e.Decode(t, out)
					for _, v := range pic.Verdicts {
						if diagnose.Hangs(v) {
							t.Fatalf("%s (%s): %s %s\n%q", v.Kind, v.Certainty, v.Summary, v.Explanation, v.Evidence)
						}
					}
					if slices.ContainsFunc(pic.Threads, func(th picture.Thread) bool {
						return e2e.IntOf(th.ThreadNum) > 0 && leadsTo(th.UserStack, tt.module, tt.function, tt.line)
					}) {
						return
					}
				}
				t.Errorf("no worker's stack leads from %s to line %d", tt.module, tt.line)
			})
		}
	}
}

// leadsTo reports whether a stack has a frame of a module, and further outwards a function of R at a line.
func leadsTo(frames []picture.Frame, module, function string, line int) bool {
	i := slices.IndexFunc(frames, func(f picture.Frame) bool { return f.Module == module })
	return i >= 0 && slices.ContainsFunc(frames[i:], func(f picture.Frame) bool {
		return f.Language == picture.LanguageR && f.Function == function && f.Line == line
	})
}

// TestDamagedR checks that a core with damaged contexts of R has its threads, their native stacks and a warning.
func TestDamagedR(t *testing.T) {
	omptest.NeedsMore(t, "R and gcore")
	pid, _ := startRFrames(t, omptest.ROf(t, rSuites[0]), "evaluated")
	_, out, _ := e2e.Output(t, "doctor", strconv.Itoa(pid))
	if !strings.Contains(out, "by the symbol R_GlobalContext") || !strings.Contains(out, "of R functions placed") {
		t.Errorf("doctor does not describe R:\n%s", out)
	}
	core := gcore(t, pid)
	at, sp := rContext(t, pid)
	overwrite(t, core, at, binary.LittleEndian.AppendUint64(nil, sp)) // a list that is none
	_, out, _ = e2e.Output(t, "threads", "--json", core)
	pic := e2e.Decode(t, out)
	if len(pic.Threads) == 0 || len(pic.Threads[0].UserStack) == 0 {
		t.Errorf("threads %+v", pic.Threads)
	}
	if !slices.ContainsFunc(pic.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "R in ") && strings.Contains(w, "frames are incomplete")
	}) {
		t.Errorf("warnings %q", pic.Warnings)
	}
}

// rContext returns the address of R_GlobalContext in a process, and an address that is no context.
func rContext(t *testing.T, pid int) (at, other uint64) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || filepath.Base(fields[5]) != "libR.so" {
			continue
		}
		low, _, _ := strings.Cut(fields[0], "-")
		base, err := strconv.ParseUint(low, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.Open(fields[5])
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		symbols, err := f.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range symbols {
			if s.Name == "R_GlobalContext" {
				return base + s.Value, base
			}
		}
	}
	t.Fatal("no R_GlobalContext")
	return 0, 0
}
