package waits

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// nativeWaits finds waits that no OpenMP runtime records: those in the C library, and those of the program's own
// threads for a lock of a runtime.
type nativeWaits struct {
	target callbacks.Target
	notes  *stacks.Notes
	roster *teams.ThreadTable
	code   *stacks.Code
	flows  *stacks.Flow
	data   *stacks.Data
	memory *freedMemory
	spins  *spins
	model  *teams.UserModel
	calls  map[*teams.Thread]libraryCall
	known  map[*teams.Thread]nativeState
	once   map[uint64][]onceCall // by flag
	// targets are the target constructs of threads, nil for a thread in none.
	targets map[*teams.Thread]*picture.TargetConstruct
	clock   Clock // of the target; nil for a target that does not run
}

// nativeWait returns the wait of n in the C library or in MPI. It searches once for each thread.
func (nw *nativeWaits) nativeWait(n *teams.Thread) (wait, bool) {
	s, known := nw.known[n]
	if !known {
		s.wait, s.ok = nw.findWait(n)
		nw.known[n] = s
	}
	return s.wait, s.ok
}

// nativeState is the wait of a thread outside of OpenMP; not ok if it has no known wait.
type nativeState struct {
	wait wait
	ok   bool
}

// findWait finds the wait of n in the C library: for a mutex, a condition variable, a semaphore, or the end of a
// thread. It starts from the futex word that n sleeps on.
func (nw *nativeWaits) findWait(n *teams.Thread) (wait, bool) {
	regs := n.Registers()
	if regs == nil {
		return wait{}, false
	}
	if w, ok := nw.mpiWait(n); ok {
		return w, true
	}
	if w, ok := nw.ownLockWait(n); ok {
		return w, true
	}
	futex, ok := arch.IsFutexWait(regs)
	if w, found := nw.targetWait(n); found {
		if ok { // the library waits for another thread of the process
			if m, held := nw.mutexWait(n, futex.Offset, 0); held && m.WaitOn != 0 {
				return m, true
			}
		}
		return w, true
	}
	if !ok {
		if w, ok := nw.spinLockWait(n, regs); ok {
			return w, true
		}
		if w, ok := nw.librarySpinWait(n, regs); ok {
			return w, true
		}
		if w, ok := nw.spins.waitOf(n); ok {
			return w, true
		}
		if w, ok := nw.interpreterWait(n, 0, 0); ok { // between two of its waits
			return w, true
		}
		if w, ok := nw.pauseWait(n, 0, 0); ok { // the same
			return w, true
		}
		if w, ok := nw.sleepWait(n, regs); ok {
			return w, true
		}
		return nw.callWait(n, regs)
	}
	finders := []func(*teams.Thread, uint64, uint32) (wait, bool){
		nw.joinWait, nw.mutexWait, nw.readWriteWait, nw.interpreterWait, nw.pauseWait,
		nw.conditionWait, nw.runtimeLockWait, nw.streamWait, nw.semaphoreWait, nw.barrierWait, nw.staticWait,
		nw.onceWait, nw.allocatorWait, nw.futexWait,
	}
	if err := nw.data.Library().Supported("mutexes and thread control blocks"); err != nil {
		finders = finders[3:]
		if n.Stack().RuntimeFrames() == 0 { // no runtime called the C library
			nw.notes.Warn("what threads wait for in the C library is not known: %v", err)
		}
	}
	word, err := layout.ReadUint(nw.target, futex, 4)
	if err != nil { // the word may be in memory that was returned to the system
		return nw.mutexWait(n, futex.Offset, 0)
	}
	for _, find := range finders {
		if w, ok := find(n, futex.Offset, uint32(word)); ok {
			return w, true
		}
	}
	return wait{}, false
}

