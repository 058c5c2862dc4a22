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

// maxScans bounds how often the list of threads is read until it has no new one. Children of a seized thread
// are seized from birth, so the second or third scan is the last.
const maxScans = 1000

// task is a thread of the process that this tracer has seized.
type task struct {
	tid    int
	state  taskState
	status int32 // signal | event << 8 with which it stopped
	regs   [maxRegsSize]byte
	have   int // valid bytes of regs
	extra  armExtra
	err    error // the failed read of regs, if have is 0

	listens bool // job control has stopped it, and continues it
}

type taskState uint8

const (
	seized  taskState = iota // runs, or is on its way to stop
	stopped                  // in a ptrace stop
	asleep                   // in uninterruptible sleep: stops before it runs again
	ended
)

// tracer stops the threads of a process. All its methods run on the one operating-system thread
// that ptrace knows as the tracer. When that thread ends, for any reason, the kernel resumes all
// threads and delivers the signals that stopped them.
type tracer struct {
	pid, self   int
	arch        callbacks.Arch
	tasks       []*task
	byTID       map[int]*task
	interrupted int      // tasks[:interrupted] are interrupted
	room        []thread // buffer for the list of threads
	start       time.Time
	guard       *guard // owner of permanently seized threads; nil if a look detaches them
	jobStops    int    // number of stops by job control that its guard saw
	left        bool   // its end was reported

	moves atomic.Uint32 // counts its steps: shows another thread whether a system call blocks it
}

// trace runs f in a tracer of pid, and resumes all threads when f returns.
func trace(pid int, a callbacks.Arch, f func(*tracer) error) error {
	t := &tracer{pid: pid, arch: a, byTID: map[int]*task{}}
	result := make(chan error, 1)
	over := make(chan struct{})
	defer close(over)
	go t.reapLoop(over)
	go runOnThread(func() {
		t.self = unix.Gettid()
		t.raisePriority()
		err := fmt.Errorf("the look at process %d was abandoned", pid)
		defer func() { result <- err }()
		defer t.detach()
		err = f(t)
	})
	err := <-result
	for begin := time.Now(); t.hasUnresumed() && isOwnThread(t.self) && time.Since(begin) < handOver; {
		time.Sleep(100 * time.Microsecond) // the kernel detaches them when the thread ends
	}
	return err
}

// hasUnresumed reports whether detach could not resume a thread.
func (t *tracer) hasUnresumed() bool {
	return slices.ContainsFunc(t.tasks, func(k *task) bool { return k.state != ended })
}

// raisePriority raises the priority of the tracing thread as far as permitted, since all others are
// stopped while it runs.
func (t *tracer) raisePriority() {
	const highest = -20 // real-time scheduling stops hundreds of threads more slowly
	_ = unix.Setpriority(unix.PRIO_PROCESS, t.self, highest)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // sleeps of microseconds are that short
}

