package live

import (
	"errors"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// Signals of the terminal and job control in a guard.

// noteTerminalSignal records a signal that the program is about to get. Signals of the terminal
// reach all processes of its foreground group, so this process gets one, too.
func (g *guard) noteTerminalSignal(k *task) {
	s := unix.Signal(k.stopSignal())
	if !isTerminalSignal(s) {
		return
	}
	var b [arch.SignalInfoSize]byte
	if ptrace(unix.PTRACE_GETSIGINFO, k.tid, 0, uintptr(unsafe.Pointer(&b))) != nil {
		return
	}
	info, _ := arch.ParseSignalInfo(b[:])
	g.heard.noteSignal(s, info.FromKernel())
}

// isTerminalSignal reports whether a terminal sends a signal.
func isTerminalSignal(s unix.Signal) bool {
	switch s {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGTSTP:
		return true
	}
	return false
}

// Pass sends the program a signal that this process got, unless the program got it from the
// terminal, too.
func (p *Program) Pass(s unix.Signal) {
	err := p.guard.ask(p.guard.root, func(t *tracer) error {
		if t.guard.heard.isNews(s, t.underWay) {
			_ = unix.Kill(t.pid, s)
		}
		return nil
	})
	if errors.Is(err, errReleased) && !p.guard.reachesBoth(s) {
		_ = unix.Kill(p.guard.root, s)
	}
}

// passTime is the time for which a terminal signal is remembered that the program got and this
// process has not yet passed. It may have been passed with another, as the kernel keeps one of each
// kind. So passTime bounds how long after several signals at once a signal for this process alone
// can be taken for one of them.
const passTime = 10 * time.Second

// terminalSignals holds the terminal signals that the program got and for which Pass was not yet
// called. Program and Pass see the same signals at different times: a program may have handled two
// before this process handles the first.
type terminalSignals map[unix.Signal]terminalSignal

// terminalSignal is the state of one signal in heard: the number that the program got from the
// terminal, or -1 if Pass knows of one that the program is about to get.
type terminalSignal struct {
	count int
	last  time.Time
}

// noteSignal records a signal that the program gets.
func (h terminalSignals) noteSignal(s unix.Signal, fromKernel bool) {
	switch now := h.signalState(s); {
	case now.count < 0: // known to Pass
		delete(h, s)
	case fromKernel:
		h[s] = terminalSignal{now.count + 1, time.Now()}
	}
}

// isNews reports whether the program needs a signal that this process got. underWay reports whether
// the program has a pending one.
func (h terminalSignals) isNews(s unix.Signal, underWay func(unix.Signal) bool) bool {
	switch now := h.signalState(s); {
	case now.count > 0:
		now.count--
		h[s] = now
	case underWay(s): // the kernel would merge a second one
		h[s] = terminalSignal{-1, time.Now()}
	default:
		return true
	}
	return false
}

// signalState returns the state of a signal; the zero value after passTime.
func (h terminalSignals) signalState(s unix.Signal) terminalSignal {
	if now := h[s]; now.count < 0 || time.Since(now.last) < passTime {
		return now
	}
	return terminalSignal{}
}

// underWay reports whether the process has a pending signal that the guard has not yet seen. The
// order of the checks matters: a signal leaves the pending list at the moment in which the thread
// stops with it.
func (t *tracer) underWay(s unix.Signal) bool {
	if st, err := readStatus(t.pid); err == nil && st.pending&^st.blocked&(1<<(s-1)) != 0 {
		return true
	}
	return slices.ContainsFunc(t.tasks, func(k *task) bool {
		var info childInfo
		err := waitID(k.tid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WALL|unix.WNOWAIT)
		return err == nil && info.pid != 0 && info.isStop() && info.status == int32(s)
	})
}

// Continue continues the program if job control has stopped it.
func (p *Program) Continue() {
	err := p.guard.ask(p.guard.root, func(t *tracer) error {
		var info childInfo
		if err := waitID(t.pid, &info, unix.WCONTINUED|unix.WNOHANG|unix.WNOWAIT); err == nil && info.pid == 0 &&
			t.isJobStopped() {
			_ = unix.Kill(t.pid, unix.SIGCONT)
		}
		return nil
	})
	if errors.Is(err, errReleased) && isSuspended(p.guard.root) {
		_ = unix.Kill(p.guard.root, unix.SIGCONT)
	}
}

// JobStops reports whether job control has stopped a process of the program, and returns the number
// of such stops. A stop that starts before the last thread has resumed from the previous one is the
// same stop. If two calls both return false, there was a stop between them exactly if times grew. After Release,
// stops are not counted.
func (p *Program) JobStops(pid int) (now bool, times int) {
	err := p.guard.ask(pid, func(t *tracer) error {
		now, times = t.isJobStopped(), t.jobStops
		return nil
	})
	if errors.Is(err, errReleased) {
		now = isSuspended(pid)
	}
	return now, times
}

// isJobStopped reports whether job control has stopped the process; each thread learns of it by itself.
func (t *tracer) isJobStopped() bool {
	return slices.ContainsFunc(t.tasks, func(k *task) bool { return k.listens && k.state != ended })
}

// AwaitStop requests an Event for the next time that job control stops the program, or for the
// current stop.
func (p *Program) AwaitStop() {
	p.guard.awaitStop.Store(true)
	select {
	case p.guard.child <- unix.SIGCHLD: // wakes the guard
	default: // it is about to wake
	}
}

// sendStop sends the awaited event that job control has stopped the program, once none of its other
// processes has a stop signal that the guard must pass on.
func (g *guard) sendStop() {
	root := g.byPID[g.root]
	if !g.awaitStop.Load() || root == nil || !root.isJobStopped() {
		return
	}
	for _, t := range g.byPID {
		for _, s := range []unix.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGSTOP} {
			if t != root && !t.isJobStopped() && t.underWay(s) {
				return // it will be an event
			}
		}
	}
	g.awaitStop.Store(false)
	g.send(Event{PID: g.root, Stopped: true})
}