// joinWait finds the wait of n for the end of a thread: the futex word is in that thread's control block. Until
// glibc 2.41 it is the word of its LWP, which the kernel clears at the end of the thread; since then it is a word
// that only pthread_join waits on.
func (nw *nativeWaits) joinWait(n *teams.Thread, futex uint64, word uint32) (wait, bool) {
	t, ok := nw.data.Library().ThreadAt(futex)
	if !ok || t.LWP == 0 || int(t.LWP) == n.LWP {
		return wait{}, false
	}
	lwp := int(t.LWP)
	w := wait{Wait: picture.Wait{Kind: picture.WaitJoin, Name: fmt.Sprintf("end of LWP %d", lwp), WaitOn: lwp},
		address: t.Pthread}
	switch {
	case int(word) == lwp:
		w.Evidence = fmt.Sprintf("it sleeps until the thread id %d at %v is cleared", word, picture.Hex(futex))
	case nw.isInCall(n, "pthread_join"):
		const words = "it called pthread_join and sleeps on the word at %v, in that thread's control block"
		w.Evidence = fmt.Sprintf(words, picture.Hex(futex))
	case n.CalledByProgram() && sleepsAsShared(n.Registers()): // pthread_join as a tail call
		const words = "it sleeps on the word at %v, in that thread's control block, as only pthread_join does"
		w.Evidence = fmt.Sprintf(words, picture.Hex(futex))
	default:
		return wait{}, false
	}
	return w, true
}

// sleepsAsShared reports whether a thread sleeps without a time limit on a word that the kernel or another
// process may change.
func sleepsAsShared(regs *callbacks.Registers) bool {
	return arch.EndlessWait(regs, true) && !arch.EndlessWait(regs, false)
}

// mutexWait finds the wait of n for a pthread mutex, which starts with its futex word and has its owner. It
// ignores the content of freed memory.
func (nw *nativeWaits) mutexWait(n *teams.Thread, futex uint64, _ uint32) (wait, bool) {
	m, err := nw.data.Library().Mutex(futex)
	if refused, ok := nw.refusedMutex(n, futex); ok {
		m, err, futex = refused, nil, refused.Address
	}
	sound := err == nil && m.Contended
	shown := sound && nw.isStaticWait(n) && nw.roster.ByLWP[int(m.Owner)] != nil
	if !shown && !nw.isInCall(n, "pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock") {
		return wait{}, false
	}
	if !sound && nw.memory.FreedReason(futex) == "" {
		return wait{}, false
	}
	w := wait{
		Wait:    picture.Wait{Kind: picture.WaitMutex, Name: nw.mutexName(n, futex)},
		address: futex, variable: futex, timed: arch.HasLimit(n.Registers()),
	}
	if sound && nw.roster.ByLWP[int(m.Owner)] != nil {
		w.WaitOn, w.Evidence = int(m.Owner), fmt.Sprintf("__owner of the mutex at %v is %d", picture.Hex(futex),
			m.Owner)
	}
	return w, true
}

// refusedMutex returns the mutex with priority inheritance that n tries to acquire while it sleeps on another word: the
// kernel refuses a wait for a mutex whose holder waits for n, or is n, and glibc then lets the thread sleep for ever on
// a word that no thread wakes.
func (nw *nativeWaits) refusedMutex(n *teams.Thread, futex uint64) (libc.Mutex, bool) {
	addr, ok := nw.topArgument(n, 0)
	if !ok || addr == futex || !nw.isInCall(n, "pthread_mutex_lock") {
		return libc.Mutex{}, false
	}
	m, err := nw.data.Library().Mutex(addr)
	m.Contended = true
	return m, err == nil && m.Inherits && nw.roster.ByLWP[int(m.Owner)] != nil
}

// isStaticWait reports whether the C library is linked into the executable, where its functions may have no names,
// and no runtime called it for n. The kind of the wait then follows from the memory around the futex word.
func (nw *nativeWaits) isStaticWait(n *teams.Thread) bool {
	st := n.Stack()
	return nw.data.Library().Kind() == libc.Unknown && len(st.Frames) > 0 && st.Frames[0].Module != nil &&
		st.Frames[0].Module.Main && st.RuntimeFrames() == 0
}

// mutexLock describes the mutex that w waits for. Its owner has ended if the process has no thread of that number.
// This requires that the process and the target number threads in the same way, which differs in a container.
func (nw *nativeWaits) mutexLock(w wait) picture.Lock {
	l := picture.Lock{Implementation: "mutex", Held: true, Owner: w.WaitOn, Evidence: w.Evidence}
	m, err := nw.data.Library().Mutex(w.address)
	if err != nil || w.WaitOn != 0 || m.Owner == 0 || !nw.numbersThread(w.n) {
		l.Shared = err == nil && m.Shared && w.WaitOn == 0 && nw.spins.isShared(w.address)
		return l
	}
	const words = "__owner of the mutex at %v is %d, which is no thread of the process"
	l.Evidence = fmt.Sprintf(words, picture.Hex(w.address), m.Owner)
	l.Shared = m.Shared && nw.spins.isShared(w.address)
	l.OwnerEnded = !m.Shared && !m.ByKernel
	return l
}

