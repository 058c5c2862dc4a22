package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// watched runs watch on a process and returns its looks and its exit status.
func watched(t *testing.T, pid int, flags ...string) ([]picture.Look, int) {
	t.Helper()
	status, out, errs := e2e.Output(t, append([]string{"watch", "--json", strconv.Itoa(pid)}, flags...)...)
	if errs != "" {
		t.Errorf("%v: %s", flags, errs)
	}
	var looks []picture.Look
	for line := range strings.Lines(out) {
		omptest.Validate(t, "watch", []byte(line))
		var l picture.Look
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		looks = append(looks, l)
	}
	return looks, status
}

// TestWatchResults checks the verdicts on programs of LLVM and GCC that hang, spin, poll, compute in one loop and
// fork teams all the time.
func TestWatchResults(t *testing.T) {
	t.Run("libomp", func(t *testing.T) { watchAll(t, omptest.Build{}, omptest.RuntimeOf(t, 16)) })
	t.Run("libgomp", func(t *testing.T) { watchAll(t, omptest.Build{Compiler: omptest.GCC}, omptest.Libgomp(t)) })
}

func watchAll(t *testing.T, b omptest.Build, rt omptest.Runtime) {
	for _, c := range []struct {
		program, want string
		status        int
		args          []string
		flags         []string // of the compiler; empty: the usual ones
	}{
		{"barrier", picture.WatchStuck, cli.ExitStuck, nil, nil},
		{"tasks_deps", picture.WatchStuck, cli.ExitStuck, nil, nil},
		{"idle", picture.WatchStuck, cli.ExitStuck, nil, nil},
		{"pthreads", picture.WatchStuck, cli.ExitStuck, nil, nil},
		{"spinning", picture.WatchStuck, cli.ExitStuck, nil, nil}, // they wait for a thread that sleeps
		{"loops", picture.WatchProgress, cli.ExitOK, []string{"compute"}, nil},
		{"loops", picture.WatchProgress, cli.ExitOK, []string{"barriers"}, nil},
		{"loops", picture.WatchProgress, cli.ExitOK, []string{"dynamic"}, nil},
		{"loops", picture.WatchSpinning, cli.ExitSpinning, []string{"flag"}, nil},
		{"loops", picture.WatchSpinning, cli.ExitSpinning, []string{"meet"}, []string{"-O0", "-g"}},
		{"loops", picture.WatchSpinning, cli.ExitSpinning, []string{"meet"}, []string{"-O2", "-g"}},
		{"loops", picture.WatchProgress, cli.ExitOK, []string{"compute"}, []string{"-O0", "-g"}},
		{"loops", picture.WatchProgress, cli.ExitOK, []string{"compute"}, []string{"-O2", "-g"}},
		{"loops", picture.WatchSpinning, cli.ExitSpinning, []string{"yield"}, []string{"-O0", "-g"}},
		{"loops", picture.WatchSpinning, cli.ExitSpinning, []string{"yield"}, []string{"-O2", "-g"}},
		{"loops", picture.WatchProgress, cli.ExitOK, []string{"works"}, []string{"-O2", "-g"}},
		{"loops", picture.WatchProgress, cli.ExitOK, []string{"tasks"}, []string{"-O0", "-g"}},
		{"loops", picture.WatchProgress, cli.ExitOK, []string{"tasks"}, []string{"-O2", "-g"}},
		{"fork_loop", picture.WatchProgress, cli.ExitOK, nil, nil},
	} {
		if slices.Contains(c.args, "tasks") && b.Compiler == omptest.GCC {
			continue // GNU's taskyield executes no task, and its runtime does not count the executed ones
		}
		t.Run(strings.Join(append(append([]string{c.program}, c.args...), c.flags...), "/"), func(t *testing.T) {
			b.Program, b.Flags = c.program, c.flags
			run := omptest.Run{Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Live, Args: c.args}
			pid := 0
			if c.program == "fork_loop" {
				pid = e2e.StartLoop(t, run).Process.Pid
			} else {
				if c.program == "spinning" && b.Compiler == omptest.GCC {
					run.Env = []string{"OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=infinite"}
				}
				p := omptest.Start(t, run)
				if pid = p.PID; c.program == "loops" {
					p.AwaitLoop(t)
				}
			}
			looks, status := watched(t, pid, "--interval", "300ms", "--count", "3")
			if len(looks) != 3 || status != c.status {
				t.Fatalf("%d looks, exit status %d, want %d", len(looks), status, c.status)
			}
			checkLooks(t, looks, c.want)
		})
	}
}

