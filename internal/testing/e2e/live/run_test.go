package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestRunFindsNoHang runs programs that make progress, or wait without OpenMP, for longer than --hang-after.
func TestRunFindsNoHang(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "fork_loop"})
	for _, c := range []struct {
		script string
		quiet  bool
		status int
		errs   string
	}{
		{"exec env LD_LIBRARY_PATH=" + omptest.RuntimeOf(t, 16).Dir + " " + exe + " 5 < /dev/zero", false,
			cli.ExitSignal + int(unix.SIGALRM), ""},
		{"sleep 3; exit 5", true, 5, ""},
	} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			t.Parallel()
			quiet := fmt.Sprintf("--quiet=%v", c.quiet)
			status, _, errs := e2e.Output(t, "run", "--hang-after", "2s", quiet, "--", "sh", "-c", c.script)
			if status != c.status || errs != c.errs {
				t.Errorf("exit status %d, want %d: %s", status, c.status, errs)
			}
		})
	}
	for flag, want := range map[string]string{"--hang-after=10ms": "it must be at least 400ms",
		"--no-stop": "always stopped"} {
		if status, _, errs := e2e.Output(t, "run", flag, "--", "true"); status != cli.ExitUsage ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: exit status %d: %s", flag, status, errs)
		}
	}
}

// TestRunComputingIsNoHang runs programs that compute, or count under locks, for longer than --hang-after: without
// optimization, the loops change only memory and floating-point registers. A program of the same form that waits for a
// flag is ended.
func TestRunComputingIsNoHang(t *testing.T) {
	for _, compiler := range []omptest.Compiler{"", omptest.GCC} {
		rt := omptest.RuntimeOf(t, 16)
		if compiler == omptest.GCC {
			rt = omptest.Libgomp(t)
		}
		for _, level := range []string{"-O0", "-O2"} {
			exe := omptest.Compile(t, omptest.Build{Program: "healthy_computing", Compiler: compiler,
				Flags: []string{level, "-g"}})
			for way := range 4 {
				t.Run(fmt.Sprint(rt.Name, level, "/", way), func(t *testing.T) {
					t.Parallel()
					seconds := "5"
					if way == 3 {
						seconds = "3600"
					}
					status, _, errs := e2e.Output(t, "run", "--hang-after", "1s", "--", "env",
						"LD_LIBRARY_PATH="+rt.Dir, exe, strconv.Itoa(way), seconds)
					switch {
					case way < 3 && (status != cli.ExitSignal+int(unix.SIGALRM) ||
						strings.Contains(errs, "no progress")):
						t.Errorf("exit status %d: %s", status, errs)
					case way == 3 && (status != cli.ExitHang || !strings.Contains(errs, "SPINNING ON A FLAG") ||
						!strings.Contains(errs, "until started changes")):
						t.Errorf("exit status %d of a program that hangs: %s", status, errs)
					}
				})
			}
		}
	}
}

// TestRunUnjudged runs a program without an OpenMP runtime, which waits until the tool has said that it is not judged:
// after half a minute.
func TestRunUnjudged(t *testing.T) {
	t.Parallel()
	cmd := e2e.Process("run", "--hang-after", "400ms", "--", "sh", "-c", "read line; exit 4")
	input, err1 := cmd.StdinPipe()
	errs, err2 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(errs)
	line, err := said.ReadString('\n')
	const want = "ompd-inspect: --hang-after has no effect: no process of the program has loaded an OpenMP " +
		"runtime, and processes without one are not judged\n"
	if err != nil || line != want {
		t.Errorf("%q, %v, want %q", line, err, want)
	}
	input.Close()
	rest, err := io.ReadAll(said)
	if end := (&exec.ExitError{}); !errors.As(cmd.Wait(), &end) || end.ExitCode() != 4 || len(rest) > 0 || err != nil {
		t.Errorf("exit status %v, then %q, %v", end, rest, err)
	}
}

