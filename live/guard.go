package live

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// guardOptions make the kernel seize new threads and processes of a guarded process at birth.
// PTRACE_O_EXITKILL is absent, so the program continues if its guard is killed.
const guardOptions = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEEXEC

// guard traces a program and its descendants from their first instruction. It passes their signals
// and stops on, inspects them on request, and reports when one is about to die. All of it runs on
// the one operating-system thread that ptrace knows as the tracer.
//
// An event is only consumed (without WNOWAIT) by resuming the thread. Until it was handled, both a
// look and the guard can see it, and no signal is lost if this process is killed.
type guard struct {
	self   int
	root   int // the program
	arch   callbacks.Arch
	byTID  map[int]*tracer
	byPID  map[int]*tracer
	dying  *tracer // the process that is stopped before it dies; nil without one
	child  chan os.Signal
	asked  chan request
	events chan Event
	over   chan struct{} // closed when the guard has ended

	leave    chan struct{} // a request to detach
	released chan struct{} // closed when it has detached

	heard     terminalSignals
	awaitStop atomic.Bool
	exits     bool // report processes before they end
}

// request is a question of a Process to its guard.
type request struct {
	pid  int
	f    func(*tracer) error
	done chan error
}

// watch handles events and requests until the program has ended, or until it is to be released. It reports whether
// the program has ended.
func (g *guard) watch() (ended bool) {
	for !g.drain() {
		g.sendStop()
		select {
		case <-g.child:
		case r := <-g.asked:
			r.done <- g.answer(r)
		case <-g.leave:
			return false
		}
	}
	return true
}

// drain handles all pending events, and reports whether the program has ended.
func (g *guard) drain() (ended bool) {
	for {
		var info childInfo
		const news = unix.WEXITED | unix.WSTOPPED | unix.WNOHANG | unix.WALL | unix.WNOTHREAD | unix.WNOWAIT
		if err := waitIDs(unix.P_ALL, 0, &info, news); err != nil || info.pid == 0 {
			return err != nil // all processes have ended
		}
		tid := int(info.pid)
		if info.isStop() {
			g.handle(tid, info.status)
			continue
		}
		_ = waitID(tid, &info, unix.WEXITED|unix.WNOHANG|unix.WALL)
		g.forget(tid)
		if tid == g.root {
			g.send(Event{PID: tid, Ended: true, Status: statusOf(&info), Left: slices.Sorted(maps.Keys(g.byPID))})
			return true
		}
	}
}

// handle resumes a stopped thread, after handling its event.
func (g *guard) handle(tid int, status int32) {
	t := g.tracerOf(tid)
	if t == nil { // the thread was killed
		(&tracer{}).resume(&task{tid: tid, status: status})
		return
	}
	k := t.byTID[tid]
	k.status = status
	switch event := status >> 8; {
	case event == unix.PTRACE_EVENT_EXEC:
		// This event must be consumed: the kernel takes an unseen event for that of the thread that
		// had this number before (looks_like_a_spurious_pid).
		var info childInfo
		_ = waitID(tid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WALL)
		g.keepThread(t)
	case event == unix.PTRACE_EVENT_EXIT:
		if g.exits && !t.left && endsProcess(tid) {
			t.left = true
			g.reportLeave(t)
		}
	case event == 0:
		if t.pid == g.root {
			g.noteTerminalSignal(k)
		}
		if g.isDeadly(tid, int(k.stopSignal())) {
			g.reportDeath(t, k)
		}
	}
	t.resume(k)
}

// resume resumes a stopped thread: with the signal that stopped it, as job control requires, or at
// once.
func (t *tracer) resume(k *task) {
	stops := k.status>>8 == unix.PTRACE_EVENT_STOP && unix.Signal(k.status&0x7f) != unix.SIGTRAP
	if stops && !t.isJobStopped() {
		t.jobStops++
	}
	k.listens = stops
	if stops {
		_ = ptrace(unix.PTRACE_LISTEN, k.tid, 0, 0)
	} else { // fails for a killed thread; its end is the next event
		_ = ptrace(unix.PTRACE_CONT, k.tid, 0, uintptr(k.stopSignal()))
	}
	k.state = seized
}

