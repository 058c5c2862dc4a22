package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

var background = context.Background()

// startMany starts a program of n threads that wait at a barrier.
func startMany(tb testing.TB, n int) *omptest.Process {
	tb.Helper()
	return omptest.Start(tb, omptest.Run{
		Exe: omptest.Compile(tb, omptest.Build{Program: "many"}), Runtime: omptest.RuntimeOf(tb, 16),
		Mode: omptest.Live, Args: []string{fmt.Sprint(n)},
	})
}

func openProcess(tb testing.TB, pid int, o Options) *Process {
	tb.Helper()
	p, err := Open(pid, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.Close() })
	return p
}

// readFrames reads the memory that every look at stacks reads.
func readFrames(t callbacks.Target) error {
	ids, err := t.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		return err
	}
	for _, id := range ids {
		regs, err := t.(callbacks.RegisterReader).Registers(id)
		if err != nil {
			return err
		}
		var b [1024]byte
		if err := t.ReadMemory(callbacks.Addr(regs.SP()), b[:512]); err != nil {
			return err
		}
		if regs.ThreadPointer == 0 { // it is in uninterruptible sleep, and the list of threads just changed
			continue
		}
		if err := t.ReadMemory(callbacks.Addr(regs.ThreadPointer), b[:64]); err != nil {
			return err
		}
	}
	return nil
}

// TestManyRoundsDisturbNothing stops a busy program many times. The program checks its own results,
// and that no queued signal is lost or changed.
func TestManyRoundsDisturbNothing(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	for range omptest.Number(t, "looks", 200) {
		pause, err := p.Look(background, readFrames)
		if err != nil {
			t.Fatal(err)
		}
		if pause.Threads != 6 {
			t.Fatalf("%d threads were stopped, want 6", pause.Threads)
		}
	}
	waitForProgress(t, p)
	prog.finish()
}

// TestSystemCallsGoOn stops threads that block in system calls, which must not be affected.
func TestSystemCallsGoOn(t *testing.T) {
	prog := startProgram(t, "blocked.c")
	p := openProcess(t, prog.pid, Options{})
	for range 50 {
		if _, err := p.Look(background, readFrames); err != nil {
			t.Fatal(err)
		}
	}
	prog.finish()
}

// TestStopHolds checks that no thread moves between Stop and Resume.
func TestStopHolds(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	for range 20 {
		if err := p.Stop(background); err != nil {
			t.Fatal(err)
		}
		before := mustReadProgress(t, p)
		for range 1000 {
			if now := mustReadProgress(t, p); now != before {
				t.Fatalf("the counter went from %d to %d in a stop", before, now)
			}
		}
		if s := processState(t, prog.pid); s != "t" {
			t.Errorf("state %s in a stop", s)
		}
		if err := readFrames(p); err != nil {
			t.Error(err)
		}
		if err := p.Resume(); err != nil {
			t.Fatal(err)
		}
		waitForProgress(t, p)
	}
	prog.finish()
}

// stopBy stops a program with sig, like a shell, and waits for it.
func (p *program) stopBy(sig unix.Signal) {
	p.t.Helper()
	if err := unix.Kill(p.pid, syscall.Signal(sig)); err != nil {
		p.t.Fatal(err)
	}
	p.stoppedBy(sig)
}

func (p *program) stoppedBy(sig unix.Signal) {
	p.t.Helper()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(p.pid, &ws, unix.WUNTRACED, nil); err != nil || !ws.Stopped() || ws.StopSignal() != sig {
		p.t.Fatalf("waiting for %v: %v, %v", sig, ws, err)
	}
}

func TestStoppedProgramStaysStopped(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGTSTP} {
		prog := startProgram(t, "busy.c")
		p := openProcess(t, prog.pid, Options{})
		prog.stopBy(sig)
		for range 20 {
			pause, err := p.Look(background, readFrames)
			if err != nil || pause.Threads != 6 {
				t.Fatalf("%+v, %v", pause, err)
			}
		}
		// The threads return to their previous state without our help.
		for processState(t, prog.pid) != "T" {
		}
		var ws unix.WaitStatus
		if pid, err := unix.Wait4(prog.pid, &ws, unix.WUNTRACED|unix.WCONTINUED|unix.WNOHANG, nil); pid != 0 ||
			err != nil {
			t.Errorf("the parent was told %v, %v", ws, err)
		}
		before := mustReadProgress(t, p)
		for range 1000 {
			if now := mustReadProgress(t, p); now != before {
				t.Fatalf("the stopped program went on from %d to %d", before, now)
			}
		}
		if err := unix.Kill(prog.pid, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		waitForProgress(t, p)
		prog.finish()
	}
}

