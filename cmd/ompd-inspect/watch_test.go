package main

import (
	"encoding/json"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// watched runs watch on a process and returns its looks and its exit status.
func watched(t *testing.T, pid int, flags ...string) ([]inspect.Look, int) {
	t.Helper()
	status, out, errs := output(t, append([]string{"watch", "--json", strconv.Itoa(pid)}, flags...)...)
	if errs != "" {
		t.Errorf("%v: %s", flags, errs)
	}
	var looks []inspect.Look
	for line := range strings.Lines(out) {
		validateAs(t, "watch", []byte(line))
		var l inspect.Look
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		looks = append(looks, l)
	}
	return looks, status
}

// TestWatch gives the verdict on programs of LLVM's and GCC's that hang, spin, poll,
// compute in one loop and fork teams all the time.
func TestWatch(t *testing.T) {
	t.Run("libomp", func(t *testing.T) { watchAll(t, omptest.Build{}, omptest.RuntimeOf(t, 16)) })
	t.Run("libgomp", func(t *testing.T) { watchAll(t, omptest.Build{Compiler: omptest.GCC}, omptest.Libgomp(t)) })
}

func watchAll(t *testing.T, b omptest.Build, rt omptest.Runtime) {
	for _, c := range []struct {
		program, want string
		status        int
		args          []string
	}{
		{"barrier", inspect.WatchStuck, exitStuck, nil},
		{"tasks_deps", inspect.WatchStuck, exitStuck, nil},
		{"idle", inspect.WatchStuck, exitStuck, nil},
		{"pthreads", inspect.WatchStuck, exitStuck, nil},
		{"spinning", inspect.WatchSpinning, exitSpinning, nil},
		{"loops", inspect.WatchProgress, exitOK, []string{"compute"}},
		{"loops", inspect.WatchProgress, exitOK, []string{"barriers"}},
		{"loops", inspect.WatchProgress, exitOK, []string{"dynamic"}},
		{"loops", inspect.WatchSpinning, exitSpinning, []string{"flag"}},
		{"loops", inspect.WatchSpinning, exitSpinning, []string{"poll"}},
		{"fork_loop", inspect.WatchProgress, exitOK, nil},
	} {
		t.Run(strings.Join(append([]string{c.program}, c.args...), "/"), func(t *testing.T) {
			b.Program = c.program
			run := omptest.Run{Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Live, Args: c.args}
			pid := 0
			if c.program == "fork_loop" {
				pid = startLoop(t, run).Process.Pid
			} else {
				if c.program == "spinning" && b.Compiler == omptest.GCC {
					run.Env = []string{"OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=infinite"}
					if runtime.NumCPU() < 3 { // with more threads than processors, they sleep all the same
						c.want, c.status = inspect.WatchStuck, exitStuck
					}
				}
				pid = omptest.Start(t, run).PID
			}
			looks, status := watched(t, pid, "--interval", "300ms", "--count", "3")
			if len(looks) != 3 || status != c.status {
				t.Fatalf("%d looks, exit status %d, want %d", len(looks), status, c.status)
			}
			checkLooks(t, looks, c.want)
		})
	}
}

// checkLooks holds the looks against the form that they have to have.
func checkLooks(t *testing.T, looks []inspect.Look, want string) {
	t.Helper()
	for i, l := range looks {
		if l.Number != i+1 || (l.Change == nil) != (i == 0) || (l.Result == nil) != (i < len(looks)-1) || len(l.Picture.Threads) == 0 {
			t.Errorf("look %d: %+v", i, l)
		}
		if l.Change != nil && len(l.Change.Threads) < len(l.Picture.Threads) {
			t.Errorf("look %d: %d of %d threads", i, len(l.Change.Threads), len(l.Picture.Threads))
		}
	}
	last := looks[len(looks)-1]
	if last.Result.Verdict != want || last.Result.Reason == "" || last.Result.Seconds < 0.5 || last.Seconds != last.Result.Seconds {
		t.Errorf("%+v, want %s", last.Result, want)
	}
}

// startLoops starts the program loops in a mode.
func startLoops(t *testing.T, mode string) int {
	t.Helper()
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "loops"}), Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live, Args: []string{mode}})
	return p.PID
}

// TestWatchAtServer watches processes at a server: it comes to the same verdicts.
func TestWatchAtServer(t *testing.T) {
	address := serving(t, &serveOptions{})
	for program, want := range map[string]string{"barrier": inspect.WatchStuck, "spinning": inspect.WatchSpinning} {
		run := omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: program}), Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live}
		looks, status := watched(t, omptest.Start(t, run).PID, "--interval", "300ms", "--count", "3", "--server", address)
		if len(looks) != 3 || status != map[string]int{inspect.WatchStuck: exitStuck, inspect.WatchSpinning: exitSpinning}[want] {
			t.Fatalf("%s: %d looks, exit status %d: %+v", program, len(looks), status, looks[len(looks)-1].Result)
		}
		checkLooks(t, looks, want)
	}
	looks, status := watched(t, startLoops(t, "compute"), "--interval", "300ms", "--count", "3", "--server", address)
	if status != exitOK {
		t.Errorf("exit status %d", status)
	}
	checkLooks(t, looks, inspect.WatchProgress)
	status, _, errs := output(t, "watch", "--server", address, coreOf(t, "barrier").Core)
	if status != exitError || !strings.Contains(errs, "is no process that can be watched") {
		t.Errorf("a core: exit status %d: %s", status, errs)
	}
}

// TestWatchText prints a header, the changes and the verdict with what to type
// next.
func TestWatchText(t *testing.T) {
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}), Runtime: omptest.RuntimeOf(t, 19), Mode: omptest.Live})
	pid := strconv.Itoa(p.PID)
	status, out, errs := output(t, "watch", pid, "--interval", "100ms", "--count", "2")
	if status != exitStuck || errs != "" {
		t.Errorf("exit status %d: %s", status, errs)
	}
	for _, w := range []string{"pid " + pid, "no progress in 0.", "still", "wait_", "next: ompd-inspect " + pid} {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
	p.Stop()
	core := coreOf(t, "barrier").Core
	for _, args := range [][]string{{core}, {pid, "--interval", "1ms"}, {pid, "--count", "1"}, {}} {
		if status, _, errs := output(t, append([]string{"watch"}, args...)...); status != exitUsage || errs == "" {
			t.Errorf("%v: exit status %d: %s", args, status, errs)
		}
	}
}

// TestWatchNoStop says that it does not know where threads ran that it did not
// stop.
func TestWatchNoStop(t *testing.T) {
	pid := startLoops(t, "compute")
	looks, status := watched(t, pid, "--no-stop", "--interval", "300ms", "--count", "2")
	if status != exitUnknown {
		t.Fatalf("exit status %d, want %d", status, exitUnknown)
	}
	r := looks[len(looks)-1].Result
	if r.Verdict != inspect.WatchUnknown || !strings.Contains(r.Reason, "without a stop") {
		t.Errorf("%+v", r)
	}
	if k := looks[0].Picture.Target.Pause; k.Stops != 0 {
		t.Errorf("pause %+v", k)
	}
	// A hang is told without a stop too.
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}), Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	if _, status := watched(t, p.PID, "--no-stop", "--interval", "200ms", "--count", "2"); status != exitStuck {
		t.Errorf("a hang: exit status %d, want %d", status, exitStuck)
	}
}