// TestRunJSON hangs a program under run --json without --report: the standard error is one JSON document.
func TestRunJSON(t *testing.T) {
	t.Parallel()
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	script := `exec env OMPD_READY_FD=1 OMPD_TRUTH=/dev/null LD_LIBRARY_PATH=` + omptest.RuntimeOf(t, 16).Dir + " " +
		exe + " wait >/dev/null"
	status, _, errs := e2e.Output(t, "run", "--json", "--hang-after", "1s", "--", "sh", "-c", script)
	if status != cli.ExitHang {
		t.Fatalf("exit status %d, want %d: %s", status, cli.ExitHang, errs)
	}
	omptest.Validate(t, "picture", []byte(errs))
	if s := e2e.Decode(t, errs).Target.Pause.Standstill; s == nil || s.Seconds < 1 {
		t.Errorf("why it was reported: %+v", s)
	}
}

// TestRunReportMatrix compares the picture of a program that is about to die with the truth of its threads, and
// with its core.
func TestRunReportMatrix(t *testing.T) {
	for _, major := range liveRuntimes {
		t.Run(fmt.Sprintf("libomp-%d", major), func(t *testing.T) {
			t.Parallel()
			for _, program := range []string{"barrier", "crash_task", "critical", "nested", "tasks_deps"} {
				if major != 16 && !omptest.Turn(e2e.RestDays, "run", fmt.Sprint(major), program) {
					continue
				}
				dir := t.TempDir()
				r := omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: program}),
					Runtime: omptest.RuntimeOf(t, major), Mode: omptest.Kernel}
				status, pic := e2e.ReportOfRun(t, r.CommandLine(dir))
				truth, err := omptest.ReadTruth(filepath.Join(dir, "truth.jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				if status != cli.ExitSignal+truth.Program.Signal {
					t.Errorf("%s: exit status %d", program, status)
				}
				e2e.CheckPicture(t, pic, &omptest.Result{Truth: truth, Exe: r.Exe}, true)
				os.Remove(filepath.Join(dir, "core"))
			}
		})
	}
}

// TestRunCoreHasReport writes cores of programs that die and that hang: they contain the reported picture, and
// the memory and registers of the kernel's core.
func TestRunCoreHasReport(t *testing.T) {
	for _, l := range e2e.Lanes() {
		if l.Mode != omptest.Live {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			defer omptest.CoresInPlace(t)()
			dir := t.TempDir()
			core := filepath.Join(dir, "written")
			r := l.Run(t, e2e.Program{Name: "crash_task"})
			r.Mode = omptest.Segv
			argv := append([]string{"sh", "-c", `ulimit -c unlimited; exec "$@"`, "sh"}, r.CommandLine(dir)...)
			_, pic := e2e.ReportOfRun(t, argv, "--core", core)
			sameAsCore(t, pic, core, "SIGSEGV")
			sameMemory(t, core, filepath.Join(dir, "core"))
			out := omptest.Gdb(t, r.Exe, core, "info threads", "print $_siginfo.si_signo",
				"print $_siginfo._sifields._sigfault.si_addr")
			if r.Runtime.Loader == "" && !strings.Contains(out, "truth_end") {
				t.Errorf("gdb does not say where it died:\n%s", out)
			}
			for _, want := range []string{"* 1 ", "  2 ", "= 11", "= (void *) 0x10"} {
				if !strings.Contains(out, want) {
					t.Errorf("gdb does not say %q:\n%s", want, out)
				}
			}

			r = l.Run(t, e2e.Program{Name: "lock_cycle"})
			argv = r.CommandLine(dir)
			argv[slices.Index(argv, string(omptest.Live))] = "wait"
			_, pic = e2e.ReportOfRun(t, argv, "--core", core, "--hang-after", "1s")
			sameAsCore(t, pic, core, "")
		})
	}
}