// tracerOf returns the tracer of the process that thread tid belongs to. It registers new threads
// and processes. It returns nil for a thread that has ended.
func (g *guard) tracerOf(tid int) *tracer {
	if t := g.byTID[tid]; t != nil && t.byTID[tid] != nil {
		return t
	}
	st, err := readStatus(tid)
	if err != nil {
		return nil
	}
	t := g.byPID[st.tgid]
	if t == nil {
		t = &tracer{pid: st.tgid, self: g.self, arch: g.arch, byTID: map[int]*task{}, guard: g}
		g.byPID[st.tgid] = t
	}
	if t.byTID[tid] == nil { // a look may have registered it
		t.addTask(&task{tid: tid})
	}
	g.byTID[tid] = t
	return t
}

// forget removes a thread that has ended, and its process after the last thread.
func (g *guard) forget(tid int) {
	t := g.byTID[tid]
	if t == nil {
		return
	}
	if k := t.byTID[tid]; k != nil {
		k.state = ended
	}
	delete(g.byTID, tid)
	delete(t.byTID, tid)
	if tid == t.pid {
		delete(g.byPID, tid)
	}
	if len(t.tasks) > 2*len(t.byTID)+spareThreads {
		t.compact()
	}
}

// keepThread removes all threads but the first from a process that executed another program.
func (g *guard) keepThread(t *tracer) {
	for _, k := range slices.Clone(t.tasks) {
		if k.tid != t.pid {
			g.forget(k.tid)
		}
	}
}

// compact removes the tasks that have ended.
func (t *tracer) compact() {
	left := t.tasks[:0]
	for _, k := range t.tasks {
		if k.state == ended {
			if t.byTID[k.tid] == k {
				delete(t.byTID, k.tid)
			}
			continue
		}
		left = append(left, k)
	}
	clear(t.tasks[len(left):])
	t.tasks = left
}

// trace runs f in a tracer of a process: that of the guard, or after Release, one that detaches when f returns.
func (g *guard) trace(pid int, f func(*tracer) error) error {
	if err := g.ask(pid, f); !errors.Is(err, errReleased) {
		return err
	}
	return trace(pid, g.arch, f)
}

// errReleased is the error of a request to a guard that has detached.
var errReleased = errors.New("the guard has detached")

// ask runs f in the guard, with the tracer of a guarded process. The error is errReleased after Release.
func (g *guard) ask(pid int, f func(*tracer) error) error {
	r := request{pid, f, make(chan error, 1)}
	select {
	case g.asked <- r:
		return <-r.done
	case <-g.released:
		return errReleased
	case <-g.over:
		return &Error{PID: pid, Err: ErrExited}
	}
}

// answer runs a request.
func (g *guard) answer(r request) error {
	t := g.byPID[r.pid]
	if t == nil {
		return &Error{PID: r.pid, Err: ErrExited}
	}
	over := make(chan struct{})
	defer close(over)
	go t.reapLoop(over)
	return r.f(t)
}

// release resumes the threads that a look stopped. A thread that stopped for another reason has an
// event, which drain handles.
func (g *guard) release(t *tracer) {
	if t == g.dying {
		return
	}
	for _, k := range slices.Clone(t.tasks) {
		if k.state == seized || k.state == asleep {
			k.state = seized
			t.poll(k)
		}
		switch {
		case k.state == ended && k.tid != t.pid:
			g.forget(k.tid)
		case k.state == stopped && k.status>>8 == unix.PTRACE_EVENT_STOP: // interrupted, or of job control
			t.resume(k)
		case k.state == stopped:
			k.state = seized
		}
	}
	t.interrupted = 0
	t.compact()
}

// isDeadly reports whether signal ends a process with a core, because it is neither handled nor
// ignored.
func (g *guard) isDeadly(tid, signal int) bool {
	if !dumpsCore(unix.Signal(signal)) {
		return false
	}
	st, err := readStatus(tid)
	return err == nil && (st.caught|st.ignored)&(1<<(signal-1)) == 0
}

// dumpsCore reports whether a signal dumps core by default (signal(7)).
func dumpsCore(s unix.Signal) bool {
	switch s {
	case unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV,
		unix.SIGXCPU, unix.SIGXFSZ, unix.SIGSYS:
		return true
	}
	return false
}

