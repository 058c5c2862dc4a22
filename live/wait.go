package live

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stopTime bounds the wait for threads to stop. One that runs stops at once; one
// that waits for a processor stops when it gets one, which may take long on a
// machine with far more work than processors.
const stopTime = 5 * time.Second

// deepSleep is how long a thread in uninterruptible sleep is waited for. It
// runs no instruction of the program before it has stopped, so the picture is
// right without a stop; its registers are known in part.
const deepSleep = 3 * time.Millisecond

// The wait for threads to stop sleeps for these times between two looks: they
// need the processor that it would take.
const (
	firstNap = 10 * time.Microsecond
	usualNap = 100 * time.Microsecond // a thousand threads need a hundred of them
	longNap  = time.Millisecond       // from when that is a hundredth of the wait on
)

// firstLeft is at how many threads that have not stopped the first look ends; each further one
// sees twice as many. Threads mostly stop in the order in which they were told to: who looks at
// all of them, again and again, takes the processor from them.
const firstLeft = 4

// wait waits until every thread has stopped or ended. It looks without
// blocking, as a thread in uninterruptible sleep would block it for ever.
func (t *tracer) wait(ctx context.Context) error {
	begin := time.Now()
	most := firstLeft
	for nap := firstNap; ; most = min(2*most, maxThreads) {
		left := 0
		for _, k := range t.tasks {
			if k.state == seized && !t.look(k) {
				if left++; left == most {
					break
				}
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
		nap = min(2*nap, max(usualNap, time.Since(begin)/100), longNap)
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
		switch {
		case err == nil && fields[0] == "D":
			k.state = asleep
		case err == nil && (fields[0] == "Z" || fields[0] == "X"): // the first thread ends before the others
			k.state = ended
		case waited > stopTime:
			return &Error{PID: t.pid, Err: ErrStuck, Cause: fmt.Sprintf("thread %d did not get a processor in %v",
				k.tid, stopTime), Fix: "repeat the command, or do not stop it: --no-stop"}
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

// stopped tells news of a stop from those of an end.
func (c *childInfo) stopped() bool { return c.code == cldTrapped || c.code == cldStopped }

// look asks whether a thread has stopped or ended. The kernel is told to keep
// the news (WNOWAIT): a thread keeps the signal that it was stopped with only
// as long as that is not fetched, and must not lose it if this process is
// killed now.
func (t *tracer) look(k *task) bool {
	t.moves.Add(1)
	var info childInfo
	const news = unix.WEXITED | unix.WSTOPPED | unix.WNOHANG | unix.WALL
	if err := waitID(k.tid, &info, news|unix.WNOWAIT); err != nil {
		k.state = ended
		return true
	}
	switch {
	case info.pid == 0:
		return false
	case info.stopped():
		k.state, k.status = stopped, info.status
		t.readRegisters(k)
	default:
		k.state = ended
		if k.tid != t.pid {
			reap(k.tid)
		}
	}
	return true
}

// reap lets a thread go if it has ended. It looks first: the kernel hands out
// news of stops even to who only asks for ends. It is not for the first thread,
// as the end of the process is for its parent to fetch.
func reap(tid int) {
	var info childInfo
	const ends = unix.WEXITED | unix.WNOHANG | unix.WALL
	if waitID(tid, &info, ends|unix.WNOWAIT) == nil && info.pid != 0 && !info.stopped() {
		_ = waitID(tid, &info, ends)
	}
}

func waitID(tid int, info *childInfo, options int) error {
	return waitIDs(unix.P_PID, tid, info, options)
}

// waitIDs is waitid(2) for children of some kind.
func waitIDs(kind, id int, info *childInfo, options int) error {
	call := unix.RawSyscall6
	if options&unix.WNOHANG == 0 {
		call = unix.Syscall6
	}
	for {
		_, _, e := call(unix.SYS_WAITID, uintptr(kind), uintptr(id), uintptr(unsafe.Pointer(info)), uintptr(options), 0,
			0)
		if e == 0 {
			return nil
		}
		if e != unix.EINTR {
			return e
		}
	}
}

// reapInterval is the time between two rounds of reapLoop. Most stops are over
// before the first.
const reapInterval = 10 * time.Millisecond

// reapLoop lets threads go that have ended, until over is closed. A thread that
// calls exec waits for all others to end and to be fetched by their tracer,
// while the tracer may wait for that thread in its next system call: PTRACE_SEIZE
// and, before Linux 5.10, process_vm_readv do. So another thread of this process
// fetches them, which it may: all that the kernel lists, as threads are seized at
// birth before the tracer knows of them. A tracer that has moved on since the last round does
// not wait: to look at a thousand threads beside it would make the stop longer.
func (t *tracer) reapLoop(over <-chan struct{}) {
	tick := time.NewTicker(reapInterval)
	defer tick.Stop()
	for last := uint32(0); ; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if now := t.moves.Load(); now != last {
			last = now
			continue
		}
		tids, _ := taskIDs(t.pid) // none if the process has gone
		for _, tid := range tids {
			if tid != t.pid {
				reap(tid)
			}
		}
	}
}