// sameAsCore compares a picture with that of a core that was written with it.
func sameAsCore(t *testing.T, pic *picture.Picture, core, signal string) {
	t.Helper()
	other := e2e.Report(t, core)
	if other.Target.Signal != signal || other.Target.CrashedLWP != pic.Target.CrashedLWP ||
		other.Target.Producer != "ompd-inspect" {
		t.Errorf("target %+v, of the process %+v", other.Target, pic.Target)
	}
	for _, p := range []*picture.Picture{pic, other} {
		for i := range p.Threads {
			if p.Threads[i].Runtime == "libgomp" {
				p.Threads[i].Number = nil // the order of the target's threads
			}
		}
	}
	compareLive(t, pic, other, nil)
}

// sameMemory requires that one core has the memory of the other.
func sameMemory(t *testing.T, core, kernels string) {
	t.Helper()
	var cores [2]*corefile.Core
	for i, path := range []string{core, kernels} {
		c, err := corefile.Open(path, corefile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		cores[i] = c
	}
	ids, _ := cores[1].ThreadIDs(callbacks.ThreadIDLWP)
	mine, _ := cores[0].ThreadIDs(callbacks.ThreadIDLWP)
	if len(ids) != len(mine) || len(ids) == 0 || ids[0] != mine[0] {
		t.Errorf("threads %v, in the kernel's core %v", mine, ids)
	}
	for _, id := range ids {
		a, _ := cores[0].Registers(id)
		if b, err := cores[1].Registers(id); a != b || err != nil {
			t.Errorf("registers of %v: %+v, in the kernel's core %+v, %v", id, a, b, err)
		}
	}
	pages := 0
	for _, m := range cores[1].Mappings() {
		for a := m.Low; a.Offset < m.High.Offset; a = a.Add(4096) {
			var b [2][4096]byte
			if cores[1].ReadMemory(a, b[1][:]) != nil {
				continue
			}
			pages++
			if err := cores[0].ReadMemory(a, b[0][:]); err != nil && b[1] != [4096]byte{} || err == nil &&
				b[0] != b[1] {
				t.Fatalf("memory at %v differs from that of the kernel's core: %v", a, err)
			}
		}
	}
	if pages < 100 {
		t.Errorf("only %d pages compared", pages)
	}
}

// TestRunStatusOfEnd compares the exit status and the output of run with the way in which programs end.
func TestRunStatusOfEnd(t *testing.T) {
	for _, c := range []struct {
		script string
		status int
		says   []string
	}{
		{"exit 0", 0, nil},
		{"exit 7", 7, nil},
		{"kill -TERM $$", cli.ExitSignal + 15, nil},
		{"ulimit -c 0; kill -ABRT $$", cli.ExitSignal + 6, []string{"SIGABRT in LWP", "none known in this process\n",
			"no verdict: nothing shows why SIGABRT came"}},
		{"trap 'exit 3' SEGV; kill -SEGV $$; sleep 60", 3, nil},
		{"ulimit -c 0; sh -c 'kill -BUS $$'; exit 9", 9, []string{"SIGBUS in LWP"}},
	} {
		status, out, errs := e2e.Output(t, "run", "--", "sh", "-c", c.script)
		if status != c.status || out != "" || (errs == "") != (c.says == nil) {
			t.Errorf("%s: exit status %d, want %d; printed %q, %q", c.script, status, c.status, out, errs)
		}
		for _, s := range c.says {
			if !strings.Contains(errs, s) {
				t.Errorf("%s: the report does not say %q:\n%s", c.script, s, errs)
			}
		}
	}
	for path, want := range map[string]int{"/nowhere/program": cli.ExitNotFound, "no-such-program": cli.ExitNotFound,
		"/etc/passwd": cli.ExitNoExec, "/": cli.ExitNoExec} {
		if status, _, errs := e2e.Output(t, "run", "--", path); status != want || !strings.Contains(errs, path) {
			t.Errorf("%s: exit status %d, want %d: %s", path, status, want, errs)
		}
	}
	if status, _, errs := e2e.Output(t, "run"); status != cli.ExitUsage || !strings.Contains(errs, "which program") {
		t.Errorf("exit status %d: %s", status, errs)
	}
}
