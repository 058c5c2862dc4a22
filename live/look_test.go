package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
)

// unmappedAddress is an address below the lowest address that Linux maps for programs, and above the first
// page.
var unmappedAddress = callbacks.Addr(0x8000)

// known is the kit's parameters for programs of many.c on libomp.
var known = callbackstest.Known{Symbol: "omp_get_thread_num", ThreadSymbol: "__kmp_gtid", Unmapped: unmappedAddress}

func TestProcessPassesTheKit(t *testing.T) {
	p := openProcess(t, startMany(t, 6).PID, Options{})
	t.Run("running", func(t *testing.T) { callbackstest.Run(t, p, known) })
	if err := p.Stop(background); err != nil {
		t.Fatal(err)
	}
	t.Run("stopped", func(t *testing.T) { callbackstest.Run(t, p, known) })
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
}

// TestLookPassesTheKit asks the kit's questions of the target of a look at a busy program; the
// answers come from one snapshot and must be consistent.
func TestLookPassesTheKit(t *testing.T) {
	for _, noStop := range []bool{false, true} {
		p := openProcess(t, startMany(t, 6).PID, Options{NoStop: noStop})
		peekBlocked(t, p)
		var last callbacks.Target
		pause, err := p.Look(background, func(target callbacks.Target) error {
			last = target
			return readFrames(target)
		})
		if err != nil || (pause.Threads == 0) != noStop || len(pause.Unsettled)+len(pause.Running) > 0 {
			t.Fatalf("%+v, %v", pause, err)
		}
		callbackstest.Run(t, last, known)
	}
}

// TestCopyIsOfOneMoment reads a counter twice, with many other reads between.
func TestCopyIsOfOneMoment(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	var values []uint64
	calls := 0
	for range 20 {
		var first, second uint64
		pause, err := p.Look(background, func(target callbacks.Target) error {
			calls++
			first = mustReadProgress(t, target)
			err := readFrames(target)
			second = mustReadProgress(t, target)
			return err
		})
		if err != nil || first != second || pause.Stops == 0 || pause.Held || pause.Duration < pause.Longest ||
			pause.Longest <= 0 {
			t.Fatalf("%d, then %d; %+v, %v", first, second, pause, err)
		}
		values = append(values, first)
		waitForProgress(t, p)
	}
	if !slices.IsSorted(values) || values[0] == values[len(values)-1] {
		t.Errorf("the counter went %v", values)
	}
	if calls < 2*20 {
		t.Errorf("%d calls for 20 looks, want a rehearsal and an answer for each", calls)
	}
	prog.finish()
}

// TestMorePages asks a question that reads another new page each time, while there are some. The
// look is repeated, and finally made in a stop.
func TestMorePages(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	unused := callbacks.Address{} // the outer end of a thread's stack
	for _, m := range p.maps {
		if m.Perm == callbacks.PermRead|callbacks.PermWrite && m.High.Sub(m.Low) >= 8<<20 {
			unused = m.Low
		}
	}
	for _, c := range []struct {
		calls, stops int
		held         bool
	}{{1, 1, false}, {2, 2, false}, {3, 3, false}, {1000, maxStops + 1, true}} {
		n := 0
		pause, err := p.Look(background, func(target callbacks.Target) error {
			n++
			before := mustReadProgress(t, target)
			var b [1]byte
			if err := target.ReadMemory(unused.Add(uint64(min(n, c.calls)*os.Getpagesize())), b[:]); err != nil {
				return err
			}
			if n == 1+maxStops+1 && mustReadProgress(t, target) != before {
				t.Error("the program moved while it was held")
			}
			return nil
		})
		if err != nil || pause.Stops != c.stops || pause.Held != c.held {
			t.Errorf("%d calls with another page: %+v, %v; want %d stops, held %v", c.calls, pause, err, c.stops,
				c.held)
		}
	}
	prog.finish()
}

