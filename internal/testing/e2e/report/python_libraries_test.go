package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// libraryLooks is more than the number of looks until a worker is seen in a region of a library.
const libraryLooks = 200

// libraryProgram is a way of testdata/python/libraries.py.
type libraryProgram struct {
	way string
	// worker is a module on the stack of a worker of a region, and call the text of the script's line that the stack
	// leads to. Without a module, the library uses no OpenMP, and the line is on the stack of the main thread.
	worker, call string
	children     int // forked processes
}

var libraryPrograms = []libraryProgram{
	{way: "numpy", worker: "libopenblas.so.0", call: "a @ a"},
	{way: "kmeans", worker: "_k_means_lloyd.", call: ".fit(x)"},
	{way: "boosting", worker: "histogram.", call: ".fit(x, y)"},
	{way: "inference", worker: "libtorch_cpu.so.", call: "model(x)"},
	{way: "backward", worker: "libtorch_cpu.so.", call: "backward()"},
	{way: "loader", worker: "libtorch_cpu.so.", call: "model(x)", children: 2},
	{way: "prange", worker: "omppool.", call: "add(24)"},
	{way: "objmode", worker: "omppool.", call: "add(24)"},
	{way: "workqueue", call: "add(24)"},
	{way: "pool", worker: "libopenblas.so.0", call: "a @ a", children: 2},
}

// TestPythonLibraries looks at programs of Python that call libraries with OpenMP, while they run. No look finds a
// hang, in the program or in its forked children. Each stack consists of calls that the program itself reported before,
// and a worker's stack leads to the script's line. Then the program ends, with the right results.
func TestPythonLibraries(t *testing.T) {
	python := omptest.PythonLibraries(t)
	looks := omptest.Number(t, "libraries", 0) / len(libraryPrograms) // 0: until the worker was seen
	for _, p := range libraryPrograms {
		t.Run(p.way, func(t *testing.T) {
			running := startLibrary(t, python, p.way)
			seen := &librarySeen{program: p, known: running.known, script: running.script}
			for look := 0; look < looks || seen.led == 0; look++ {
				if look == max(looks, libraryLooks) {
					t.Fatalf("no stack leads to the line %q of the script in %d looks", p.call, look)
				}
				seen.look(t, running.cmd.Process.Pid)
			}
			running.end(t)
			t.Log(seen)
		})
	}
}

// runningLibrary is a process of libraries.py.
type runningLibrary struct {
	cmd    *exec.Cmd
	input  io.Closer // the process ends after it is closed
	output *bufio.Reader
	errs   *bytes.Buffer
	known  map[string]bool // lines of known_calls.py
	script []string        // its lines
}

// startLibrary starts libraries.py, and waits until its known calls are written. It has few threads, on any machine.
func startLibrary(t *testing.T, python, way string) *runningLibrary {
	t.Helper()
	calls := filepath.Join(t.TempDir(), "calls")
	r := &runningLibrary{cmd: pythonScript(t, python, "libraries.py", way, calls), errs: &bytes.Buffer{}}
	r.cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=3", "NUMBA_NUM_THREADS=3")
	r.cmd.Stderr = r.errs
	var err error
	if r.input, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			killAll(r.cmd.Process.Pid)
			_ = r.cmd.Wait() // the signal
		}
	})
	r.output = bufio.NewReader(output)
	if line, err := r.output.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%v: %q, %v:\n%s", r.cmd.Args, line, err, r.errs)
	}
	r.known = readLines(t, calls)
	text, err := os.ReadFile(r.cmd.Args[1])
	if err != nil {
		t.Fatal(err)
	}
	r.script = strings.Split(string(text), "\n")
	return r
}

// killAll ends a process and its forked children, which keep its output open.
func killAll(pid int) {
	for _, p := range omptest.Descendants(pid) {
		_ = syscall.Kill(p, syscall.SIGKILL) // it may have ended
	}
}

// readLines returns the set of a file's lines.
func readLines(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		lines[strings.TrimSpace(line)] = true
	}
	return lines
}

// end requires that the program ends with the right results.
func (r *runningLibrary) end(t *testing.T) {
	t.Helper()
	if err := r.input.Close(); err != nil {
		t.Error(err)
	}
	line, _ := r.output.ReadString('\n') // an error is the end of the process
	if err := r.cmd.Wait(); err != nil || line != "right\n" {
		t.Errorf("it printed %q: %v\n%s", line, err, r.errs)
	}
}

// librarySeen counts what looks at a program have found.
type librarySeen struct {
	program    libraryProgram
	known      map[string]bool
	script     []string
	looks      int // at the program itself
	children   int // looks at its children
	complete   int // looks with all parts
	led        int // looks with a worker whose stack leads to the line of the script
	frames     int // Python frames
	possible   int // possible hangs
	unfinished []string
}

