package live

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxScans bounds how often the list of threads is read until no new one is in
// it. Children of a seized thread are seized from birth, so that the second or
// third scan finds none.
const maxScans = 1000

// task is a thread of the process that this tracer has seized.
type task struct {
	tid    int
	state  taskState
	status int32 // signal | event << 8 with which it stopped
	regs   [maxRegsSize]byte
	have   int // bytes of regs
	extra  armExtra
	err    error // why have is 0

	listens bool // job control has stopped it, and continues it
}

type taskState uint8

const (
	seized  taskState = iota // runs, or is on its way to stop
	stopped                  // in a stop of ptrace
	asleep                   // in uninterruptible sleep: stops before it runs again
	ended
)

// tracer stops the threads of a process. All its methods run on the one
// operating-system thread that ptrace knows as the tracer. Nothing is left
// behind when that thread ends, for whatever reason: the kernel then lets all
// threads go on, and delivers the signals that they were stopped with.
type tracer struct {
	pid, self   int
	arch        callbacks.Arch
	tasks       []*task
	byTID       map[int]*task
	interrupted int      // tasks[:interrupted] were told to stop
	room        []thread // for what is known of the threads
	start       time.Time
	guard       *guard // it seized the threads for good; nil if they are let go after a look
	jobStops    int    // how often its guard saw it stopped by job control
	left        bool   // its end was told

	moves atomic.Uint32 // counts what it did, so that another thread sees whether the kernel holds it
}

// trace runs f in a tracer of pid, and lets all threads go on when f returns.
func trace(pid int, a callbacks.Arch, f func(*tracer) error) error {
	t := &tracer{pid: pid, arch: a, byTID: map[int]*task{}}
	result := make(chan error, 1)
	over := make(chan struct{})
	defer close(over)
	go t.reapLoop(over)
	go onThread(func() {
		t.self = unix.Gettid()
		t.raisePriority()
		err := fmt.Errorf("the look at process %d was abandoned", pid)
		defer func() { result <- err }()
		defer t.detach()
		err = f(t)
	})
	err := <-result
	for begin := time.Now(); t.leftOver() && isOwnThread(t.self) && time.Since(begin) < handOver; {
		time.Sleep(100 * time.Microsecond) // the kernel lets them go when the thread ends
	}
	return err
}

// leftOver reports whether a thread could not be let go on by detach.
func (t *tracer) leftOver() bool {
	return slices.ContainsFunc(t.tasks, func(k *task) bool { return k.state != ended })
}

// raisePriority raises the priority of the thread that traces, since all others stand still
// while it runs. It works as far as the user may do that.
func (t *tracer) raisePriority() {
	const highest = -20 // real-time scheduling stops hundreds of threads more slowly
	_ = unix.Setpriority(unix.PRIO_PROCESS, t.self, highest)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // sleeps of microseconds are that short
}

// onThread runs f on an operating-system thread that is not used for anything
// else and ends with f. The first thread of a process never ends, so that it
// hands f on.
func onThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
	runtime.UnlockOSThread()
}

// ptrace makes one request that takes no longer than a look at the thread.
func ptrace(request, tid int, addr, data uintptr) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// stop stops all threads: it seizes them, which none of them notices, then
// interrupts them, and does that until no new one appears.
func (t *tracer) stop(ctx context.Context) error {
	if _, err := t.seize(); err != nil {
		return err
	}
	t.makeRoom()
	t.start = time.Now()
	for range maxScans {
		for ; t.interrupted < len(t.tasks); t.interrupted++ {
			// It fails for a thread that is ending, which wait finds out.
			_ = ptrace(unix.PTRACE_INTERRUPT, t.tasks[t.interrupted].tid, 0, 0)
		}
		if err := t.wait(ctx); err != nil {
			return err
		}
		if t.complete() {
			return nil
		}
		more, err := t.seize()
		if err != nil {
			return err
		}
		if !more {
			return t.any()
		}
	}
	return &Error{PID: t.pid, Err: ErrStuck, Cause: "it makes new threads faster than they can be stopped"}
}

// makeRoom makes room for what will be known of the threads, in memory that the kernel
// has already given to this process.
func (t *tracer) makeRoom() {
	t.room = make([]thread, len(t.tasks)+spareThreads)
	clear(t.room)
	t.room = t.room[:0]
}

// complete reports whether the process has no threads but those that stand still. The
// kernel counts them as links of a directory, which takes less time than to list them;
// if it does not, they have to be listed.
func (t *tracer) complete() bool {
	n := t.count()
	return n > 0 && n == threadCount(t.pid)
}

// any reports whether there was anything to stop.
func (t *tracer) any() error {
	if t.count() == 0 {
		return &Error{PID: t.pid, Err: ErrExited}
	}
	return nil
}

