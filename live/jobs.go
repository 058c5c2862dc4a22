package live

import (
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// What the guard of a program does for signals of the terminal and for job control.

// noteTerminalSignal notes a signal that the program is about to get. Those of the terminal
// reach all processes of its foreground group, so that this process gets one, too.
func (g *guard) noteTerminalSignal(k *task) {
	s := unix.Signal(k.signal())
	switch s {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGTSTP:
	default:
		return
	}
	var b [arch.SignalInfoSize]byte
	if ptrace(unix.PTRACE_GETSIGINFO, k.tid, 0, uintptr(unsafe.Pointer(&b))) != nil {
		return
	}
	info, _ := arch.ParseSignalInfo(b[:])
	g.heard.got(s, info.FromKernel())
}

// Pass sends the program a signal that this process got, unless the program got it,
// too, as it came from the terminal.
func (p *Program) Pass(s unix.Signal) {
	_ = p.guard.trace(p.guard.root, func(t *tracer) error {
		if t.guard.heard.pass(s, t.underWay) {
			_ = unix.Kill(t.pid, s)
		}
		return nil
	})
}

// passTime is for how long a signal of the terminal is remembered that the program got
// and this process has not yet passed. It may have been passed with another: the kernel
// keeps one of each kind. So this bounds how long after several that came at once one
// that was sent to this process alone can be taken for one of them.
const passTime = 10 * time.Second

// heard is for which signals of the terminal the program got, Pass is still to come. The
// two see the same signals, but each in its own time: a program may have handled two
// before this process comes to the first.
type heard map[unix.Signal]heardSignal

// heardSignal is heard for one signal: how many the program got from the terminal, or -1 if
// Pass knows of one that it is about to get.
type heardSignal struct {
	count int
	last  time.Time
}

// got notes a signal that the program gets.
func (h heard) got(s unix.Signal, fromKernel bool) {
	switch now := h.recent(s); {
	case now.count < 0: // known to Pass
		delete(h, s)
	case fromKernel:
		h[s] = heardSignal{now.count + 1, time.Now()}
	}
}

// pass reports whether a signal that this process got is news for the program. underWay
// reports whether the program has one that it has not yet got.
func (h heard) pass(s unix.Signal, underWay func(unix.Signal) bool) bool {
	switch now := h.recent(s); {
	case now.count > 0:
		now.count--
		h[s] = now
	case underWay(s): // a second one would be lost in the first
		h[s] = heardSignal{-1, time.Now()}
	default:
		return true
	}
	return false
}

// recent is what is known of a signal that is not too long ago.
func (h heard) recent(s unix.Signal) heardSignal {
	if now := h[s]; now.count < 0 || time.Since(now.last) < passTime {
		return now
	}
	return heardSignal{}
}

// underWay reports whether the process has a signal that the guard has not yet seen.
// Who is asked first matters: a signal is taken off the list of the process in the
// same moment as the thread stops with it.
func (t *tracer) underWay(s unix.Signal) bool {
	if st, err := readStatus(t.pid); err == nil && st.pending&^st.blocked&(1<<(s-1)) != 0 {
		return true
	}
	return slices.ContainsFunc(t.tasks, func(k *task) bool {
		var info childInfo
		err := waitID(k.tid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WALL|unix.WNOWAIT)
		return err == nil && info.pid != 0 && info.stopped() && info.status == int32(s)
	})
}

// Continue continues the program if job control has stopped it.
func (p *Program) Continue() {
	_ = p.guard.trace(p.guard.root, func(t *tracer) error {
		var info childInfo
		if err := waitID(t.pid, &info, unix.WCONTINUED|unix.WNOHANG|unix.WNOWAIT); err == nil && info.pid == 0 &&
			t.listens() {
			_ = unix.Kill(t.pid, unix.SIGCONT)
		}
		return nil
	})
}

// JobStops reports whether job control has stopped a process of the program, and how
// often it did. A stop that comes before the last thread has gone on from the one
// before is the same one: between two calls that both tell of no stop, there was one
// if times grew, and none if it did not.
func (p *Program) JobStops(pid int) (now bool, times int) {
	_ = p.guard.trace(pid, func(t *tracer) error {
		now, times = t.listens(), t.jobStops
		return nil
	})
	return now, times
}

// listens reports whether job control has stopped the process: each thread comes to
// know it by itself.
func (t *tracer) listens() bool {
	return slices.ContainsFunc(t.tasks, func(k *task) bool { return k.listens && k.state != ended })
}

// AwaitStop has an Event told when job control has stopped the program, or if it has
// already.
func (p *Program) AwaitStop() {
	_ = p.guard.trace(p.guard.root, func(t *tracer) error {
		t.guard.awaitStop = true
		return nil
	})
}

// tellStop tells that job control has stopped the program, if that is awaited, when
// no other of its processes has a signal to stop that the guard must pass on.
func (g *guard) tellStop() {
	root := g.byPID[g.root]
	if !g.awaitStop || root == nil || !root.listens() {
		return
	}
	for _, t := range g.byPID {
		for _, s := range []unix.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGSTOP} {
			if t != root && !t.listens() && t.underWay(s) {
				return // it will be news
			}
		}
	}
	g.awaitStop = false
	g.tell(Event{PID: g.root, Stopped: true})
}