func (s *librarySeen) String() string {
	return fmt.Sprintf("%d looks, %d of them with all parts, %d with a worker's stack that leads to the script, "+
		"%d frames of Python, %d possible hangs; %d looks at children; not complete %q", s.looks, s.complete, s.led,
		s.frames, s.possible, s.children, s.unfinished)
}

// look looks at the program and at its children.
func (s *librarySeen) look(t *testing.T, pid int) {
	t.Helper()
	_, out, errs := e2e.Output(t, "report", "--json", strconv.Itoa(pid))
	if out == "" {
		t.Fatal(errs)
	}
	pic := e2e.Decode(t, out)
	s.looks++
	s.checkVerdicts(t, pic)
	led := false
	for _, th := range pic.Threads {
		if n := len(th.UserStack); n > 0 && filepath.Base(th.UserStack[n-1].File) == "libraries.py" {
			s.frames += checkKnownCalls(t, th, s.known)
		}
		led = led || s.leadsToScript(th)
	}
	if led {
		s.led++
	}
	if len(pic.Incomplete) == 0 {
		s.complete++
	}
	for _, part := range pic.Incomplete {
		if !slices.Contains(s.unfinished, string(part)) {
			s.unfinished = append(s.unfinished, string(part))
		}
	}
	if s.program.children == 0 {
		return
	}
	for _, child := range omptest.Children(pid) {
		status, out, errs := e2e.Output(t, "report", "--json", strconv.Itoa(child))
		if out == "" { // it may have ended
			if !e2e.HasEnded(child) {
				t.Errorf("exit status %d: %s", status, errs)
			}
			continue
		}
		s.children++
		s.checkVerdicts(t, e2e.Decode(t, out))
	}
}

// checkVerdicts requires that there is no hang or crash.
func (s *librarySeen) checkVerdicts(t *testing.T, pic *picture.Picture) {
	t.Helper()
	for _, v := range pic.Verdicts {
		if diagnose.Hangs(v) || v.Severity == picture.SeverityCrash {
			t.Errorf("%s (%s): %s %s\n%q", v.Kind, v.Certainty, v.Summary, v.Explanation, v.Evidence)
		} else if v.Severity == picture.SeverityHang {
			s.possible++
		}
	}
}

// leadsToScript reports whether the stack of a thread leads from the library to the expected line of the script.
func (s *librarySeen) leadsToScript(th picture.Thread) bool {
	frames := th.UserStack
	if s.program.worker != "" {
		i := slices.IndexFunc(frames, func(f picture.Frame) bool {
			return strings.HasPrefix(f.Module, s.program.worker)
		})
		if i < 0 || e2e.IntOf(th.ThreadNum) <= 0 {
			return false
		}
		frames = frames[i:]
	}
	i := slices.IndexFunc(frames, func(f picture.Frame) bool {
		return filepath.Base(f.File) == "libraries.py" && f.Line > 0 && f.Line <= len(s.script) &&
			strings.Contains(s.script[f.Line-1], s.program.call)
	})
	n := len(frames)
	return i >= 0 && i < n-2 && frames[n-2].Function == "run" && frames[n-1].Function == "<module>"
}

// TestPythonLibraryCallbacks compares the Python frames of a thread in which a library calls Python with those that
// Python itself reports (traceback.extract_stack), in a process and in its core.
func TestPythonLibraryCallbacks(t *testing.T) {
	python := omptest.PythonLibraries(t)
	for _, way := range []string{"numpy", "init", "scoring", "hook", "backward", "dataset", "objmode"} {
		t.Run(way, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "frames")
			cmd := pythonScript(t, python, "library_callbacks.py", way, output)
			cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=3", "NUMBA_NUM_THREADS=3")
			input, err := cmd.StdinPipe() // it continues until the end of its input
			if err != nil {
				t.Fatal(err)
			}
			ready := startPython(t, cmd)
			t.Cleanup(func() {
				killAll(cmd.Process.Pid)
				_ = input.Close()
			})
			var pid, lwp int
			if _, err := fmt.Sscanf(ready, "ready %d %d\n", &pid, &lwp); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.TrimSpace(string(text)), "\n")
			for _, target := range []string{strconv.Itoa(pid), gcore(t, pid)} {
				// a core of PyTorch has 200 libraries to open
				_, out, errs := e2e.Output(t, "threads", "--json", "--budget", "0", target)
				if out == "" {
					t.Fatal(errs)
				}
				pic := e2e.Decode(t, out)
				th := e2e.FindThread(pic, lwp)
				if th == nil {
					t.Fatalf("%s: no thread %d: %+v", target, lwp, pic.Threads)
				}
				checkThreadFrames(t, pic, *th, want)
				_, pic = e2e.Diagnose(t, target, "--budget", "0")
				if slices.ContainsFunc(pic.Verdicts, diagnose.Hangs) {
					t.Errorf("%s: %+v", target, pic.Verdicts)
				}
			}
		})
	}
}
