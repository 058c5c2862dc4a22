package live

import (
	"bufio"
	"bytes"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// aloneWays are the healthy programs of healthy_alone.c: some compute, some wait for one another, and some wait
// for input, time, a client or a child.
var aloneWays = []struct {
	name  string
	waits bool
}{
	{"integral", false}, {"roots", false}, {"histogram", false}, {"one_lock", false}, {"sections", false},
	{"counts", false}, {"relax", false}, {"turns", false}, {"napper", true}, {"ticking", true}, {"dynamic", false},
	{"tasks", false}, {"buffer", false}, {"input", true}, {"sleeper", true}, {"limited", true}, {"server", true},
	{"parent", true}, {"idle", true},
}

// aloneRun is one healthy program, built in one way, on one runtime.
type aloneRun struct {
	name  string
	waits bool
	run   omptest.Run
}

// aloneRuns builds the healthy programs with both families of compilers, without and with optimization.
func aloneRuns(t *testing.T) (out []aloneRun) {
	t.Helper()
	for _, b := range []omptest.Build{
		{Flags: []string{"-O0"}}, {Flags: []string{"-O2"}},
		{Flags: []string{"-O0"}, Compiler: omptest.GCC}, {Flags: []string{"-O2"}, Compiler: omptest.GCC},
	} {
		b.Program, b.Flags = "healthy_alone", append(b.Flags, "-g", "-Wl,--no-as-needed", "-lm")
		rt, family := omptest.RuntimeOf(t, 16), "libomp"
		if b.Compiler == omptest.GCC {
			rt, family = omptest.Libgomp(t), "libgomp"
		}
		exe := omptest.Compile(t, b)
		for _, w := range aloneWays {
			out = append(out, aloneRun{
				name: family + b.Flags[0] + "/" + w.name, waits: w.waits,
				run: omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Live, Args: []string{w.name}},
			})
		}
	}
	return out
}

// command returns a command that runs the program under another command, at low priority.
func (a *aloneRun) command(t *testing.T, by ...string) *exec.Cmd {
	t.Helper()
	line := append(append(by, "nice", "-n", "19"), a.run.CommandLine(t.TempDir())...)
	return exec.Command(line[0], line[1:]...)
}

// started starts a command of a healthy program with an input that stays open, and waits until the program is
// ready.
func started(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	_, err1 := cmd.StdinPipe()
	ready, err2 := cmd.StdoutPipe()
	i := slices.IndexFunc(cmd.Args, func(s string) bool { return strings.HasPrefix(s, "OMPD_TRUTH=") })
	cmd.Args = slices.Insert(cmd.Args, i, "OMPD_READY_FD=1")
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(ready).ReadString('\n'); line != "READY\n" {
		_ = cmd.Process.Kill()
		t.Fatalf("%v: %q, %v", cmd.Args, line, err)
	}
}

// kill kills a program and waits for its end.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // the signal
}

