package live

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stopTime bounds the wait for threads to stop. A running thread stops at once; one that waits for
// a processor stops when it gets one, which takes long on an overloaded machine. Tests wait longer.
var stopTime = 5 * time.Second

// deepSleep is the time to wait for a thread in uninterruptible sleep. It executes no instruction
// of the program before it stops, so the picture is right without a stop; its registers are known
// in part.
const deepSleep = 3 * time.Millisecond

// Sleep times between two polls for stopped threads, which need the processor that polling would
// use.
const (
	firstNap = 10 * time.Microsecond
	usualNap = 100 * time.Microsecond // a thousand threads need a hundred of them
	longNap  = time.Millisecond       // used when it is a hundredth of the wait
)

// firstLeft is the number of unstopped threads at which the first poll ends; each further poll
// doubles it. Threads mostly stop in the order in which they were interrupted, and polling all of
// them repeatedly would take the processor from them.
const firstLeft = 4

// wait waits until every thread has stopped or ended. It polls, because a blocking wait for a
// thread in uninterruptible sleep might never return.
func (t *tracer) wait(ctx context.Context) error {
	begin := time.Now()
	most, ask := firstLeft, deepSleep
	for nap := firstNap; ; most = min(2*most, maxThreads) {
		left := 0
		for _, k := range t.tasks {
			if k.state == seized && !t.poll(k) {
				if left++; left == most {
					break
				}
			}
		}
		if left == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stop process %d: %w", t.pid, err)
		}
		if waited := time.Since(begin); waited >= ask {
			if err := t.giveUp(waited); err != nil {
				return err
			}
			ask = min(2*ask, stopTime+1) // each question costs more than a poll
		}
		ts := unix.NsecToTimespec(int64(nap))
		_ = unix.Nanosleep(&ts, nil)
		nap = min(2*nap, max(usualNap, time.Since(begin)/100), longNap)
	}
}

// giveUp ends the wait for threads in uninterruptible sleep, and the whole stop when time is over.
func (t *tracer) giveUp(waited time.Duration) error {
	for _, k := range t.tasks {
		if k.state != seized {
			continue
		}
		fields, err := statFields(taskPath(t.pid, k.tid, "stat"))
		switch {
		case err == nil && fields[0] == "D":
			k.state = asleep
		case err == nil && (fields[0] == "Z" || fields[0] == "X"): // the first thread may end before the others
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

// isStop reports whether the event is a stop, not an end.
func (c *childInfo) isStop() bool { return c.code == cldTrapped || c.code == cldStopped }

// poll checks whether a thread has stopped or ended, without consuming the event (WNOWAIT). A
// thread keeps its stop signal only until the event is consumed, and must not lose it if this
// process is killed now.
func (t *tracer) poll(k *task) bool {
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
	case info.isStop():
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

// reap releases a thread that has ended. It checks first, because the kernel returns stops even to
// a caller that asks only for ends. It is not for the first thread: the parent must collect the end
// of the process.
func reap(tid int) {
	var info childInfo
	const ends = unix.WEXITED | unix.WNOHANG | unix.WALL
	if waitID(tid, &info, ends|unix.WNOWAIT) == nil && info.pid != 0 && !info.isStop() {
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

// reapInterval is the time between two rounds of reapLoop. Most stops are over before the first.
const reapInterval = 10 * time.Millisecond

// reapLoop releases threads that have ended, until over is closed. A thread that calls exec waits
// until all others have ended and their tracer has collected them, while the tracer may wait for
// that thread in PTRACE_SEIZE and, before Linux 5.10, process_vm_readv. So another thread of this
// process collects them. It tries all threads that the kernel lists, because threads are seized at
// birth before the tracer knows of them. It skips a round if the tracer has made progress, because
// polling a thousand threads would make the stop longer.
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
		tids, _ := taskIDs(t.pid) // empty if the process has ended
		for _, tid := range tids {
			if tid != t.pid {
				reap(tid)
			}
		}
	}
}