// count is the number of threads that are stopped.
func (t *tracer) count() int {
	n := 0
	for _, k := range t.tasks {
		if k.state == stopped || k.state == asleep {
			n++
		}
	}
	return n
}

// seize seizes the threads that are not yet, and reports whether there was one.
// Threads that a seized one makes are seized at birth.
func (t *tracer) seize() (more bool, err error) {
	for range maxScans {
		tids, err := taskIDs(t.pid)
		if isGone(err) {
			return more, nil
		}
		if err != nil {
			return more, fmt.Errorf("threads of process %d: %w", t.pid, err)
		}
		found := false
		for _, tid := range tids {
			if t.byTID[tid] != nil {
				continue
			}
			ok, err := t.seizeTask(tid)
			if err != nil {
				return more, err
			}
			if ok {
				t.add(&task{tid: tid})
				found, more = true, true
			}
		}
		if !found || t.holdsAll() {
			return more, nil
		}
	}
	return more, &Error{PID: t.pid, Err: ErrStuck, Cause: "it makes new threads faster than they can be seized"}
}

// holdsAll reports whether there seem to be no threads but those that were seized: to count
// them takes less time than to list them once more. One of these that has ended hides a new
// one, which complete finds.
func (t *tracer) holdsAll() bool {
	n := 0
	for _, k := range t.tasks {
		if k.state != ended {
			n++
		}
	}
	return n == threadCount(t.pid)
}

func (t *tracer) add(k *task) {
	t.moves.Add(1)
	t.byTID[k.tid], t.tasks = k, append(t.tasks, k)
}

// handOver bounds the wait for an operating-system thread of this process that
// was a tracer to end.
const handOver = 2 * time.Second

// deniedTries is how often the right to seize a thread must be denied before that
// is believed. An earlier tracer that lets go right now, or an exec, deny it once; several looks
// of other processes at once, some times.
const deniedTries = 20

// seizeTask seizes one thread; false if it has ended.
func (t *tracer) seizeTask(tid int) (bool, error) {
	begin := time.Now()
	for tries := 1; ; tries++ {
		// This request may wait for an exec; see reapLoop.
		_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, unix.PTRACE_O_TRACECLONE, 0, 0)
		err := error(e)
		if e == 0 {
			return true, nil
		}
		if !isDenied(err) {
			return false, nil // ESRCH
		}
		st, statErr := readStatusFile(taskPath(t.pid, tid, "status"))
		switch {
		case statErr != nil || st.state == 'Z' || st.state == 'X':
			return false, nil
		case st.tracer == t.self:
			return true, nil // seized at birth
		case st.tracer == 0 && tries >= deniedTries:
			return false, denied(t.pid)
		}
		other := otherTracer(taskPath(t.pid, tid, "status"))
		late := time.Since(begin) > handOver
		if h := holderOf(cmp.Or(other, st.tracer)); late || other != 0 && !h.brief() {
			return false, traced(t.pid, h)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// otherTracer returns the tracing thread that a status file names, 0 if there is none or it
// is a look of this process. A thread of this process that ends as a tracer may be named
// once after it has gone.
func otherTracer(path string) int {
	for last := 0; ; {
		st, err := readStatusFile(path)
		if err != nil || st.tracer == 0 || isOwnThread(st.tracer) && !isGuard(st.tracer) {
			return 0
		}
		if st.tracer == last {
			return last
		}
		last = st.tracer
	}
}

// isOwnThread reports whether tid is a thread of this process.
func isOwnThread(tid int) bool {
	_, err := os.Stat(taskPath(os.Getpid(), tid, "stat"))
	return err == nil
}

// letGo ends a look.
func (t *tracer) letGo() {
	if t.guard != nil {
		t.guard.release(t)
		return
	}
	t.detach()
}

// detach lets all threads go on, each with the signal that it was stopped with.
// A thread in uninterruptible sleep goes on when this one ends.
func (t *tracer) detach() {
	for _, k := range t.tasks {
		t.moves.Add(1)
		if k.state == seized {
			t.look(k)
		}
		if k.state != stopped {
			continue
		}
		// It fails for a thread that was killed; reapLoop or the end of this
		// operating-system thread lets it go.
		_ = ptrace(unix.PTRACE_DETACH, k.tid, 0, uintptr(k.signal()))
		k.state = ended
	}
}

// signal is the signal whose delivery the thread was stopped in, 0 if it
// stopped for another reason: those are events, or group stops, which the
// kernel resumes by itself.
func (k *task) signal() int32 {
	if k.status>>8 != 0 {
		return 0
	}
	return k.status & 0x7f
}