// runOnThread runs f on an operating-system thread that is not used for anything else and ends with f.
// The first thread of a process never ends, so it passes f to another one.
func runOnThread(f func()) {
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

// ptrace makes a request that does not wait for the thread.
func ptrace(request, tid int, addr, data uintptr) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// stop stops all threads: it seizes them, which does not affect them, then interrupts them, until
// no new one appears.
func (t *tracer) stop(ctx context.Context) error {
	if _, err := t.seize(); err != nil {
		return err
	}
	t.reserveThreads()
	t.start = time.Now()
	for range maxScans {
		for ; t.interrupted < len(t.tasks); t.interrupted++ {
			// It fails for a thread that is ending; wait detects that.
			_ = ptrace(unix.PTRACE_INTERRUPT, t.tasks[t.interrupted].tid, 0, 0)
		}
		if err := t.wait(ctx); err != nil {
			return err
		}
		if t.isComplete() {
			return nil
		}
		more, err := t.seize()
		if err != nil {
			return err
		}
		if !more {
			return t.checkNotEmpty()
		}
	}
	return &Error{PID: t.pid, Err: ErrStuck, Cause: "it makes new threads faster than they can be stopped"}
}

// reserveThreads reserves memory for the list of threads, with pages already mapped.
func (t *tracer) reserveThreads() {
	t.room = make([]thread, len(t.tasks)+spareThreads)
	clear(t.room)
	t.room = t.room[:0]
}

// isComplete reports whether all threads of the process are stopped. It compares the kernel's link
// count of a directory, which is faster than listing; on a mismatch the threads must be listed.
func (t *tracer) isComplete() bool {
	n := t.countStopped()
	return n > 0 && n == threadCount(t.pid)
}

// checkNotEmpty returns an error if there was no thread to stop.
func (t *tracer) checkNotEmpty() error {
	if t.countStopped() == 0 {
		return &Error{PID: t.pid, Err: ErrExited}
	}
	return nil
}

// countStopped returns the number of stopped threads.
func (t *tracer) countStopped() int {
	n := 0
	for _, k := range t.tasks {
		if k.state == stopped || k.state == asleep {
			n++
		}
	}
	return n
}

// seize seizes the remaining threads, and reports whether there was one. New threads of a seized
// one are seized at birth.
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
				t.addTask(&task{tid: tid})
				found, more = true, true
			}
		}
		if !found || t.holdsAll() {
			return more, nil
		}
	}
	return more, &Error{PID: t.pid, Err: ErrStuck, Cause: "it makes new threads faster than they can be seized"}
}

// holdsAll reports whether all threads seem to be seized, by count, which is faster than listing
// them again. A seized thread that has ended can hide a new one, which complete finds.
func (t *tracer) holdsAll() bool {
	n := 0
	for _, k := range t.tasks {
		if k.state != ended {
			n++
		}
	}
	return n == threadCount(t.pid)
}

func (t *tracer) addTask(k *task) {
	t.moves.Add(1)
	t.byTID[k.tid], t.tasks = k, append(t.tasks, k)
}

// handOver bounds the wait for the end of an operating-system thread that was a tracer: of this process, or of a
// look of another one.
const handOver = 2 * time.Second

// deniedTries is the number of denied requests in turn, none of them with a tracer, after which a denial is final. A
// tracer that is just detaching, or an exec, denies one.
const deniedTries = 20

// seizeTask seizes one thread; it returns false if the thread has ended.
func (t *tracer) seizeTask(tid int) (bool, error) {
	begin, last := time.Now(), 0
	for tries := 0; ; {
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
		case st.tracer != 0:
			tries = 0
		default:
			if tries++; tries >= deniedTries {
				return false, explainDenied(t.pid)
			}
		}
		other := otherTracer(taskPath(t.pid, tid, "status"))
		if other != last { // looks of several processes take turns
			begin, last = time.Now(), other
		}
		late := time.Since(begin) > handOver
		if h := holderOf(cmp.Or(other, st.tracer)); late || other != 0 && !h.isBrief() {
			return false, tracedError(t.pid, h)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// otherTracer returns the tracing thread in a status file; 0 if it is missing or belongs to a look of this
// process. A thread of this process that ends as a tracer may still be named once.
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

// resumeAll ends a look.
func (t *tracer) resumeAll() {
	if t.guard != nil {
		t.guard.release(t)
		return
	}
	t.detach()
}

// detach resumes all threads, each with the signal that stopped it. A thread in uninterruptible
// sleep resumes when this thread ends.
func (t *tracer) detach() {
	for _, k := range t.tasks {
		t.moves.Add(1)
		if k.state == seized {
			t.poll(k)
		}
		if k.state != stopped {
			continue
		}
		// It fails for a thread that was killed; reapLoop or the end of this operating-system
		// thread resumes it.
		_ = ptrace(unix.PTRACE_DETACH, k.tid, 0, uintptr(k.stopSignal()))
		k.state = ended
	}
}

// stopSignal returns the signal that stopped the thread before its delivery; 0 for events and group stops,
// which the kernel resumes by itself.
func (k *task) stopSignal() int32 {
	if k.status>>8 != 0 {
		return 0
	}
	return k.status & 0x7f
}