// numbersThread reports whether the C library and the target have the same number for a thread.
func (nw *nativeWaits) numbersThread(n *teams.Thread) bool {
	if n == nil || n.Pthread == 0 {
		return false
	}
	tid, err := nw.data.Library().ThreadID(n.Pthread)
	return err == nil && int(tid) == n.LWP
}

// semaphoreWait finds the wait of n on a semaphore, which starts with its futex word.
func (nw *nativeWaits) semaphoreWait(n *teams.Thread, futex uint64, word uint32) (wait, bool) {
	if !nw.isInCall(n, "sem_wait", "sem_timedwait", "sem_clockwait") {
		return wait{}, false
	}
	return wait{
		Wait:    picture.Wait{Kind: picture.WaitSemaphore, Name: nw.data.PlaceName(futex)},
		address: futex, variable: futex, timed: nw.isTimed(n, word),
	}, true
}

// barrierWait finds the wait of n at a barrier of the C library that the program's code called.
func (nw *nativeWaits) barrierWait(n *teams.Thread, futex uint64, word uint32) (wait, bool) {
	if !n.CalledByProgram() || !nw.isInCall(n, "pthread_barrier_wait") {
		return wait{}, false
	}
	b, err := nw.data.Library().Barrier(futex)
	if err != nil {
		return wait{}, false
	}
	w := wait{
		Wait:    picture.Wait{Kind: picture.WaitThreads, Name: nw.data.PlaceName(b.Address)},
		address: b.Address, variable: b.Address, timed: nw.isTimed(n, word),
	}
	const words = "%d of the %d threads came to it that the barrier at %v takes"
	w.Evidence = fmt.Sprintf(words, b.Came, b.Count, picture.Hex(b.Address))
	return w, true
}

// streamLockAt is the offset of the address of its lock (_lock) in a FILE of glibc.
const streamLockAt = 136

// streamName names the stream with the lock at addr, if it is one of the standard streams.
func (nw *nativeWaits) streamName(addr uint64) string {
	for _, name := range []string{"stdin", "stdout", "stderr"} {
		file, err := nw.target.Symbol("_IO_2_1_"+name+"_", "")
		if err != nil {
			continue
		}
		if lock, err := layout.ReadUint(nw.target, file.Add(streamLockAt), 8); err == nil && lock == addr {
			return "of stream " + name
		}
	}
	return "of a stream"
}

// streamWait finds the wait of n for the lock of a stdio stream, which names its owner.
func (nw *nativeWaits) streamWait(n *teams.Thread, futex uint64, _ uint32) (wait, bool) {
	pthread, err := nw.data.Library().StreamOwner(futex)
	owner := nw.roster.ByPthread[pthread]
	if err != nil || owner == nil || owner == n || owner.LWP == 0 || n.InFunction("syscall") {
		return wait{}, false
	}
	w := wait{address: futex, variable: futex}
	w.Kind, w.Name, w.WaitOn = picture.WaitMutex, nw.streamName(futex), owner.LWP
	w.Evidence = fmt.Sprintf("the owner of the stream's lock at %v is the thread of LWP %d", picture.Hex(futex),
		w.WaitOn)
	return w, true
}

// The bits of a guard variable of GNU's C++ library, besides the first byte, which is 1 when the variable is
// initialized.
const (
	guardPending = 1 << 8 // a thread initializes it
	guardWaiting = 1 << 16
)

// staticWait finds the wait of n for the end of the initialization of a function's static variable, by another
// thread or by itself. It sleeps on the guard word of GNU's C++ library.
func (nw *nativeWaits) staticWait(n *teams.Thread, futex uint64, word uint32) (wait, bool) {
	if !n.InnermostIs("__cxa_guard_acquire") || word&^(guardPending|guardWaiting) != 0 ||
		word&guardPending == 0 {
		return wait{}, false
	}
	const prefix = "guard variable for "
	return wait{
		Wait:    picture.Wait{Kind: picture.WaitStatic, Name: strings.TrimPrefix(nw.data.PlaceName(futex), prefix)},
		address: futex, variable: futex,
	}, true
}