// reportDeath stops a process when its thread k is about to die of a signal, reports that, and answers
// questions until the process may continue.
func (g *guard) reportDeath(t *tracer, k *task) {
	d := &Death{LWP: k.tid, Signal: int(k.stopSignal())}
	if err := ptrace(unix.PTRACE_GETSIGINFO, k.tid, 0, uintptr(unsafe.Pointer(&d.info))); err == nil {
		if info, ok := arch.ParseSignalInfo(d.info[:]); ok {
			d.Code, d.HasCode = info.Code, true
			d.Address, d.HasAddress = callbacks.Addr(info.Address), info.HasAddress
		}
	}
	g.dying = t
	over := make(chan struct{})
	go t.reapLoop(over)
	_ = t.stop(context.Background()) // looks leave out threads that do not stop in time
	close(over)
	proceed := make(chan struct{})
	g.sendUntil(Event{PID: t.pid, Death: d, proceed: proceed}, proceed)
	g.dying = nil
	t.resume(k)
	t.waitForGroupExit(k)
	g.release(t)
}

// groupExitTimeout bounds the wait until a thread that was resumed with a fatal signal ends the
// others. The first process of a container may survive some signals.
const groupExitTimeout = time.Second

// waitForGroupExit waits until the kernel has made the other threads exit with k. Until then they run, and the
// core would differ from the report.
func (t *tracer) waitForGroupExit(k *task) {
	for begin := time.Now(); time.Since(begin) < groupExitTimeout; time.Sleep(firstNap) {
		if !slices.ContainsFunc(t.tasks, func(o *task) bool {
			if o == k || o.state != stopped {
				return false
			}
			fields, err := statFields(taskPath(t.pid, o.tid, "stat"))
			return err == nil && fields[0] == "t"
		}) {
			return
		}
	}
}

// send sends an event, and answers questions until it is received.
func (g *guard) send(e Event) {
	told := make(chan struct{})
	close(told)
	g.sendUntil(e, told)
}

// sendUntil sends an event and answers questions until it was received and until is closed.
func (g *guard) sendUntil(e Event, until <-chan struct{}) {
	events, wait := g.events, (<-chan struct{})(nil)
	for {
		select {
		case events <- e:
			events, wait = nil, until
		case <-wait:
			return
		case r := <-g.asked:
			r.done <- g.answer(r)
		}
	}
}

// statusOf returns a process's end status, in the format of wait(2).
func statusOf(info *childInfo) unix.WaitStatus {
	const cldExited, cldDumped, dumped = 1, 3, 0x80
	switch info.code {
	case cldExited:
		return unix.WaitStatus(info.status << 8)
	case cldDumped:
		return unix.WaitStatus(info.status | dumped)
	}
	return unix.WaitStatus(info.status)
}

// startProgram starts a program and seizes it before its first instruction.
//
// The kernel stops a new program only for a tracer that the program asked for (PTRACE_TRACEME), but
// job control works only with a tracer that seized it. So the tracer is changed while job control
// stops the program.
func (g *guard) startProgram(path string, l Launch) error {
	pid, err := g.startStopped(path, l)
	g.root = pid
	if err != nil {
		return err
	}
	options := uintptr(guardOptions)
	if g.exits {
		options |= unix.PTRACE_O_TRACEEXIT
	}
	var info childInfo
	const stops = unix.WEXITED | unix.WSTOPPED | unix.WALL
	err = ptrace(unix.PTRACE_SEIZE, pid, 0, options)
	if err != nil {
		const end = unix.WEXITED | unix.WALL
		if waitID(pid, &info, end|unix.WNOHANG) == nil && info.pid != 0 && !info.isStop() {
			return &endedError{statusOf(&info)}
		}
		_ = unix.Kill(pid, unix.SIGKILL) // it must not run unsupervised
		_ = waitID(pid, &info, end)
		return refusedStart(path, err)
	}
	_ = unix.Kill(pid, unix.SIGCONT)
	const over = unix.PTRACE_EVENT_STOP<<8 | int32(unix.SIGTRAP) // that stop, which was not the program's
	for waitID(pid, &info, stops|unix.WNOWAIT) == nil && info.isStop() && info.status>>8 == over>>8 &&
		info.status != over {
		_ = ptrace(unix.PTRACE_LISTEN, pid, 0, 0)
	}
	g.tracerOf(pid)
	return nil
}
