package live

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// guardOptions make the kernel seize at birth what a guarded process makes:
// threads and processes. A program goes on if its guard is killed, as
// PTRACE_O_EXITKILL is not among them.
const guardOptions = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEEXEC

// guard holds a program and its descendants from their first instruction on. It
// passes on what happens to them, looks at them on request, and tells when one is
// about to die. All of it runs on the one operating-system thread that ptrace
// knows as the tracer.
//
// News are never fetched (WNOWAIT) but by letting the thread go on: whoever saw
// them, a look or the guard itself, they are there until they were acted on, and
// no signal is lost if this process is killed.
type guard struct {
	self   int
	root   int // the program
	arch   callbacks.Arch
	byTID  map[int]*tracer
	byPID  map[int]*tracer
	dying  *tracer // the process that stands still before it dies; nil if none does
	child  chan os.Signal
	asked  chan request
	events chan Event
	over   chan struct{} // closed when the guard has ended

	heard     heard
	awaitStop bool
	exits     bool // the ends of processes are told before
}

// request is a question of a Process to its guard.
type request struct {
	pid  int
	f    func(*tracer) error
	done chan error
}

// hostArch is the architecture of this process, and so of all whose code is
// decoded while they are guarded.
func hostArch() callbacks.Arch {
	if runtime.GOARCH == "arm64" {
		return callbacks.ArchAArch64
	}
	return callbacks.ArchX86_64
}

// watch acts on news and requests until the program has ended.
func (g *guard) watch() {
	for !g.drain() {
		g.tellStop()
		select {
		case <-g.child:
		case r := <-g.asked:
			r.done <- g.answer(r)
		}
	}
}

// drain acts on all news there are, and reports whether the program has ended.
func (g *guard) drain() (ended bool) {
	for {
		var info childInfo
		const news = unix.WEXITED | unix.WSTOPPED | unix.WNOHANG | unix.WALL | unix.WNOTHREAD | unix.WNOWAIT
		if err := waitIDs(unix.P_ALL, 0, &info, news); err != nil || info.pid == 0 {
			return err != nil // nobody is left
		}
		tid := int(info.pid)
		if info.stopped() {
			g.act(tid, info.status)
			continue
		}
		_ = waitID(tid, &info, unix.WEXITED|unix.WNOHANG|unix.WALL)
		g.forget(tid)
		if tid == g.root {
			g.tell(Event{PID: tid, Ended: true, Status: statusOf(&info), Left: slices.Sorted(maps.Keys(g.byPID))})
			return true
		}
	}
}

// act lets a thread go on that has stopped, after what has to be done before.
func (g *guard) act(tid int, status int32) {
	t := g.tracerOf(tid)
	if t == nil { // killed meanwhile
		(&tracer{}).resume(&task{tid: tid, status: status})
		return
	}
	k := t.byTID[tid]
	k.status = status
	switch event := status >> 8; {
	case event == unix.PTRACE_EVENT_EXEC:
		// These news must be fetched: to the kernel, who has not seen them means
		// the thread that had this number before (looks_like_a_spurious_pid).
		var info childInfo
		_ = waitID(tid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WALL)
		g.only(t)
	case event == unix.PTRACE_EVENT_EXIT:
		if g.exits && !t.left && leaves(tid) {
			t.left = true
			g.leave(t)
		}
	case event == 0:
		if t.pid == g.root {
			g.noteTerminalSignal(k)
		}
		if g.deadly(tid, int(k.signal())) {
			g.reportDeath(t, k)
		}
	}
	t.resume(k)
}

// resume lets a thread go on that has stopped: with the signal that it was stopped
// in, or as job control has it, or at once.
func (t *tracer) resume(k *task) {
	stops := k.status>>8 == unix.PTRACE_EVENT_STOP && unix.Signal(k.status&0x7f) != unix.SIGTRAP
	if stops && !t.listens() {
		t.jobStops++
	}
	k.listens = stops
	if stops {
		_ = ptrace(unix.PTRACE_LISTEN, k.tid, 0, 0)
	} else { // fails for a thread that was killed, whose end is the next news
		_ = ptrace(unix.PTRACE_CONT, k.tid, 0, uintptr(k.signal()))
	}
	k.state = seized
}

// tracerOf is the tracer of the process that thread tid belongs to. Threads and
// processes that were just born become known here. It is nil for a thread that is
// not there any more.
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
	if t.byTID[tid] == nil { // a look may have found it before
		t.add(&task{tid: tid})
	}
	g.byTID[tid] = t
	return t
}

// forget drops a thread that has ended, and its process if it was the last.
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

// only makes a process that has become another program one of one thread.
func (g *guard) only(t *tracer) {
	for _, k := range slices.Clone(t.tasks) {
		if k.tid != t.pid {
			g.forget(k.tid)
		}
	}
}