// staticLock describes the initialization that w waits for.
func (wf *Finder) staticLock(w wait) picture.Lock {
	l := picture.Lock{Implementation: "guard", Held: true}
	l.Evidence = fmt.Sprintf("the guard variable at %v says that a thread initializes it", picture.Hex(w.address))
	l.Holders = wf.holders.find(w, l)
	return l
}

// futexWait finds the wait of n on any other futex word, to which it came from the program's code.
func (nw *nativeWaits) futexWait(n *teams.Thread, futex uint64, word uint32) (wait, bool) {
	if !n.CalledByProgram() {
		return wait{}, false
	}
	w := wait{
		Wait:    picture.Wait{Kind: picture.WaitFutex, Name: nw.data.PlaceName(futex)},
		address: futex, variable: futex, timed: nw.isTimed(n, word) && !nw.isAtLatch(n, word),
	}
	if !w.timed && arch.HasLimit(n.Registers()) {
		w.Evidence = repeatedWait
	}
	return w, true
}

// isTimed reports whether the wait of n may end without another thread of its process: it has a time limit, or the
// word on which it sleeps has changed, as it does before a thread is woken.
func (nw *nativeWaits) isTimed(n *teams.Thread, word uint32) bool {
	regs := *n.Registers()
	private := !nw.spins.isShared(regs.SyscallArgs[0])
	if arch.HasLimit(&regs) && nw.repeatsWait(n) {
		regs.SyscallArgs[3] = 0
	}
	return !arch.EndlessWait(&regs, private) || uint32(regs.SyscallArgs[2]) != word
}

// mpiWait returns the wait of n in a function of MPI.
func (nw *nativeWaits) mpiWait(n *teams.Thread) (wait, bool) {
	c, ok := nw.mpiCall(n)
	return wait{Wait: picture.Wait{Kind: picture.WaitMPI, Name: c.Routine}}, ok
}

// MPICall is the call of MPI that a thread waits in.
type MPICall struct {
	Routine string
	Caller  int // number of the program's frame that called the routine
	Inner   int // number of the C routine's frame, which a Fortran routine may have called; -1 without one
}

// MPICall returns the call of MPI that n waits in.
func (wf *Finder) MPICall(n *teams.Thread) (MPICall, bool) { return wf.native.mpiCall(n) }

// mpiCall finds the call of MPI that n waits in.
func (nw *nativeWaits) mpiCall(n *teams.Thread) (c MPICall, blocks bool) {
	st := n.Stack()
	inside := false
	c.Inner = -1
	for i, f := range st.Frames {
		switch {
		case f.Module != nil && rtl.OpaqueModule(filepath.Base(f.Module.Path)):
			inside = true
			if c.Inner < 0 && i > 0 && mpi.IsC(nw.code.CallTarget(f.PC)) {
				c.Inner = i - 1
			}
		case st.Kinds[i] == stacks.KindSystem:
		case st.Kinds[i] != stacks.KindUser || !inside:
			return MPICall{}, false
		default:
			symbol := nw.code.CallTarget(f.PC)
			if c.Inner < 0 && mpi.IsC(symbol) {
				c.Inner = i - 1
			}
			c.Caller = i
			c.Routine, blocks = rtl.BlockingMPI(symbol)
			return c, blocks
		}
	}
	return MPICall{}, false
}

// AddWait adds to t, thread n of a picture in a state of its runtime, the name of the thing that it waits for. For a
// thread that works by the specification and waits in the C library or in MPI, or sleeps in its runtime, it replaces
// the state: a thread that is asleep in a system call is not at work.
func (wf *Finder) AddWait(t *picture.Thread, n *teams.Thread) {
	if w, ok := wf.runtimeWait(n); ok {
		t.WaitName = w.Name
	}
	overhead := t.State.Name == picture.StateOverhead
	if !overhead && !strings.HasPrefix(string(t.State.Name), "work_") {
		return
	}
	w, ok := wf.native.nativeWait(n)
	evidence := w.libraryEvidence()
	if !ok || !w.Kind.Traits().Own && !w.Kind.OfTarget() || overhead && !slices.Contains(overheadWaits, w.Kind) {
		if !overhead { // it sleeps in the program's code
			return
		}
		if w, ok = wf.native.runtimeSleep(n); !ok {
			return
		}
		evidence = t.State.Evidence
	}
	s := *t.State
	if w.Kind.Traits().Own {
		s.Standard = s.Name
	}
	s.Name, s.Source, s.Evidence = w.Kind.Traits().State, picture.StateInferred, evidence
	t.State = &s
	t.WaitID, t.WaitKind, t.WaitName, t.WaitOn = picture.Address(w.address), w.Kind, w.Name, w.WaitOn
	t.Sleep = w.Sleep
}

