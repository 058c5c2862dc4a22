package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ReleaseSignal is the signal with which [Release] asks a process of this project to call [Program.Release]. It is
// one of the signals without a meaning (signal(7), real-time signals). The kernel delivers it from the same user
// and from root, who may end the process by a signal, too.
const ReleaseSignal = unix.Signal(50)

// Release detaches from the program and its processes, so that another debugger can hold them. It returns at once;
// an Event reports that it is done. After that, crashes and ends of processes have no event, except for the end of
// the program, and each look attaches to a process again for the time of the look.
func (p *Program) Release() {
	select {
	case p.guard.leave <- struct{}{}:
	default: // it is requested already
	}
}

// isReleased reports whether Release has detached from the program.
func (g *guard) isReleased() bool {
	select {
	case <-g.released:
		return true
	default:
		return false
	}
}

// holds reports whether the guard traces its processes. A nil guard traces none.
func (g *guard) holds() bool { return g != nil && !g.isReleased() }

// attend waits for the end of a program that Release has detached from, in place of watch. The kernel detaches from
// all threads when the tracing thread has ended, delivers the signals that stopped them, and keeps a stop of job
// control. Children that were just born, of which watch does not know yet, are included.
func (g *guard) attend() {
	for isOwnThread(g.self) {
		time.Sleep(100 * time.Microsecond)
	}
	close(g.released)
	g.events <- Event{PID: g.root, Released: true}
	for {
		var info childInfo
		const ends = unix.WEXITED | unix.WNOHANG | unix.WALL
		err := waitID(g.root, &info, ends|unix.WNOWAIT)
		if err == nil && info.pid != 0 && !info.isStop() { // a look of this process shows its stops here
			_ = waitID(g.root, &info, ends)
			g.events <- Event{PID: g.root, Ended: true, Status: statusOf(&info)}
			return
		}
		if g.awaitStop.Load() && isSuspended(g.root) {
			g.awaitStop.Store(false)
			g.events <- Event{PID: g.root, Stopped: true}
		}
		var again <-chan time.Time
		if g.awaitStop.Load() {
			again = time.After(stopPoll)
		}
		select {
		case <-g.child:
		case <-again:
		}
	}
}

// stopPoll is the time between two checks for an awaited stop of job control. The kernel may report it while a look
// hides it.
const stopPoll = 50 * time.Millisecond

// isSuspended reports whether job control has stopped a process that no debugger holds.
func isSuspended(pid int) bool {
	fields, err := statFields(procPath(pid, "stat"))
	return err == nil && fields[0] == "T"
}

// reachesBoth reports whether a signal that this process got is likely to have come from the terminal, which sends
// it to the program, too: both are in the process group in the foreground. The sender of a signal is only known of
// programs that are traced.
func (g *guard) reachesBoth(s unix.Signal) bool {
	if !isTerminalSignal(s) {
		return false
	}
	mine, err1 := statFields(procPath(os.Getpid(), "stat"))
	its, err2 := statFields(procPath(g.root, "stat"))
	return err1 == nil && err2 == nil && mine[statGroup-statState] == mine[statForeground-statState] &&
		its[statGroup-statState] == mine[statGroup-statState]
}

// descendants returns the running ones of a process and the processes that descend from it, ascending. A process
// whose parent has ended is no descendant any more.
func descendants(root int) []int {
	var next []int
	children := map[int][]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is correct
	for _, dir := range dirs {
		fields, err := statFields(filepath.Join(dir, "stat"))
		if err != nil || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			parent := parseNumber(fields[statParent-statState])
			children[parent] = append(children[parent], pid)
			if pid == root {
				next = []int{root}
			}
		}
	}
	var list []int
	for len(next) > 0 {
		pid := next[0]
		list = append(list, pid)
		next = append(next[1:], children[pid]...)
		delete(children, pid) // a number that is used again makes no circle
	}
	slices.Sort(list)
	return list
}

// Debugger returns the debugger that holds a process of the program after Release, such as "gdb, process 12", or "".
func (p *Program) Debugger(pid int) string {
	if p.guard.holds() {
		return ""
	}
	thread := otherTracer(procPath(pid, "status"))
	if thread == 0 {
		return ""
	}
	if h := holderOf(thread); h.kind != byLook {
		return h.String()
	}
	return ""
}

// Release asks the process of this project that holds a process to detach from it, and waits until it has. It
// returns the holder, such as "ompd-inspect run, process 12", or "" if no debugger holds the process. The error is
// an *Error: ErrTraced for a holder that is none of run and record, ErrHolder for the number of the holder itself.
func Release(ctx context.Context, pid int) (holder string, err error) {
	path := procPath(pid, "status")
	if _, err := readStatus(pid); err != nil {
		return "", noProcessError(pid)
	}
	if isReleasable(pid) {
		e := &Error{PID: pid, Err: ErrHolder}
		if list := descendants(pid); len(list) > 1 {
			e.Fix = fmt.Sprintf("ompd-inspect release %d", list[1])
		}
		return "", e
	}
	asked := 0 // the tracing thread that was asked
	for ; ; time.Sleep(time.Millisecond) {
		thread := otherTracer(path)
		if thread == 0 || asked != 0 && thread != asked {
			return holder, nil // the process may have ended meanwhile: then nothing holds it either
		}
		h := holderOf(thread)
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("release process %d: %w", pid, ctx.Err())
		case asked != 0 || h.kind == byLook:
			continue
		case !h.releasable:
			return "", &Error{PID: pid, Err: ErrTraced, Cause: h.String(), Fix: h.endAdvice(), holder: h}
		}
		err := askRelease(h.pid, path, thread)
		if me, its := os.Geteuid(), processUser(h.pid); isDenied(err) {
			return "", &Error{PID: pid, Err: ErrPermission, Fix: fmt.Sprintf("sudo ompd-inspect release %d", pid),
				Cause: fmt.Sprintf("%v, belongs to %s, you are %s", h, userName(its), userName(me))}
		}
		if err != nil {
			return "", fmt.Errorf("ask %v to release process %d: %w", h, pid, err)
		}
		asked, holder = thread, h.String()
	}
}

// isReleasable reports whether a process is run or record and holds a program.
func isReleasable(pid int) bool {
	tids, err := taskIDs(pid)
	return err == nil && slices.ContainsFunc(tids, func(tid int) bool {
		st, err := readStatus(tid)
		return err == nil && st.name == releasableThread
	})
}

// processUser returns the user of a process, or -1 if it has ended.
func processUser(pid int) int {
	st, err := readStatus(pid)
	if err != nil {
		return -1
	}
	return st.uids[1]
}

// askRelease sends a process the request to detach, if one of its threads still is the tracer in a status file:
// otherwise, the number may be that of another process by now.
func askRelease(pid int, path string, thread int) error {
	p, err := os.FindProcess(pid) // a handle of the process, where the kernel has such
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	if otherTracer(path) != thread {
		return nil
	}
	if err := p.Signal(ReleaseSignal); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// endAdvice returns the way to make a holder detach that accepts no request.
func (h holder) endAdvice() string {
	switch {
	case h.isOurs():
		return "end the session of the editor that started it"
	case h.kind == byUnseen:
		return "detach it there"
	}
	return "detach " + h.name + " from it"
}