// compact drops the tasks that have ended.
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

// trace runs f in the tracer of a guarded process.
func (g *guard) trace(pid int, f func(*tracer) error) error {
	r := request{pid, f, make(chan error, 1)}
	select {
	case g.asked <- r:
		return <-r.done
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

// release lets the threads go on that were stopped for a look. What stopped for
// another reason is news, which drain acts on.
func (g *guard) release(t *tracer) {
	if t == g.dying {
		return
	}
	for _, k := range slices.Clone(t.tasks) {
		if k.state == seized || k.state == asleep {
			k.state = seized
			t.look(k)
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

// deadly reports whether signal ends a process with a core, as it neither handles
// nor ignores it.
func (g *guard) deadly(tid, signal int) bool {
	if !dumpsCore(unix.Signal(signal)) {
		return false
	}
	st, err := readStatus(tid)
	return err == nil && (st.caught|st.ignored)&(1<<(signal-1)) == 0
}

// dumpsCore reports whether the default of a signal is to dump core (signal(7)).
func dumpsCore(s unix.Signal) bool {
	switch s {
	case unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV,
		unix.SIGXCPU, unix.SIGXFSZ, unix.SIGSYS:
		return true
	}
	return false
}

// reportDeath stops a process of which thread k is about to die by a signal, tells that,
// and answers questions until it may go on.
func (g *guard) reportDeath(t *tracer, k *task) {
	d := &Death{LWP: k.tid, Signal: int(k.signal())}
	if err := ptrace(unix.PTRACE_GETSIGINFO, k.tid, 0, uintptr(unsafe.Pointer(&d.info))); err == nil {
		if info, ok := arch.ParseSignalInfo(d.info[:]); ok {
			d.Code, d.HasCode = info.Code, true
			d.Address, d.HasAddress = callbacks.At(info.Address), info.HasAddress
		}
	}
	g.dying = t
	over := make(chan struct{})
	go t.reapLoop(over)
	_ = t.stop(context.Background()) // a thread that does not stop in time is left out of looks
	close(over)
	proceed := make(chan struct{})
	g.sendUntil(Event{PID: t.pid, Death: d, proceed: proceed}, proceed)
	g.dying = nil
	t.resume(k)
	t.waitForGroupExit(k)
	g.release(t)
}

// groupExitTimeout bounds the wait for a thread that was let go on with a deadly signal to take
// the others with it. The first process of a container may survive some signals.
const groupExitTimeout = time.Second

// waitForGroupExit waits until the kernel has told the other threads to die with k: before,
// they would run on for a moment, and the core would not show what was told.
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

// tell tells an event, and answers questions until somebody listens.
func (g *guard) tell(e Event) {
	told := make(chan struct{})
	close(told)
	g.sendUntil(e, told)
}

// sendUntil tells an event and answers questions until that was done and until is
// closed.
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

// statusOf is how a process ended, in the form of wait(2).
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

// begin starts a program and seizes it before its first instruction.
//
// The kernel stops a new program for a tracer that it asked for itself
// (PTRACE_TRACEME), but job control works only with one that seized it. So the
// program is handed over from the one to the other in a stop of job control.
func (g *guard) begin(path string, l Launch) error {
	pid, err := startTraced(path, l)
	if err != nil {
		return err
	}
	var info childInfo
	const stops = unix.WEXITED | unix.WSTOPPED | unix.WALL
	if err := waitID(pid, &info, stops); err != nil || !info.stopped() {
		return fmt.Errorf("%s ended before its first instruction", path)
	}
	if err := ptrace(unix.PTRACE_DETACH, pid, 0, uintptr(unix.SIGSTOP)); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	if err := waitID(pid, &info, stops); err != nil || !info.stopped() {
		return fmt.Errorf("%s ended before its first instruction", path)
	}
	options := uintptr(guardOptions)
	if g.exits {
		options |= unix.PTRACE_O_TRACEEXIT
	}
	err = ptrace(unix.PTRACE_SEIZE, pid, 0, options)
	if err != nil { // it is not to run on without anybody who knows of it
		_ = unix.Kill(pid, unix.SIGKILL)
		_ = waitID(pid, &info, unix.WEXITED|unix.WALL)
		return refusedStart(path, err)
	}
	_ = unix.Kill(pid, unix.SIGCONT)
	const over = unix.PTRACE_EVENT_STOP<<8 | int32(unix.SIGTRAP) // that stop, which was not the program's
	for waitID(pid, &info, stops|unix.WNOWAIT) == nil && info.stopped() && info.status>>8 == over>>8 &&
		info.status != over {
		_ = ptrace(unix.PTRACE_LISTEN, pid, 0, 0)
	}
	g.root = pid
	g.tracerOf(pid)
	return nil
}