// overheadWaits are the waits of the program that replace the state of a thread in overhead. Any other one is a wait of
// the runtime's own in the C library.
var overheadWaits = []picture.WaitKind{picture.WaitFlag, picture.WaitNothing, picture.WaitCall}

// runtimeSleep returns the wait of a thread that sleeps in its runtime on a word of unknown purpose. The word still has
// the value on which the thread went to sleep: no thread has begun to wake it.
func (nw *nativeWaits) runtimeSleep(n *teams.Thread) (wait, bool) {
	regs := n.Registers()
	if regs == nil {
		return wait{}, false
	}
	futex, asleep := arch.IsFutexWait(regs)
	if !asleep {
		return wait{}, false
	}
	word, err := layout.ReadUint(nw.target, futex, 4)
	if err != nil || uint32(regs.SyscallArgs[2]) != uint32(word) {
		return wait{}, false
	}
	return wait{Wait: picture.Wait{Kind: picture.WaitFutex}, address: futex.Offset}, true
}

// libraryEvidence returns the evidence that a thread waits in a library that the program called.
func (w *wait) libraryEvidence() string {
	switch {
	case w.Kind == picture.WaitMPI:
		return "its stack is in MPI, in a call of " + w.Name
	case w.Evidence != "":
		return w.Evidence
	}
	return fmt.Sprintf("it sleeps in a futex call, on what the program's code waits for in the C library (%s)",
		strings.ReplaceAll(string(w.Kind), "_", " "))
}

// conditionWait finds the wait of n on a condition variable, which is an argument of the call.
func (nw *nativeWaits) conditionWait(n *teams.Thread, futex uint64, word uint32) (wait, bool) {
	if !nw.isInCall(n, "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait") {
		return wait{}, false
	}
	w := wait{Wait: picture.Wait{Kind: picture.WaitCondition}, timed: nw.isTimed(n, word)}
	if cond, ok := nw.topArgument(n, 0); ok && nw.data.Library().InCondition(cond, futex) {
		w.address, w.variable, w.Name = cond, cond, nw.data.PlaceName(cond)
	}
	return w, true
}

// runtimeLockWait finds the wait of n, unknown to all runtimes, for a lock of a runtime: a thread of the program's
// own may take locks without becoming the runtime's. It sleeps on the lock's word.
func (nw *nativeWaits) runtimeLockWait(n *teams.Thread, futex uint64, _ uint32) (wait, bool) {
	c, w, ok := nw.lockCall(n)
	if !ok {
		return wait{}, false
	}
	w.address = futex
	if c.Arg >= 0 {
		if v, ok := nw.topArgument(n, c.Arg); !ok || v != futex {
			return wait{}, false
		}
		w.variable = futex
	}
	w.Name = w.nameIn(nw.data)
	return w, true
}

// spinLockWait finds the same wait before n sleeps: GNU's runtime first polls the lock's word for a while. The
// lock is the argument of the call, and its word marks it as held.
func (nw *nativeWaits) spinLockWait(n *teams.Thread, regs *callbacks.Registers) (wait, bool) {
	c, w, ok := nw.lockCall(n)
	if !ok || c.Arg < 0 || regs.Syscall >= 0 {
		return wait{}, false
	}
	lock, ok := nw.topArgument(n, c.Arg)
	if !ok {
		return wait{}, false
	}
	if word, err := layout.ReadUint(nw.target, callbacks.Addr(lock), 4); err != nil || word == 0 {
		return wait{}, false
	}
	w.address, w.variable = lock, lock
	w.Name = w.nameIn(nw.data)
	return w, true
}

