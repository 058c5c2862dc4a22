package report

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
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

const (
	// pythonLooks is more than the number of looks until Python hangs or reaches its loop.
	pythonLooks = 300
	// healthyPythonLooks is the number of looks at the team of a program that continues.
	healthyPythonLooks = 8
)

// pythonCallbacks are ways in which callbacks from a parallel loop hang for the lock of Python's interpreter,
// with their verdicts, and healthy ways.
var pythonCallbacks = []pythonCallback{
	{
		"barrier", picture.VerdictDeadlock,
		[]string{"Python's interpreter (GIL), which thread 0", "CDLL in place of PyDLL"},
	},
	{
		"lock", picture.VerdictDeadlock,
		[]string{"holds the GIL in other callbacks.py:35 (Python) and waits for lock table"},
	},
	{
		"critical", picture.VerdictDeadlock,
		[]string{"holds the GIL in other callbacks.py:35 (Python) and waits for critical section halo"},
	},
	{
		"loader", picture.VerdictDeadlock,
		[]string{"holds the GIL in <module> callbacks.py:71 (Python) and waits for mutex of the dynamic loader"},
	},
	{"self", picture.VerdictSelfDeadlock, []string{"lock table, which it holds itself"}},
	{"healthy", "", nil},
	{"turns", "", nil},
	{"critical_turns", "", nil},
	{"loader_turns", "", nil},
}

// TestPythonCallbacks looks at Debian's Python with a library that calls back from a parallel loop.
func TestPythonCallbacks(t *testing.T) {
	library := pythonLibrary(t)
	for _, tt := range pythonCallbacks {
		t.Run(tt.way, func(t *testing.T) {
			t.Parallel()
			checkPythonCallbacks(t, "/usr/bin/python3", library, tt)
		})
	}
}

// TestPythonPause looks at a free-threaded Python whose pauses of all threads wait for an attached thread.
func TestPythonPause(t *testing.T) {
	python, library := omptest.FreeThreadedPython(t), pythonLibrary(t)
	start := "waits for the " + picture.PauseStart + ", which depends on LWP"
	for _, tt := range []pythonCallback{
		{"lock", picture.VerdictDeadlock, []string{start, "still attached", "CDLL in place of PyDLL"}},
		{"collector", picture.VerdictDeadlock, []string{start, "waits for the " + picture.PauseEnd, "lock table"}},
		{"lock_turns", "", nil},
		{"collector_turns", "", nil},
	} {
		t.Run(tt.way, func(t *testing.T) { checkPython(t, python, "pause.py", library, tt) })
	}
}

// TestPythonLockOutside checks that the wait of a thread without OpenMP for the lock of the interpreter is shown, with
// the holder.
func TestPythonLockOutside(t *testing.T) {
	cmd := pythonScript(t, "/usr/bin/python3", "callbacks.py", pythonLibrary(t), "held")
	startPython(t, cmd)
	pid := strconv.Itoa(cmd.Process.Pid)
	var pic *picture.Picture
	for range pythonLooks {
		_, out, _ := e2e.Output(t, "threads", "--json", pid)
		pic = e2e.Decode(t, out)
		for _, th := range pic.Threads {
			if th.WaitName == picture.InterpreterLock && th.WaitOn == cmd.Process.Pid && th.Runtime == "" {
				return
			}
		}
	}
	t.Fatalf("no thread waits for the lock of LWP %s: %+v", pid, pic.Threads)
}

// TestPythonLocks finds a deadlock through the lock of the interpreters of other suites.
func TestPythonLocks(t *testing.T) {
	if !omptest.Full() {
		t.Skip("only with OMPD_FULL: interpreters of other suites")
	}
	library := pythonLibrary(t)
	for _, p := range pythons {
		if p.suite == "bullseye" { // its C library is too old for the system's libgomp
			continue
		}
		t.Run(p.release, func(t *testing.T) {
			for _, tt := range pythonCallbacks {
				if tt.way == "lock" || tt.way == "turns" {
					checkPythonCallbacks(t, omptest.PythonOf(t, p.suite, p.release), library, tt)
				}
			}
		})
	}
}

// pythonCallback is a way of a script of testdata/python.
type pythonCallback struct {
	way  string
	kind picture.VerdictKind // empty: it continues
	says []string
}

