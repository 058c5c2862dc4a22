package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxScans bounds how often the list of threads is read until no new one is in
// it. Children of a seized thread are seized from birth, so that the second or
// third scan finds none.
const maxScans = 1000

// stopTime bounds the wait for threads to stop. One that runs stops within a
// time slice; one that does not even then waits for a disk or a network file
// system.
const stopTime = 2 * time.Second

// deepSleep is how long a thread in uninterruptible sleep is waited for. It
// runs no instruction of the program before it has stopped, so the picture is
// right without its registers.
const deepSleep = 20 * time.Millisecond

// The wait for threads to stop sleeps for these times between two looks: they
// need the processor that it would take.
const (
	firstNap = 10 * time.Microsecond
	longNap  = time.Millisecond
)

// task is a thread of the process that this tracer has seized.
type task struct {
	tid    int
	state  taskState
	status int32 // signal | event << 8 with which it stopped
	regs   [maxRegsSize]byte
	have   int // bytes of regs
	extra  armExtra
	err    error // why have is 0
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
	interrupted int // tasks[:interrupted] were told to stop
	start       time.Time
}

// trace runs f in a tracer of pid, and lets all threads go on when f returns.
func trace(pid int, a callbacks.Arch, f func(*tracer) error) error {
	t := &tracer{pid: pid, arch: a, byTID: map[int]*task{}}
	result := make(chan error, 1)
	go onThread(func() {
		t.self = unix.Gettid()
		t.hurry()
		err := fmt.Errorf("the look at process %d was given up", pid)
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

// leftOver tells whether a thread could not be let go on by detach.
func (t *tracer) leftOver() bool {
	return slices.ContainsFunc(t.tasks, func(k *task) bool { return k.state != ended })
}

// hurry makes this operating-system thread one that is not kept waiting while
// others stand still for it. It works as far as the user may do that.
func (t *tracer) hurry() {
	const highest = -20
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
	t.start = time.Now()
	for range maxScans {
		for ; t.interrupted < len(t.tasks); t.interrupted++ {
			// It fails for a thread that is ending, which wait finds out.
			_ = ptrace(unix.PTRACE_INTERRUPT, t.tasks[t.interrupted].tid, 0, 0)
		}
		if err := t.wait(ctx); err != nil {
			return err
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

// any tells whether there was anything to stop.
func (t *tracer) any() error {
	for _, k := range t.tasks {
		if k.state != ended {
			return nil
		}
	}
	return &Error{PID: t.pid, Err: ErrExited}
}

// seize seizes the threads that are not yet, and tells whether there was one.
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
				k := &task{tid: tid}
				t.byTID[tid], t.tasks = k, append(t.tasks, k)
				found, more = true, true
			}
		}
		if !found {
			return more, nil
		}
	}
	return more, &Error{PID: t.pid, Err: ErrStuck, Cause: "it makes new threads faster than they can be seized"}
}

// handOver bounds the wait for an operating-system thread of this process that
// was a tracer to end.
const handOver = 2 * time.Second

// seizeTask seizes one thread; false if it has ended.
func (t *tracer) seizeTask(tid int) (bool, error) {
	for begin := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		err := ptrace(unix.PTRACE_SEIZE, tid, 0, unix.PTRACE_O_TRACECLONE)
		if err == nil {
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
		case st.tracer == 0:
			return false, denied(t.pid)
		case !isOwnThread(st.tracer) || time.Since(begin) > handOver:
			return false, traced(t.pid, st.tracer)
		}
	}
}

// isOwnThread tells whether tid is a thread of this process.
func isOwnThread(tid int) bool {
	_, err := os.Stat(taskPath(os.Getpid(), tid, "stat"))
	return err == nil
}

// wait waits until every thread has stopped or ended. It looks without
// blocking, as a thread in uninterruptible sleep would block it for ever.
func (t *tracer) wait(ctx context.Context) error {
	begin := time.Now()
	for nap := firstNap; ; nap = min(2*nap, longNap) {
		left := 0
		for _, k := range t.tasks {
			if k.state == seized && !t.look(k) {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if err := t.giveUp(ctx, time.Since(begin)); err != nil {
			return err
		}
		ts := unix.NsecToTimespec(int64(nap))
		_ = unix.Nanosleep(&ts, nil)
	}
}

// giveUp ends the wait for threads that sleep deeply, and the whole stop if
// time is over.
func (t *tracer) giveUp(ctx context.Context, waited time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stop process %d: %w", t.pid, err)
	}
	if waited < deepSleep {
		return nil
	}
	for _, k := range t.tasks {
		if k.state != seized {
			continue
		}
		fields, err := statFields(taskPath(t.pid, k.tid, "stat"))
		if err == nil && fields[0] == "D" {
			k.state = asleep
		} else if waited > stopTime {
			return &Error{PID: t.pid, Err: ErrStuck, Cause: fmt.Sprintf("thread %d was still running after %v", k.tid, stopTime)}
		}
	}
	return nil
}

// Codes of a child's siginfo_t.
const (
	cldTrapped = 4
	cldStopped = 5
)

// childInfo is siginfo_t of SIGCHLD.
type childInfo struct {
	signal, errno, code, _ int32
	pid, uid, status       int32
	_                      [100]byte
}

// look asks whether a thread has stopped or ended. The kernel is told to keep
// the news (WNOWAIT): a thread keeps the signal that it was stopped with only
// as long as that is not fetched, and must not lose it if this process is
// killed now.
func (t *tracer) look(k *task) bool {
	var info childInfo
	const news = unix.WEXITED | unix.WSTOPPED | unix.WNOHANG | unix.WALL
	if err := waitID(k.tid, &info, news|unix.WNOWAIT); err != nil {
		k.state = ended
		return true
	}
	switch {
	case info.pid == 0:
		return false
	case info.code == cldTrapped || info.code == cldStopped:
		k.state, k.status = stopped, info.status
		t.readRegisters(k)
	default:
		k.state = ended
		t.reap(k)
	}
	return true
}

// reap lets a thread that has ended go, for which an exec of another thread
// waits. The end of the process itself is for its parent to fetch.
func (t *tracer) reap(k *task) {
	if k.tid != t.pid {
		var info childInfo
		_ = waitID(k.tid, &info, unix.WEXITED|unix.WNOHANG|unix.WALL)
	}
}

func waitID(tid int, info *childInfo, options int) error {
	for {
		_, _, e := unix.RawSyscall6(unix.SYS_WAITID, unix.P_PID, uintptr(tid), uintptr(unsafe.Pointer(info)), uintptr(options), 0, 0)
		if e == 0 {
			return nil
		}
		if e != unix.EINTR {
			return e
		}
	}
}

// detach lets all threads go on, each with the signal that it was stopped with.
// A thread in uninterruptible sleep goes on when this one ends.
func (t *tracer) detach() {
	for _, k := range t.tasks {
		if k.state == seized {
			t.look(k)
		}
		if k.state != stopped {
			continue
		}
		if err := ptrace(unix.PTRACE_DETACH, k.tid, 0, uintptr(k.signal())); errors.Is(err, unix.ESRCH) {
			t.reap(k) // it was killed
		}
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