// lockCall returns the call by which n, unknown to all runtimes, acquires a lock of a runtime.
func (nw *nativeWaits) lockCall(n *teams.Thread) (rtl.LockCall, wait, bool) {
	st := n.Stack()
	top := st.RuntimeFrames()
	if n.Runtime != nil || top == 0 || top >= len(st.Kinds) || st.Kinds[top] != stacks.KindUser {
		return rtl.LockCall{}, wait{}, false
	}
	w := wait{Wait: picture.Wait{Call: nw.libraryCall(n).name}}
	if w.Call == "" {
		w.Call, _ = st.CalledFunction(top)
	}
	c, ok := rtl.LockCallOf(w.Call)
	w.Kind = c.WaitKind()
	return c, w, ok && c.Set && w.Kind != ""
}

// AddLockWait adds to t, thread n of a picture that no runtime knows, its wait for a lock or a critical section of a
// runtime. It returns the state of OpenMP that shows in the stack; undefined if it waits for none.
func (wf *Finder) AddLockWait(t *picture.Thread, n *teams.Thread) handles.State {
	w, ok := wf.native.nativeWait(n)
	if _, _, isLock := wf.native.lockCall(n); !ok || !isLock {
		return handles.StateUndefined
	}
	t.WaitID, t.WaitKind, t.WaitName = picture.Address(w.address), w.Kind, w.Name
	switch w.Kind {
	case picture.WaitCritical:
		return handles.StateWaitCritical
	case picture.WaitAtomic:
		return handles.StateWaitAtomic
	case picture.WaitLock, picture.WaitNestLock:
		return handles.StateWaitLock
	}
	return handles.StateUndefined
}

// foreignLock describes the lock that a thread waits for which is unknown to all runtimes. Its holders follow from
// the stacks.
func (wf *Finder) foreignLock(w wait) (picture.Lock, error) {
	word, err := layout.ReadUint(wf.native.target, callbacks.Addr(w.address), 4)
	if w.n == nil || w.n.Runtime != nil || err != nil {
		return picture.Lock{}, errNoWaits
	}
	l := picture.Lock{Implementation: "futex", Nested: w.Kind == picture.WaitNestLock, Held: word != 0}
	if l.Held {
		l.Holders = wf.holders.find(w, l)
	}
	return l, nil
}

// descriptorCalls are system calls that may sleep and whose first argument is a file descriptor.
var descriptorCalls = []string{
	"read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2", "recvfrom",
	"recvmsg", "recvmmsg", "sendto", "sendmsg", "sendmmsg", "sendfile", "splice", "tee", "vmsplice", "copy_file_range",
	"accept", "accept4", "connect", "flock", "fcntl", "ioctl", "fsync", "fdatasync", "sync_file_range", "syncfs",
	"epoll_wait", "epoll_pwait", "epoll_pwait2", "io_uring_enter", "mq_timedreceive", "mq_timedsend",
}

// callWait finds the wait of a thread that sleeps in any other system call, for an event outside of its process: the
// kernel was interrupted in the call, and would start it again or end it without a result.
func (nw *nativeWaits) callWait(n *teams.Thread, regs *callbacks.Registers) (wait, bool) {
	name := arch.SyscallName(regs.Arch, regs.Syscall)
	if arch.Restarts(regs) && nw.isInCall(n, "poll") { // the arguments are those of the previous call
		name = "poll"
	}
	if name == "futex" || !arch.EndsOutside(regs) {
		return wait{}, false
	}
	const words = "the kernel was interrupted in system call %d, which it would begin again"
	w := wait{Wait: picture.Wait{Kind: picture.WaitCall, Evidence: fmt.Sprintf(words, regs.Syscall)}}
	w.Name = name
	switch first := int32(regs.SyscallArgs[0]); {
	case !arch.Of(regs.Arch).CallArgs:
	case slices.Contains(descriptorCalls, name):
		w.Name = fmt.Sprintf("%s of descriptor %d", name, first)
	case name == "wait4":
		w.setChild(name, first > 0, first == -1, first)
	case name == "waitid":
		w.setChild(name, first == idProcess, first == idAll, int32(regs.SyscallArgs[1]))
	}
	return w, true
}

// Values of idtype_t, the first argument of waitid.
const idAll, idProcess = 0, 1

// setChild sets the child process that a system call waits for: one of them, or any. The call may wait for a group of
// processes, too.
func (w *wait) setChild(call string, one, any bool, pid int32) {
	switch {
	case one:
		child := int(pid)
		w.Name, w.Child = fmt.Sprintf("%s for process %d", call, pid), &child
	case any:
		w.Name, w.Child = call+" for any child process", new(int)
	}
}