// checkPythonCallbacks runs testdata/python/callbacks.py with an interpreter until it hangs, or is seen several times.
func checkPythonCallbacks(t *testing.T, python, library string, tt pythonCallback) {
	t.Helper()
	checkPython(t, python, "callbacks.py", library, tt)
}

// checkPython does so with a script of testdata/python.
func checkPython(t *testing.T, python, script, library string, tt pythonCallback) {
	t.Helper()
	cmd := pythonScript(t, python, script, library, tt.way)
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=4")
	startPython(t, cmd)
	pid := strconv.Itoa(cmd.Process.Pid)
	if tt.kind == "" {
		pythonGoesOn(t, pid)
		return
	}
	var pic *picture.Picture
	for range pythonLooks {
		if _, pic = e2e.Diagnose(t, pid); pythonSays(pic, tt.kind, tt.says) {
			return
		}
	}
	t.Fatalf("no verdict %s that says %q; at last %+v, warnings %q", tt.kind, tt.says, pic.Verdicts, pic.Warnings)
}

// pythonScript returns a command that executes a script of testdata/python.
func pythonScript(t *testing.T, python, script string, args ...string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(filepath.Dir(omptest.Programs(t)), "python", script)
	return exec.Command(python, append([]string{path}, args...)...)
}

// startPython starts a program of Python until the end of the test, and returns the first line that it prints.
func startPython(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	return startScript(t, cmd, func(string) bool { return true })
}

// startScript starts a program until the end of the test, and returns the first wanted line that it prints, with its
// newline.
func startScript(t *testing.T, cmd *exec.Cmd, isWanted func(line string) bool) string {
	t.Helper()
	var errs strings.Builder
	cmd.Stderr = &errs
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the signal
	})
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %q, %v:\n%s", cmd.Args, line, err, &errs)
		}
		if isWanted(line) {
			return line
		}
	}
}

// TestPythonForkedChild checks that the verdict on a forked child names the line of Python that forked it.
func TestPythonForkedChild(t *testing.T) {
	cmd := pythonScript(t, "/usr/bin/python3", "forked.py", pythonLibrary(t))
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=2")
	child, err := strconv.Atoi(strings.TrimSpace(startPython(t, cmd)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) }) // it may have ended
	var pic *picture.Picture
	says := []string{"fork was called in <module> forked.py:17 (Python)"}
	for range pythonLooks {
		if _, pic = e2e.Diagnose(t, strconv.Itoa(child)); pythonSays(pic, picture.VerdictForkChild, says) {
			return
		}
	}
	t.Fatalf("no verdict that says %q; at last %+v, warnings %q", says, pic.Verdicts, pic.Warnings)
}

// TestPythonOSFork checks that the verdict on a child of os.fork names the line of Python that forked it, where one
// line did so.
func TestPythonOSFork(t *testing.T) {
	library := pythonLibrary(t)
	for _, tt := range []struct{ way, says string }{
		{"attribute", "fork was called in by_attribute os_fork.py:24 (Python)"},
		{"variable", "fork was called in by_variable os_fork.py:35 (Python)"},
		{"library", "fork was called in by_library os_fork.py:51 (Python)"},
		{"several", ""},
	} {
		t.Run(tt.way, func(t *testing.T) { checkOSFork(t, "/usr/bin/python3", library, tt.way, tt.says) })
	}
	const says = "fork was called in by_attribute os_fork.py:24 (Python)"
	t.Run("3.13t", func(t *testing.T) { checkOSFork(t, omptest.FreeThreadedPython(t), library, "attribute", says) })
	for _, p := range pythons {
		if p.suite == "bullseye" || !omptest.Full() {
			continue // the C library of bullseye is too old for the system's libgomp
		}
		t.Run(p.release, func(t *testing.T) {
			checkOSFork(t, omptest.PythonOf(t, p.suite, p.release), library, "attribute", says)
		})
	}
}