// TestRepeatedStop asks a question that reads another page after the first stop than before it. The threads sleep: if
// no memory has changed at the second stop, the answer is used, otherwise the question is asked again.
func TestRepeatedStop(t *testing.T) {
	pid := startMany(t, 6).PID
	p := openProcess(t, pid, Options{})
	memory, err := os.OpenFile(procPath(pid, "mem"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	unused := map[bool]callbacks.Address{} // the ends of two stacks: of the rehearsal, and of the answer
	for _, m := range p.maps {
		if m.Perm == callbacks.PermRead|callbacks.PermWrite && m.High.Sub(m.Low) >= 8<<20 {
			unused[len(unused) == 0] = m.Low
		}
	}
	var answered callbacks.Target
	var last byte
	for value, change := range []bool{false, true, false, true} {
		peekBlocked(t, p)
		calls := 0
		pause, err := p.Look(background, func(target callbacks.Target) error {
			answered = target
			calls++
			if err := readFrames(target); err != nil {
				return err
			}
			var b [1]byte
			if err := target.ReadMemory(unused[calls == 1], b[:]); err != nil || calls == 1 {
				return err
			}
			if change && calls == 2 {
				last = byte(value)
				if _, err := memory.WriteAt([]byte{last}, int64(unused[false].Offset)); err != nil {
					t.Fatal(err)
				}
			}
			peekBlocked(t, p) // all sleep again before the next stop
			return nil
		})
		want := 2
		if change {
			want = 3
		}
		if err != nil || calls != want || pause.Stops != 2 {
			t.Errorf("memory changed: %v: %d calls, %+v, %v; want %d calls in 2 stops", change, calls, pause, err, want)
		}
		if _, err := memory.WriteAt([]byte{last + 100}, int64(unused[false].Offset)); err != nil { // after the look
			t.Fatal(err)
		}
		var b [1]byte
		if err := answered.ReadMemory(unused[false], b[:]); err != nil || b[0] != last {
			t.Errorf("the answer's memory has %d, %v, want %d", b[0], err, last)
		}
		last += 100
	}
}

// TestBeforeStop checks that the function is called once, after the rehearsal and before the first
// stop, and that the rehearsal's memory is free then.
func TestBeforeStop(t *testing.T) {
	prog := startProgram(t, "busy.c")
	asked, told := 0, 0
	var first callbacks.Target
	p := openProcess(t, prog.pid, Options{})
	p.BeforeStop(func() {
		told++
		if pages := first.(*view).mem.(*reader).pages; asked != 1 || len(pages) != 0 {
			t.Errorf("told after %d questions, with %d pages held", asked, len(pages))
		}
	})
	pause, err := p.Look(background, func(target callbacks.Target) error {
		if asked++; asked == 1 {
			first = target
		}
		mustReadProgress(t, target)
		return nil
	})
	if err != nil || told != 1 || asked < 2 || pause.Stops == 0 {
		t.Errorf("told %d times, asked %d times, %+v, %v", told, asked, pause, err)
	}
	prog.finish()
}

// TestErrorOfTheAnswer checks that the last call's error is returned, not an earlier one.
func TestErrorOfTheAnswer(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	early, late := errors.New("early"), errors.New("late")
	n := 0
	_, err := p.Look(background, func(callbacks.Target) error {
		if n++; n <= maxRehearsals {
			return early
		}
		return late
	})
	if !errors.Is(err, late) {
		t.Errorf("%v, want %v", err, late)
	}
	prog.finish()
}

// TestNoStop looks at a busy program without stopping it, and checks that changed words are
// reported.
func TestNoStop(t *testing.T) {
	prog := startProgram(t, "become.c", "exit")
	p := openProcess(t, prog.pid, Options{NoStop: true})
	counter, err := p.Symbol("progress", "")
	if err != nil {
		t.Fatal(err)
	}
	for seen := false; !seen; { // the counter changes between the two copies of a look, or not
		pause, err := p.Look(background, func(target callbacks.Target) error {
			mustReadProgress(t, target)
			return nil
		})
		if err != nil || pause.Threads != 0 || pause.Stops != 0 || pause.Duration != 0 {
			t.Fatalf("%+v, %v", pause, err)
		}
		for _, a := range pause.Unsettled {
			if a != counter {
				t.Fatalf("%v is unsettled, but was not read; the counter is at %v", a, counter)
			}
			seen = true
		}
		if len(pause.Running) == 0 {
			t.Error("no thread of a busy program runs")
		}
	}
}

// peekBlocked peeks when all threads are blocked.
func peekBlocked(t *testing.T, p *Process) []thread {
	for {
		list, err := p.peek()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(th thread) bool { return th.err != nil }) {
			return list
		}
	}
}

// TestWithoutStopAsWithStop compares the facts about blocked threads without a stop with those of a
// stop.
func TestWithoutStopAsWithStop(t *testing.T) {
	p := openProcess(t, startMany(t, 20).PID, Options{})
	peeked := peekBlocked(t, p)
	if err := p.Stop(background); err != nil {
		t.Fatal(err)
	}
	defer p.Resume()
	pointers := 0
	for _, th := range peeked {
		want, err := p.Registers(callbacks.LWP(th.lwp))
		if err != nil {
			t.Fatal(err)
		}
		got := th.regs
		if got.ThreadPointer != want.ThreadPointer {
			t.Errorf("LWP %d: thread pointer %#x, want %#x", th.lwp, got.ThreadPointer, want.ThreadPointer)
		} else {
			pointers++
		}
		if got.PC() != want.PC() || got.SP() != want.SP() || got.Syscall != want.Syscall ||
			got.SyscallArgs != want.SyscallArgs {
			t.Errorf("LWP %d: pc %#x sp %#x syscall %d%x, want %#x %#x %d%x", th.lwp,
				got.PC(), got.SP(), got.Syscall, got.SyscallArgs, want.PC(), want.SP(), want.Syscall, want.SyscallArgs)
		}
	}
	if pointers < 20 {
		t.Errorf("only %d thread pointers agree", pointers)
	}
}

// TestDeepSleep looks at a program with a thread that cannot be stopped.
func TestDeepSleep(t *testing.T) {
	prog := startProgram(t, "deep.c")
	p := openProcess(t, prog.pid, Options{})
	for range 3 {
		threads := 0
		pause, err := p.Look(background, func(target callbacks.Target) error {
			ids, err := target.ThreadIDs(callbacks.ThreadIDLWP)
			threads = len(ids)
			for _, id := range ids {
				regs, regsErr := target.(callbacks.RegisterReader).Registers(id)
				if regsErr == nil && (regs.PC() == 0 || regs.SP() == 0 || regs.ThreadPointer == 0) {
					regsErr = fmt.Errorf("%v: pc %#x, sp %#x, thread pointer %#x", id, regs.PC(), regs.SP(),
						regs.ThreadPointer)
				}
				err = errors.Join(err, regsErr)
			}
			return err
		})
		if err != nil || threads != 3 || pause.Threads != 3 {
			t.Fatalf("%d threads, %+v, %v", threads, pause, err)
		}
		waitForProgress(t, p)
	}
	prog.finish()
}

// TestDeepSleepEnds wakes a thread that could not be stopped after the others have stopped, on a
// processor that another program keeps busy, so that it does not run for a while.
func TestDeepSleepEnds(t *testing.T) {
	prog := startProgram(t, "deep.c")
	p := openProcess(t, prog.pid, Options{})
	slow := uint64(deepThread(t, prog.pid))
	const leastPriority = 19
	if err := unix.Setpriority(unix.PRIO_PROCESS, int(slow), leastPriority); err != nil {
		t.Fatal(err)
	}
	busy := startProgram(t, "deep.c")
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	for _, pid := range []int{prog.pid, busy.pid} {
		tids, err := taskIDs(pid)
		if err != nil {
			t.Fatal(err)
		}
		for _, tid := range tids {
			if err := unix.SchedSetaffinity(tid, &one); err != nil {
				t.Fatal(err)
			}
		}
	}
	var list []thread
	err := p.runStopped(background, &Pause{}, func(tr *tracer) error {
		if k := tr.byTID[int(slow)]; k == nil || k.state != asleep {
			t.Errorf("the thread is not asleep: %+v", k)
		}
		_, err := io.WriteString(prog.in, "x\n")
		for asleep := true; asleep && err == nil; {
			var fields []string
			if fields, err = statFields(taskPath(prog.pid, int(slow), "stat")); err == nil {
				asleep = fields[0] == "D"
			}
		}
		list = tr.stoppedThreads(p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if th := newRoster(list).find(slow); len(list) != 3 || th == nil || th.err != nil || th.regs.PC() == 0 {
		t.Errorf("%d threads, the one that woke up: %+v", len(list), th)
	}
	want := []callbacks.ThreadID{callbacks.LWP(2)}
	if got := runningThreads([]thread{{lwp: 1}, {lwp: 2, err: ErrRunning}}); !slices.Equal(got, want) {
		t.Errorf("threads without registers: %v", got)
	}
	prog.expect("OK")
	busy.finish()
}

// deepThread waits for a thread of a process that is in uninterruptible sleep, and returns it.
func deepThread(t *testing.T, pid int) int {
	t.Helper()
	for {
		tids, err := taskIDs(pid)
		if err != nil {
			t.Fatal(err)
		}
		for _, tid := range tids {
			if fields, err := statFields(taskPath(pid, tid, "stat")); err == nil && fields[0] == "D" {
				return tid
			}
		}
	}
}

// TestTogether looks at one process from several goroutines at once.
func TestTogether(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if pause, err := p.Look(background, readFrames); err != nil || pause.Threads != 6 {
					t.Errorf("%+v, %v", pause, err)
				}
			}
		})
	}
	wg.Wait()
	if err := p.Stop(background); err != nil {
		t.Fatal(err)
	}
	calls := 0
	pause, err := p.Look(background, func(target callbacks.Target) error { calls++; return readFrames(target) })
	if err != nil || calls != 1 || pause.Threads != 6 || pause.Stops != 0 {
		t.Errorf("a look in a stop: %d calls, %+v, %v", calls, pause, err)
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	prog.finish()
}