// TestWatchPollingLoop checks that a loop of timed waits, or of sleeps, that polls for an event that never comes
// is no progress, and that one that counts its iterations is.
func TestWatchPollingLoop(t *testing.T) {
	for _, o := range []string{"-O0", "-O2"} {
		for _, b := range []omptest.Build{{}, {Compiler: omptest.GCC}} {
			rt := omptest.RuntimeOf(t, 16)
			if b.Compiler == omptest.GCC {
				rt = omptest.Libgomp(t)
			}
			b.Flags = []string{o}
			watchPolls(t, b, rt)
		}
	}
}

func watchPolls(t *testing.T, b omptest.Build, rt omptest.Runtime) {
	for _, c := range []struct{ program, way string }{
		{"polls", "condition"}, {"polls", "semaphore"}, {"polls", "sleep"}, {"loops", "poll"}, {"polls", "turns"},
	} {
		t.Run(fmt.Sprint(b.Compiler, b.Flags, c.program, c.way), func(t *testing.T) {
			b.Program = c.program
			run := omptest.Run{Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Live, Args: []string{c.way}}
			p := omptest.Start(t, run)
			p.AwaitLoop(t) // entering the loop is progress
			looks, status := watched(t, p.PID, "--interval", "200ms", "--count", "4")
			if c.way == "turns" {
				if status != cli.ExitOK {
					t.Errorf("exit status %d of a loop that gets on: %+v", status, looks[len(looks)-1].Result)
				}
				return
			}
			// The status depends on the processor's speed, and on whether a look finds them between two waits.
			if status != cli.ExitStuck && status != cli.ExitSpinning && status != cli.ExitUnknown {
				t.Errorf("exit status %d: %+v", status, looks[len(looks)-1].Result)
			}
		})
	}
}

// maxTries is the number of times that looks may find threads at work by chance between two sleeps.
const maxTries = 30

// TestWatchRecorded watches threads that acquire locks and are asleep at each look: where a recorder writes
// events of these locks, that is progress. Threads that try to acquire a lock in vain make none, although the
// recorder writes these events too. Watch prints the number of records, at a server too.
func TestWatchRecorded(t *testing.T) {
	address := e2e.Serve(t)
	for _, rt := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		b, load := omptest.Build{Program: "polls", Flags: []string{"-O2"}}, "OMP_TOOL_LIBRARIES="
		if rt.Name == omptest.Libgomp(t).Name {
			b.Compiler, load = omptest.GCC, "LD_PRELOAD="
		}
		for way, right := range map[string][]int{
			"locks": {cli.ExitOK},
			"tests": {cli.ExitStuck, cli.ExitSpinning, cli.ExitUnknown}, // because the processor is fast
		} {
			p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Live,
				Args: []string{way}, Env: []string{load + omptest.Recorder(t)}})
			for _, where := range [][]string{nil, {"--no-stop"}, {"--server", address}} {
				flags := append(where, "--interval", "200ms", "--count", "3")
				looks, status := watched(t, p.PID, flags...)
				// A thread that tries in vain and sleeps is at work in some looks.
				for tries := 1; way == "tests" && tries < maxTries && !slices.Contains(right, status); tries++ {
					looks, status = watched(t, p.PID, flags...)
				}
				result := looks[len(looks)-1].Result
				if !slices.Contains(right, status) {
					t.Errorf("%s %s %v: exit status %d: %+v", rt.Name, way, where, status, result)
				}
				if r := result.Recorded; r == nil || r.Records == 0 || r.PerSecond == 0 {
					t.Errorf("%s %s %v: recorded %+v", rt.Name, way, where, r)
				}
			}
			p.Stop()
		}
	}
}