// TestSignalsInAStop sends signals to a program while it is held.
func TestSignalsInAStop(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	hold := func(f func()) {
		t.Helper()
		if err := p.Stop(background); err != nil {
			t.Fatal(err)
		}
		f()
		if err := p.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	hold(func() { unix.Kill(prog.pid, unix.SIGSTOP) })
	prog.stoppedBy(unix.SIGSTOP)
	hold(func() { unix.Kill(prog.pid, unix.SIGCONT) })
	waitForProgress(t, p)
	hold(func() {
		unix.Kill(prog.pid, unix.SIGSTOP)
		unix.Kill(prog.pid, unix.SIGCONT)
	})
	waitForProgress(t, p)
	prog.finish()

	prog = startProgram(t, "busy.c")
	p = openProcess(t, prog.pid, Options{})
	hold(func() { unix.Kill(prog.pid, unix.SIGTERM) })
	var ws unix.WaitStatus
	if _, err := unix.Wait4(prog.pid, &ws, 0, nil); err != nil || ws.Signal() != unix.SIGTERM {
		t.Errorf("the program ended by %v (%v), want SIGTERM", ws, err)
	}
}

// TestKilledTool kills the tool at random moments. The program must continue without a tracer, and
// lose no signal.
func TestKilledTool(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	for range omptest.Number(t, "kills", 25) {
		cmd, out := startTool(t, "look", prog.pid, nil)
		if got := nextLine(t, out); got != "LOOKING" {
			t.Fatalf("the tool said %q", got)
		}
		<-time.After(time.Duration(rand.IntN(5000)) * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		tids, err := taskIDs(prog.pid)
		if err != nil {
			t.Fatal(err)
		}
		for _, tid := range tids {
			st, err := readStatusFile(taskPath(prog.pid, tid, "status"))
			if err != nil || st.tracer != 0 || st.state == 't' || st.state == 'T' {
				t.Fatalf("thread %d: state %c, tracer %d, %v", tid, st.state, st.tracer, err)
			}
		}
		waitForProgress(t, p)
	}
	prog.finish()
}

// TestChurn looks at a program that creates and ends threads all the time.
func TestChurn(t *testing.T) {
	prog := startProgram(t, "churn.c")
	p := openProcess(t, prog.pid, Options{})
	for range omptest.Number(t, "looks", 100) {
		var lwps []callbacks.ThreadID
		deep := false // a thread was in a sleep that no signal ends, as in vfork
		pause, err := p.Look(background, func(target callbacks.Target) (err error) {
			if lwps, err = target.ThreadIDs(callbacks.ThreadIDLWP); err != nil {
				return err
			}
			err = readFrames(target)
			if deep = errors.Is(err, ErrRunning); deep {
				return nil
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if deep != (len(pause.Running) > 0) {
			t.Fatalf("registers missing: %v, but the look says %+v", deep, pause)
		}
		// main, the chains, and their children.
		if len(lwps) < 4 || pause.Threads < 4 {
			t.Fatalf("only %d threads: %+v", len(lwps), pause)
		}
	}
	waitForProgress(t, p)
	prog.finish()
}

// TestContained makes a look panic, and the list of threads that is made concurrently. The panic
// reaches the caller, and the program continues.
func TestContained(t *testing.T) {
	broken := func(f func()) (value any) {
		defer func() { value = recover() }()
		f()
		return nil
	}
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	file := omptest.CutShort(t)
	for name, f := range map[string]func(*tracer) error{
		"a panic":          func(*tracer) error { panic("damaged") },
		"a file cut short": func(*tracer) error { return fmt.Errorf("%d", file[0]) },
	} {
		if v := broken(func() { _ = p.runStopped(background, &Pause{}, f) }); v == nil {
			t.Errorf("%s is lost", name)
		}
	}
	// it has no modules
	if v := broken(func() { _, _ = (&Process{opened: opened{pid: prog.pid}}).peekAhead(nil)() }); v == nil {
		t.Error("the panic of a list is lost")
	}
	if err := p.Stop(background); err != nil {
		t.Fatal(err)
	}
	p.currentHold().ask(func(*tracer) { panic("damaged") })
	p.currentHold().ask(func(*tracer) {}) // the tracer may have ended
	if v := broken(func() { _ = p.Resume() }); v == nil {
		t.Error("the panic of a stop is lost")
	}
	p.mods, p.tableMemory = nil, nil // so that it cannot find modules
	if v := broken(func() { _ = p.Stop(background) }); v == nil {
		t.Error("the panic of the start of a stop is lost")
	}
	prog.finish()
}

// TestCancel cancels a stop before it starts.
func TestCancel(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := p.Look(ctx, readFrames); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled look: %v", err)
	}
	prog.finish()
}

// BenchmarkStop measures the pause of a look that reads every thread's registers, a frame of its
// stack and its thread-local storage. Alternating with it, it measures the stop of all threads
// alone, without reading memory.
func BenchmarkStop(b *testing.B) {
	for _, n := range []int{4, 64, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := openProcess(b, startMany(b, n).PID, Options{})
			var pauses, bare []time.Duration
			stops := 0
			for b.Loop() {
				pause, err := p.Look(b.Context(), readFrames)
				if err != nil {
					b.Fatal(err)
				}
				if pause.Threads < n {
					b.Fatalf("%d threads stopped", pause.Threads)
				}
				stops += pause.Stops
				pauses = append(pauses, pause.Longest)
				var alone Pause
				if err := p.runStopped(b.Context(), &alone, func(*tracer) error { return nil }); err != nil ||
					alone.Threads < n {
					b.Fatal(alone, err)
				}
				bare = append(bare, alone.Longest)
			}
			slices.Sort(pauses)
			slices.Sort(bare)
			b.ReportMetric(float64(pauses[len(pauses)/2].Microseconds()), "µs-pause-median")
			b.ReportMetric(float64(pauses[len(pauses)*99/100].Microseconds()), "µs-pause-p99")
			b.ReportMetric(float64(bare[len(bare)/2].Microseconds()), "µs-stop-alone-median")
			b.ReportMetric(float64(stops)/float64(b.N), "stops/op")
		})
	}
}
