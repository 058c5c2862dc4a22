package report

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestMachineLanguages compares the stacks of Go and Python in a machine for aarch64 with those that the programs
// themselves report.
func TestMachineLanguages(t *testing.T) {
	lanes := omptest.Option("lanes")
	e2e.NeedsMachine(t, lanes)
	o := e2e.MachineOptions(t)
	o.Gcore, o.Python = false, true // gdb writes the reserved memory of Go, too
	m := omptest.StartMachine(t, o)
	for _, r := range []struct {
		family string
		major  int
		by     omptest.Compiler
	}{{"libgomp", 12, omptest.GCC}, {"libomp", 16, omptest.LLVM}} {
		runtime, _ := omptest.MachineRuntime(r.family, r.major)
		run := omptest.Run{Runtime: runtime, Env: []string{"OMP_NUM_THREADS=" + fmt.Sprint(teamSize)}}
		row := omptest.SupportPart{Runtime: r.family, Release: r.major, Arch: "aarch64"}
		for _, l := range []struct {
			name  string
			look  func() *omptest.MachineLook
			check func(*testing.T, *picture.Picture, *omptest.Result)
		}{
			{"go", func() *omptest.MachineLook {
				run.Exe = omptest.CompileGoForMachine(t, r.by)
				return m.Run(t, "/tmp/go", run, machineLook)
			}, func(t *testing.T, pic *picture.Picture, r *omptest.Result) { e2e.CheckGo(t, pic, r, true) }},
			{"python", func() *omptest.MachineLook {
				library := omptest.CompileLibraryForMachine(t, pythonFile(t, "callbacks.c"), r.by)
				return m.RunPython(t, "/tmp/python", pythonFile(t, "team.py"), library, run, machineLook)
			}, checkPythonTeam},
		} {
			name := l.name + "-" + runtime.Name
			if !e2e.IsChosenLane(name, lanes) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				row.Build, row.Target = name, "core"
				core := omptest.RecordSupport(t, row)
				row.Target = "process"
				process := omptest.RecordSupport(t, row)
				look := l.look()
				t.Run("core", func(t *testing.T) {
					defer core(t)
					flags := append(e2e.MachineFlags(m, look), "--native")
					l.check(t, e2e.Report(t, look.Core, flags...), &look.Result)
				})
				t.Run("process", func(t *testing.T) {
					defer process(t)
					l.check(t, e2e.LiveReport(t, look.Answers[0]), &look.Result)
				})
			})
		}
	}
}

// machineLook is the tool's command on programs of Go and Python in a machine.
var machineLook = []string{"report", "--json", "--native", e2e.MachineBudget}

// TestPythonTeam does so with Python on this machine.
func TestPythonTeam(t *testing.T) {
	truth := filepath.Join(t.TempDir(), "truth")
	ready, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	cmd := pythonScript(t, "/usr/bin/python3", "team.py", pythonLibrary(t))
	cmd.ExtraFiles = []*os.File{theirs} // becomes descriptor 3
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS="+fmt.Sprint(teamSize), "OMPD_TRUTH="+truth, "OMPD_READY_FD=3")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the signal
	})
	theirs.Close() // so that the end of the program is the end of the pipe
	if line, err := bufio.NewReader(ready).ReadString('\n'); line != "READY\n" {
		t.Fatalf("the script ended: %q, %v", line, err)
	}
	r := &omptest.Result{}
	if r.Truth, err = omptest.ReadTruth(truth); err != nil {
		t.Fatal(err)
	}
	_, out, _ := e2e.Output(t, "report", "--json", "--native", strconv.Itoa(cmd.Process.Pid))
	checkPythonTeam(t, e2e.Decode(t, out), r)
}

// teamSize is the number of threads of testdata/python/team.py.
const teamSize = 4

// checkPythonTeam compares the threads of testdata/python/team.py with their own Python stacks. The stack of a worker
// continues in the thread that forked the region.
func checkPythonTeam(t *testing.T, pic *picture.Picture, r *omptest.Result) {
	t.Helper()
	if len(r.Truth.Python) != teamSize {
		t.Fatalf("%d threads have stacks of Python, want %d", len(r.Truth.Python), teamSize)
	}
	fork := r.Truth.Python[r.Truth.Program.PID]
	numbers := map[int]bool{}
	for lwp, want := range r.Truth.Python {
		th := e2e.FindThread(pic, lwp)
		if th == nil {
			t.Errorf("thread %d is missing", lwp)
			continue
		}
		if lwp != r.Truth.Program.PID {
			want = slices.Concat(want, fork[1:])
		}
		checkThreadFrames(t, pic, *th, want)
		if e2e.IntOf(th.TeamSize) != teamSize || len(th.Errors) > 0 {
			t.Errorf("thread %d has a team of %d, errors %q", lwp, e2e.IntOf(th.TeamSize), th.Errors)
		}
		numbers[e2e.IntOf(th.ThreadNum)] = true
	}
	if len(numbers) != teamSize {
		t.Errorf("threads have the numbers %v", numbers)
	}
}

// pythonFile returns the path of a file of testdata/python.
func pythonFile(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(filepath.Dir(omptest.Programs(t)), "python", name)
}