// checkLooks checks the form of the looks.
func checkLooks(t *testing.T, looks []picture.Look, want string) {
	t.Helper()
	for i, l := range looks {
		if l.Number != i+1 || (l.Change == nil) != (i == 0) || (l.Result == nil) != (i < len(looks)-1) ||
			len(l.Picture.Threads) == 0 {
			t.Errorf("look %d: %+v", i, l)
		}
		if l.Change != nil && len(l.Change.Threads) < len(l.Picture.Threads) {
			t.Errorf("look %d: %d of %d threads", i, len(l.Change.Threads), len(l.Picture.Threads))
		}
	}
	last := looks[len(looks)-1]
	if last.Result.Verdict != want || last.Result.Reason == "" || last.Result.Seconds < 0.5 ||
		last.Seconds != last.Result.Seconds {
		t.Errorf("%+v, want %s", last.Result, want)
	}
}

// startLoops starts the program loops in a mode, and waits until it is in its loop.
func startLoops(t *testing.T, mode string) int {
	t.Helper()
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "loops"}),
		Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live, Args: []string{mode}})
	p.AwaitLoop(t)
	return p.PID
}

// TestWatchAtServer watches processes at a server: the verdicts are the same.
func TestWatchAtServer(t *testing.T) {
	address := e2e.Serve(t)
	barrier := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}),
		Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	for _, tt := range []struct {
		pid    int
		want   string
		status int
	}{
		{barrier.PID, picture.WatchStuck, cli.ExitStuck},
		{startLoops(t, "flag"), picture.WatchSpinning, cli.ExitSpinning},
	} {
		looks, status := watched(t, tt.pid, "--interval", "300ms", "--count", "3", "--server", address)
		if len(looks) != 3 || status != tt.status {
			t.Fatalf("%s: %d looks, exit status %d: %+v", tt.want, len(looks), status, looks[len(looks)-1].Result)
		}
		checkLooks(t, looks, tt.want)
	}
	looks, status := watched(t, startLoops(t, "compute"), "--interval", "300ms", "--count", "3", "--server", address)
	if status != cli.ExitOK {
		t.Errorf("exit status %d", status)
	}
	checkLooks(t, looks, picture.WatchProgress)
	status, _, errs := e2e.Output(t, "watch", "--server", address, e2e.DumpProgram(t, "barrier").Core)
	if status != cli.ExitError || !strings.Contains(errs, "is not a process that can be watched") {
		t.Errorf("a core: exit status %d: %s", status, errs)
	}
}

// TestWatchText checks that the text has a header, the changes and the verdict with the event for which all wait
// in the end.
func TestWatchText(t *testing.T) {
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}),
		Runtime: omptest.RuntimeOf(t, 19), Mode: omptest.Live})
	pid := strconv.Itoa(p.PID)
	status, out, errs := e2e.Output(t, "watch", pid, "--interval", "100ms", "--count", "2")
	if status != cli.ExitStuck || errs != "" {
		t.Errorf("exit status %d: %s", status, errs)
	}
	for _, w := range []string{"pid " + pid, "no progress in 0.", "still", "wait_",
		" sleeps (pause, until a signal comes) in truth_end truth.h:",
		"3 threads wait for it in the end"} {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
	p.Stop()
	core := e2e.DumpProgram(t, "barrier").Core
	for _, args := range [][]string{{core}, {pid, "--interval", "1ms"}, {pid, "--count", "1"}, {}} {
		status, _, errs := e2e.Output(t, append([]string{"watch"}, args...)...)
		if status != cli.ExitUsage || errs == "" {
			t.Errorf("%v: exit status %d: %s", args, status, errs)
		}
	}
}

// TestWatchNoStop checks that watch without stops reports that the positions of threads are unknown.
func TestWatchNoStop(t *testing.T) {
	pid := startLoops(t, "compute")
	looks, status := watched(t, pid, "--no-stop", "--interval", "300ms", "--count", "2")
	if status != cli.ExitUnknown {
		t.Fatalf("exit status %d, want %d", status, cli.ExitUnknown)
	}
	r := looks[len(looks)-1].Result
	if r.Verdict != picture.WatchUnknown || !strings.Contains(r.Reason, "without stopping them") {
		t.Errorf("%+v", r)
	}
	if k := looks[0].Picture.Target.Pause; k.Stops != 0 {
		t.Errorf("pause %+v", k)
	}
	// A hang is reported without a stop too.
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}),
		Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	if _, status := watched(t, p.PID, "--no-stop", "--interval", "200ms", "--count", "2"); status != cli.ExitStuck {
		t.Errorf("a hang: exit status %d, want %d", status, cli.ExitStuck)
	}
}