// underLoad keeps the processors busy until the test ends. A quick run shares the machine with other tests, so
// its load uses only the time that the programs at low priority could have.
func underLoad(t *testing.T, loops int) {
	t.Helper()
	priority := "0"
	if omptest.Quick() {
		priority = "19"
	}
	for range loops {
		cmd := exec.Command("nice", "-n", priority, "sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { kill(cmd) })
	}
}

// aloneAtOnce is the number of healthy programs that run at a time, and busyLoops the number of loops that run at
// the same time.
const (
	aloneAtOnce = 4
	busyLoops   = 8
)

// severally calls f for the numbers below n, at most atOnce at a time.
func severally(n, atOnce int, f func(i int)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	group.Wait()
}

// TestWatchHealthy watches healthy programs on a busy machine: watch finds no spinning, and progress in each
// program that computes.
func TestWatchHealthy(t *testing.T) {
	runs := aloneRuns(t)
	looks := omptest.Number(t, "watched", len(runs)/4*3)
	each := max(3, looks/len(runs))
	underLoad(t, busyLoops)
	var mu sync.Mutex
	count := map[string]int{}
	severally(len(runs), aloneAtOnce, func(i int) {
		if a := &runs[i]; looks >= 3*len(runs) || omptest.Turn(4, a.name) {
			got := a.verdicts(t, each)
			mu.Lock()
			defer mu.Unlock()
			for v, n := range got {
				count[v] += n
			}
		}
	})
	t.Logf("verdicts of changes between looks: %v", count)
}

// verdicts watches one healthy program and counts the verdicts.
func (a *aloneRun) verdicts(t *testing.T, looks int) map[string]int {
	cmd := a.command(t)
	started(t, cmd)
	defer kill(cmd)
	count := map[string]int{}
	list, _ := watched(t, cmd.Process.Pid, "--interval", "200ms", "--count", strconv.Itoa(looks))
	for _, l := range list {
		for _, v := range l.Picture.Verdicts {
			if v.Severity == picture.SeverityHang {
				t.Errorf("%s, look %d: %s", a.name, l.Number, v.Kind)
			}
		}
		if l.Change == nil {
			continue
		}
		count[l.Change.Verdict]++
		if l.Change.Verdict == picture.WatchSpinning || l.Change.Verdict == picture.WatchStuck && !a.waits {
			t.Errorf("%s, look %d: %s: %s: %+v", a.name, l.Number, l.Change.Verdict, l.Change.Reason, l.Change.Threads)
		}
	}
	if len(list) != looks {
		t.Errorf("%s: %d looks, want %d", a.name, len(list), looks)
	}
	return count
}

// foldedLooks is the number of looks that must find threads in the loop.
const foldedLooks = 5

// TestFoldedWaitIsNoHang diagnoses threads that spin until a sleeping thread increments a counter. At -O2, gcc
// folds the wait into the loop around it, which then has no branch and counts by the value that it reads.
func TestFoldedWaitIsNoHang(t *testing.T) {
	for _, a := range aloneRuns(t) {
		if !strings.HasSuffix(a.name, "/napper") {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			cmd := a.command(t)
			started(t, cmd)
			defer kill(cmd)
			for range foldedLooks {
				status, pic := e2e.Diagnose(t, strconv.Itoa(cmd.Process.Pid))
				for _, v := range pic.Verdicts {
					if v.Severity == picture.SeverityHang {
						t.Errorf("%s: %s", v.Kind, v.Summary)
					}
				}
				omptest.Equal(t, "exit status", status, cli.ExitOK)
			}
		})
	}
}

// aloneRounds is the time for which the healthy programs run, in units of --hang-after.
const aloneRounds = 2.5

// TestRunHealthy runs healthy programs on a busy machine for longer than --hang-after: run must not end them.
// In a campaign, each run takes at least 5 s.
func TestRunHealthy(t *testing.T) {
	runs := aloneRuns(t)
	few := len(runs) / 4
	n := omptest.Number(t, "runs", few)
	after := time.Second
	if n > few {
		after = 5 * time.Second
	}
	underLoad(t, busyLoops)
	severally(n, 3*aloneAtOnce, func(i int) {
		if n > few || omptest.Turn(4, runs[i].name) {
			runs[i%len(runs)].leftAlone(t, after)
		}
	})
	t.Logf("%d runs", n)
}

// leftAlone runs a healthy program for longer than --hang-after, and then ends it.
func (a *aloneRun) leftAlone(t *testing.T, after time.Duration) {
	cmd := a.command(t, "ompd-inspect", "run", "--hang-after", after.String(), "--")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	started(t, cmd)
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case <-over:
	case <-time.After(time.Duration(aloneRounds * float64(after))):
		_ = cmd.Process.Signal(unix.SIGTERM)
		<-over
	}
	if got := cmd.ProcessState.ExitCode(); got != cli.ExitSignal+int(unix.SIGTERM) || errs.Len() > 0 {
		t.Errorf("%s: exit status %d, want %d:\n%s", a.name, got, cli.ExitSignal+int(unix.SIGTERM), errs.String())
	}
}