// checkOSFork looks at the child of testdata/python/os_fork.py. If says is empty, no line must be named.
func checkOSFork(t *testing.T, python, library, way, says string) {
	t.Helper()
	cmd := pythonScript(t, python, "os_fork.py", library, way)
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=2")
	child, err := strconv.Atoi(strings.TrimSpace(startPython(t, cmd)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) }) // it may have ended
	var pic *picture.Picture
	for range pythonLooks {
		if _, pic = e2e.Diagnose(t, strconv.Itoa(child)); pythonSays(pic, picture.VerdictForkChild, nil) {
			break
		}
	}
	named := pythonSays(pic, picture.VerdictForkChild, []string{"fork was called in"})
	if !pythonSays(pic, picture.VerdictForkChild, []string{says}) || named != (says != "") {
		t.Errorf("no verdict that says %q: %+v, warnings %q", says, pic.Verdicts, pic.Warnings)
	}
}

// pythons are interpreters of Debian, of the suites in which omptest finds them.
var pythons = []struct{ suite, release string }{
	{"bullseye", "3.9"}, {"trixie", "3.13"}, {"sid", "3.14"}, {"sid", "3.15"},
}

// testedPythons returns the system's interpreter and 3.13t, and with OMPD_FULL those of pyenv and of other suites.
func testedPythons(t *testing.T) map[string]func(*testing.T) string {
	t.Helper()
	all := map[string]func(*testing.T) string{
		"system": func(*testing.T) string { return "/usr/bin/python3" },
		"3.13t":  func(t *testing.T) string { return omptest.FreeThreadedPython(t) },
	}
	if !omptest.Full() {
		return all
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for minor := 7; minor <= 15; minor++ {
		found, err := filepath.Glob(filepath.Join(home, fmt.Sprintf(".pyenv/versions/3.%d.*/bin/python3", minor)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			release := filepath.Base(filepath.Dir(filepath.Dir(path)))
			all[release] = func(*testing.T) string { return path }
		}
	}
	for _, p := range pythons {
		all[p.release] = func(t *testing.T) string { return omptest.PythonOf(t, p.suite, p.release) }
	}
	return all
}

// TestPythonFrames compares the Python frames of a thread with those that the program itself reports
// (traceback.extract_stack), live and in a core.
func TestPythonFrames(t *testing.T) {
	omptest.NeedsMore(t, "python3 and gcore")
	for name, path := range testedPythons(t) {
		t.Run(name, func(t *testing.T) {
			pid, want := startPythonFrames(t, path(t))
			_, out, _ := e2e.Output(t, "threads", "--json", strconv.Itoa(pid))
			checkPythonFrames(t, e2e.Decode(t, out), want)
			core := gcore(t, pid)
			_, out, _ = e2e.Output(t, "threads", "--json", core)
			checkPythonFrames(t, e2e.Decode(t, out), want)
		})
	}
}

// TestPythonSubinterpreters looks at a thread that executes code of a second interpreter: its stack has both's calls.
func TestPythonSubinterpreters(t *testing.T) {
	want := []string{"leave", "<module>", "run", "run"}
	for name, path := range testedPythons(t) {
		if strings.HasPrefix(name, "3.7") || name == "3.13t" {
			continue // 3.7 has no such module, and our build of 3.13t is without it
		}
		t.Run(name, func(t *testing.T) {
			cmd := pythonScript(t, path(t), "subinterpreters.py")
			if _, err := cmd.StdinPipe(); err != nil { // it continues until the end of its input
				t.Fatal(err)
			}
			if line := startPython(t, cmd); line != "ready\n" {
				t.Fatalf("it printed %q", line)
			}
			_, out, _ := e2e.Output(t, "threads", "--json", strconv.Itoa(cmd.Process.Pid))
			found := false
			for _, th := range e2e.Decode(t, out).Threads {
				var calls []string
				for _, f := range th.UserStack {
					if f.Language == "Python" {
						calls = append(calls, strings.TrimPrefix(f.Function, "Thread.")) // without it before 3.11
					}
				}
				found = found || len(calls) >= len(want) && slices.Equal(calls[:len(want)], want)
			}
			if !found {
				t.Errorf("no thread has the calls %q of both interpreters:\n%s", want, out)
			}
		})
	}
}

// TestPythonRunning looks at threads that execute Python code all the time. Each of their stacks consists of calls that
// the program itself has reported before: its outermost function, the lines of its calls, and a line of its innermost
// function.
func TestPythonRunning(t *testing.T) {
	omptest.NeedsMore(t, "python3")
	looks := omptest.Number(t, "looks", 10)
	all := []string{"/usr/bin/python3"}
	if omptest.Full() {
		for _, p := range pythons {
			if p.release != "3.9" { // no code object has lines (co_lines)
				all = append(all, omptest.PythonOf(t, p.suite, p.release))
			}
		}
	}
	for _, python := range all {
		output := filepath.Join(t.TempDir(), "calls")
		cmd := pythonScript(t, python, "running.py", output)
		startPython(t, cmd)
		text, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			known[strings.TrimSpace(line)] = true
		}
		stacks, frames := 0, 0
		for range looks {
			_, out, _ := e2e.Output(t, "threads", "--json", strconv.Itoa(cmd.Process.Pid))
			pic := e2e.Decode(t, out)
			for _, th := range pic.Threads {
				n := checkKnownCalls(t, th, known)
				if frames += n; n > 0 {
					stacks++
				}
			}
		}
		t.Logf("%s: %d looks, %d stacks, %d frames of Python", python, looks, stacks, frames)
		if stacks < looks { // one of the two threads at least, each time
			t.Errorf("%s: %d stacks in %d looks", python, stacks, looks)
		}
	}
}

// checkKnownCalls checks that the Python stack of a thread consists of known calls, and returns the number of frames.
func checkKnownCalls(t *testing.T, th picture.Thread, known map[string]bool) int {
	t.Helper()
	var names []string
	var lines []int
	for _, f := range th.UserStack {
		if f.Language == picture.LanguagePython {
			function := f.Function[strings.LastIndexByte(f.Function, '.')+1:]
			names, lines = append(names, filepath.Base(f.File)+" "+function), append(lines, f.Line)
		}
	}
	if len(names) == 0 {
		t.Errorf("thread %d has no Python frames: %+v, %q", th.LWP, th.UserStack, th.Errors)
		return 0
	}
	want := []string{fmt.Sprintf("line %s %d", names[0], lines[0]), "root " + names[len(names)-1]}
	for i := 1; i < len(names); i++ {
		want = append(want, fmt.Sprintf("call %s %d %s", names[i], lines[i], names[i-1]))
	}
	for _, w := range want {
		if !known[w] {
			t.Errorf("thread %d: no %q; its stack is %q %v", th.LWP, w, names, lines)
		}
	}
	return len(names)
}

// TestDamagedPython checks that a core with a damaged interpreter has its threads, a warning, and a line in doctor.
func TestDamagedPython(t *testing.T) {
	pid, _ := startPythonFrames(t, "/usr/bin/python3")
	_, out, _ := e2e.Output(t, "doctor", strconv.Itoa(pid))
	if !strings.Contains(out, "Python 3.") || !strings.Contains(out, "of Python code placed") {
		t.Errorf("doctor does not describe the interpreter:\n%s", out)
	}
	core := gcore(t, pid)
	const runtimeSize = 64 // the start of _PyRuntime, with the list of interpreters or the offsets
	overwrite(t, core, pythonRuntime(t), bytes.Repeat([]byte{0xff}, runtimeSize))
	_, out, _ = e2e.Output(t, "threads", "--json", core)
	pic := e2e.Decode(t, out)
	if len(pic.Threads) != 1 || len(pic.Threads[0].UserStack) == 0 {
		t.Errorf("threads %+v", pic.Threads)
	}
	if !slices.ContainsFunc(pic.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "Python in /usr/bin/python3") && strings.Contains(w, "frames are incomplete")
	}) {
		t.Errorf("warnings %q", pic.Warnings)
	}
	if _, out, _ = e2e.Output(t, "doctor", core); !strings.Contains(out, "partly  Python 3.") ||
		!strings.Contains(out, "reading the interpreter") {
		t.Errorf("doctor on the damaged interpreter:\n%s", out)
	}
}

// gcore writes the core of a running process.
func gcore(t *testing.T, pid int) string {
	t.Helper()
	core := filepath.Join(t.TempDir(), "core")
	if text, err := exec.Command("gcore", "-o", core, strconv.Itoa(pid)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return fmt.Sprintf("%s.%d", core, pid)
}

// pythonRuntime returns the address of _PyRuntime in processes of Debian's Python.
func pythonRuntime(t *testing.T) uint64 {
	t.Helper()
	f, err := elf.Open("/usr/bin/python3")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC {
		t.Skip("the system's Python is no executable at a fixed address")
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "_PyRuntime" {
			return s.Value
		}
	}
	t.Fatal("no _PyRuntime")
	return 0
}

// overwrite changes memory in a core.
func overwrite(t *testing.T, core string, at uint64, with []byte) {
	t.Helper()
	f, err := elf.Open(core)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && at >= p.Vaddr && at+uint64(len(with)) <= p.Vaddr+p.Filesz {
			w, err := os.OpenFile(core, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if _, err := w.WriteAt(with, int64(p.Off+at-p.Vaddr)); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s has no memory at %#x", core, at)
}

// startPythonFrames starts testdata/python/frames.py, and returns its frames, "function file line", innermost first.
func startPythonFrames(t *testing.T, python string) (pid int, frames []string) {
	t.Helper()
	omptest.NeedsMore(t, "python3 and gcore")
	out := filepath.Join(t.TempDir(), "frames")
	cmd := pythonScript(t, python, "frames.py", out)
	input, err := cmd.StdinPipe() // it continues until the end of its input
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = input.Close() })
	startPython(t, cmd)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, strings.Split(strings.TrimSpace(string(text)), "\n")
}

// checkPythonFrames compares the Python frames of the main thread with those that the program wrote. In the innermost
// one the program has continued to another line. Functions have qualified names from 3.11 on.
func checkPythonFrames(t *testing.T, pic *picture.Picture, want []string) {
	t.Helper()
	checkThreadFrames(t, pic, pic.Threads[0], want)
}

// checkThreadFrames does so with a thread.
func checkThreadFrames(t *testing.T, pic *picture.Picture, th picture.Thread, want []string) {
	t.Helper()
	var got []string
	for _, f := range th.UserStack {
		if f.Language != "" {
			got = append(got, fmt.Sprintf("%s %s %d", f.Function[strings.LastIndexByte(f.Function, '.')+1:],
				filepath.Base(f.File), f.Line))
		} else if strings.HasPrefix(f.Module, "python3") || strings.HasPrefix(f.Module, "libpython") {
			t.Errorf("a frame of the interpreter: %+v", f)
		}
	}
	if len(got) != len(want) || !slices.Equal(got[1:], want[1:]) {
		t.Errorf("frames %q, want %q; errors %q, warnings %q", got, want, th.Errors, pic.Warnings)
	}
}

// pythonLibrary returns the library of testdata/python.
func pythonLibrary(t *testing.T) string {
	t.Helper()
	omptest.Needs(t, "compilers")
	out := filepath.Join(t.TempDir(), "callbacks.so")
	source := filepath.Join(filepath.Dir(omptest.Programs(t)), "python/callbacks.c")
	build := exec.Command("gcc", "-g", "-O2", "-fopenmp", "-shared", "-fPIC", source, "-o", out)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func pythonSays(pic *picture.Picture, kind picture.VerdictKind, says []string) bool {
	for _, v := range pic.Verdicts {
		text, all := v.Summary+" "+v.Explanation+" "+v.Fix+" "+strings.Join(v.Evidence, " "), v.Kind == kind
		for _, s := range says {
			all = all && strings.Contains(text, s)
		}
		if all {
			return true
		}
	}
	return false
}

// pythonGoesOn looks at a program until several looks have found its team, and requires that none finds a hang.
func pythonGoesOn(t *testing.T, pid string) {
	t.Helper()
	teams := 0
	for look := 0; teams < healthyPythonLooks; look++ {
		if look == pythonLooks {
			t.Fatalf("the team of the loop was seen %d times in %d looks", teams, look)
		}
		_, out, _ := e2e.Output(t, "report", "--json", pid)
		pic := e2e.Decode(t, out)
		if hasTeam(pic) {
			teams++
		}
		for _, v := range pic.Verdicts {
			if diagnose.Hangs(v) {
				t.Fatalf("%s (%s): %s %s\n%q", v.Kind, v.Certainty, v.Summary, v.Explanation, v.Evidence)
			}
		}
	}
}
