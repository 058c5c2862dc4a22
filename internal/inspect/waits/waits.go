package waits

import (
	"cmp"
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/spin"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/recordings"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// wait is the wait of one thread, with the data to find out more. A picture gets Wait with the addresses.
type wait struct {
	picture.Wait
	address  uint64 // of the program's variable, else the runtime's; 0 if unknown
	variable uint64 // the program's; 0 if unknown

	timed       bool // the call of the C library returns by itself
	ownLock     bool // a lock of the runtime's own, which the thread holds itself
	allocator   bool // a lock of malloc
	interpreter bool // an interpreter's lock: no code of the program acquires it
	crashed     bool // the thread crashed in a function for locks, in a call that need not wait

	n         *teams.Thread
	runtimeID uint64      // the runtime's wait ID; 0 if unset
	words     []spin.Word // words that end the program's loop
	written   []spin.Word // words that the loop writes
	reduction bool        // the critical section combines parts of a reduction
}

// Config is the input of a Finder.
type Config struct {
	About   *picture.Target
	Target  callbacks.Target
	Notes   *stacks.Notes
	Code    *stacks.Code
	Flows   *stacks.Flow // the analysis of locks, and its budget
	Data    *stacks.Data
	Threads *teams.ThreadTable
	States  *teams.States
	Model   *teams.UserModel
	Locks   *recordings.Locks // the recorded locks
	Clock   Clock             // nil for a target that does not run, or is of another machine
}

// Clock reads a clock of the target by its number for clock_gettime(2), in nanoseconds. It is not ok for an unknown
// clock.
type Clock func(number int) (nanoseconds int64, ok bool)

// Finder finds the waits of threads, and the holders of locks.
type Finder struct {
	Config
	native     *nativeWaits
	memory     *freedMemory
	holders    *lockHolders
	reach      *reach
	constructs *constructs
	tracer     *tracer
}

// New returns a Finder of one snapshot.
func New(c Config) *Finder {
	memory := &freedMemory{about: c.About, target: c.Target, roster: c.Threads, code: c.Code, library: c.Data.Library,
		known: map[uint64]string{}}
	native := &nativeWaits{
		target: c.Target, notes: c.Notes, roster: c.Threads, code: c.Code, flows: c.Flows, data: c.Data, memory: memory,
		spins: &spins{target: c.Target, code: c.Code, data: c.Data, loops: map[*teams.Thread]*spin.Loop{}},
		known: map[*teams.Thread]nativeState{}, once: map[uint64][]onceCall{}, clock: c.Clock,
		model: c.Model, calls: map[*teams.Thread]libraryCall{},
		targets: map[*teams.Thread]*picture.TargetConstruct{},
	}
	reach := &reach{roster: c.Threads, code: c.Code, flows: c.Flows}
	return &Finder{
		Config: c, native: native, memory: memory, holders: newLockHolders(c.Threads, c.Code, c.Flows), reach: reach,
		constructs: newConstructs(c.Code, c.Flows),
		tracer:     &tracer{roster: c.Threads, code: c.Code, waits: native, reach: reach, states: c.States},
	}
}

// all returns the known waits of the target's threads.
func (wf *Finder) all() []wait {
	var out []wait
	for _, n := range wf.Threads.Sorted() {
		w, ok := wf.runtimeWait(n)
		if !ok {
			w, ok = wf.native.nativeWait(n)
		}
		if !ok {
			w, ok = wf.crashedWait(n)
		}
		if ok {
			w.Thread, w.n = n.LWP, n
			out = append(out, w)
		}
	}
	shareVariables(out)
	return out
}

// shareVariables sets unknown variables of waits to those of other threads that wait for the same lock of the
// runtime, which makes one lock for each variable.
func shareVariables(waits []wait) {
	known := map[uint64]*wait{}
	for i := range waits {
		if w := &waits[i]; w.runtimeID != 0 && w.variable != 0 {
			known[w.runtimeID] = w
		}
	}
	for i := range waits {
		w := &waits[i]
		if same := known[w.runtimeID]; w.variable == 0 && same != nil && same.Kind == w.Kind {
			w.variable, w.address, w.Name = same.variable, same.address, same.Name
		}
	}
}

// waitKinds are the kinds of waits by state.
var waitKinds = map[handles.State]picture.WaitKind{
	handles.StateWaitLock: picture.WaitLock, handles.StateWaitCritical: picture.WaitCritical,
	handles.StateWaitAtomic:   picture.WaitAtomic,
	handles.StateWaitTaskwait: picture.WaitTaskwait, handles.StateWaitTaskgroup: picture.WaitTaskgroup,
	handles.StateWaitOrdered: picture.WaitOrdered,
}

// kindOfWait returns the kind of wait of a thread in a state: at a barrier only if the state is that of a barrier.
func kindOfWait(ts handles.ThreadState) picture.WaitKind {
	if ts.State == handles.StateWaitMutex {
		return picture.WaitLock // a lock of the runtime, not a mutex of the C library
	}
	return cmp.Or(waitKinds[ts.State], ts.WaitKind, picture.WaitBarrier)
}

// runtimeWait finds the wait of n in an OpenMP runtime.
func (wf *Finder) runtimeWait(n *teams.Thread) (wait, bool) {
	if n.Runtime == nil || n.LWP == 0 || len(n.Chain) == 0 {
		return wait{}, false
	}
	ts, err := wf.States.StateOf(n)
	if err != nil || !ts.State.Waiting() {
		return wait{}, false
	}
	w := wait{
		Wait:     picture.Wait{Kind: kindOfWait(ts)},
		address:  cmp.Or(ts.WaitVariable, ts.WaitID),
		variable: ts.WaitVariable, runtimeID: ts.WaitID, reduction: ts.WaitKind == picture.WaitReduction,
	}
	if ev := wf.States.Evidence(n); ev != nil && ev.Entry != nil {
		w.Call = ev.Entry.Function
	}
	w.EndOfRegion = w.Kind == picture.WaitBarrier && ts.State == handles.StateWaitBarrierImplicitParallel
	w.Region = teams.RegionID(n.Chain[0])
	if h, err := n.Runtime.CurrentTask(n.Handle); err == nil {
		w.Task = teams.TaskID(h)
	}
	if w.Kind != picture.WaitBarrier && w.Kind != picture.WaitTaskwait {
		w.Name = w.nameIn(wf.Data)
	}
	return w, true
}

// isAsleep reports whether the thread of w sleeps until another thread wakes it.
func (w *wait) isAsleep() bool { return w.n.OnFutex() && !w.timed }

// lock describes the lock that w waits for, with its owner or holders. It fails if the lock is unknown.
func (wf *Finder) lock(w wait) (picture.Lock, error) {
	l, err := wf.describeLock(w)
	switch {
	case w.Kind != picture.WaitLock && w.Kind != picture.WaitNestLock && w.Kind != picture.WaitMutex &&
		w.Kind != picture.WaitReadWrite:
	case l.Destroyed:
		l.InvalidReason = l.Evidence
	default:
		why := wf.memory.FreedReason(cmp.Or(w.variable, w.address))
		if why == "" {
			why = wf.outsideArray(w, l)
			l.NeverLock = why != ""
		}
		if why == "" {
			past, advice := wf.pastArray(w, l)
			switch l.NeverLock = past != "" && (w.crashed || wf.hasFault(w.n)); {
			case l.NeverLock:
				why = past // the fault proves that it is no lock
			case past != "":
				l.Evidence = rtl.JoinEvidence(l.Evidence, past+": "+advice)
			}
		}
		if l.Overwritten = l.Overwritten && why == ""; l.Overwritten {
			why = l.Evidence
		}
		if why != "" {
			l.InvalidReason, err = why, nil
			if l.Owner == 0 && l.Holders == nil {
				l.Holders = wf.holders.find(w, l)
			}
		}
	}
	return l, err
}

// describeLock describes the lock that w waits for, by the record of the runtime or of the C library.
func (wf *Finder) describeLock(w wait) (picture.Lock, error) {
	switch {
	case w.ownLock:
		return ownLock(w), nil
	case w.allocator:
		return wf.native.allocatorLock(w), nil
	}
	switch w.Kind {
	case picture.WaitMutex:
		if w.Call == spinLockCall {
			return wf.spinLock(w), nil
		}
		return wf.native.mutexLock(w), nil
	case picture.WaitReadWrite:
		return wf.readWriteLock(w)
	case picture.WaitStatic:
		return wf.staticLock(w), nil
	case picture.WaitOnce:
		return wf.onceLock(w), nil
	}
	r, ok := waitReader(w.n)
	if !ok {
		return wf.foreignLock(w)
	}
	info, err := r.WaitedLock(w.n.Handle, wf.States.Evidence(w.n))
	if err != nil {
		return picture.Lock{}, err
	}
	l := picture.Lock{
		Implementation: info.Kind, Nested: info.Nested, Held: info.Held, Evidence: info.Evidence,
		Destroyed: info.Destroyed, Overwritten: info.Overwritten,
	}
	if info.Unordered != "" {
		l.NeverLock, l.InvalidReason = true, info.Unordered
	}
	if info.Counted {
		l.Waiting = &info.Waiting
	}
	for _, h := range info.Waiters {
		if n := wf.Threads.ByHandle[h]; n != nil {
			l.Waiters = append(l.Waiters, n.LWP)
		}
	}
	owner := wf.Threads.ByHandle[info.Owner]
	switch {
	case owner != nil && owner.LWP != 0:
		l.Owner = owner.LWP
	case info.OwnerNumber >= 0:
		l.OwnerEnded = true
	case info.Held:
		l.Holders = wf.lockHolders(w, l)
	}
	return l, nil
}

// lockHolders returns the threads that hold the lock that w waits for: by the recording, or by their code.
func (wf *Finder) lockHolders(w wait, l picture.Lock) []picture.Holder {
	recorded := recordings.LockWait{Kind: w.Kind, Thread: w.Thread, Address: w.address, Variable: w.variable,
		Asleep: w.isAsleep()}
	if h, ok := wf.Locks.Holder(recorded); ok {
		return []picture.Holder{h}
	}
	return wf.Locks.WithoutReleased(recorded, wf.holders.find(w, l))
}

// awaitedIteration returns the iteration of a loop with dependences that w waits for, if it has not been posted.
func (wf *Finder) awaitedIteration(w wait) (rtl.Iteration, bool) {
	r, ok := waitReader(w.n)
	if w.Kind != picture.WaitOrdered || !ok {
		return rtl.Iteration{}, false
	}
	it, err := r.WaitedIteration(w.n.Handle, wf.States.Evidence(w.n))
	return it, err == nil
}

// errNoWaits is the error of a runtime's reader without data about waits.
var errNoWaits = errors.New("who holds what threads wait for is not read from this runtime")

// waitReader returns the reader of waits of the runtime of n.
func waitReader(n *teams.Thread) (rtl.WaitReader, bool) {
	if n == nil || n.Runtime == nil {
		return nil, false
	}
	r, ok := n.Runtime.Runtime.(rtl.WaitReader)
	return r, ok
}

// barrier returns the view that the thread of w has of its barrier. It fails if the barrier is unknown.
func (wf *Finder) barrier(w wait) (picture.Barrier, error) {
	r, ok := waitReader(w.n)
	if !ok {
		return picture.Barrier{}, errNoWaits
	}
	info, err := r.WaitedBarrier(w.n.Handle, wf.States.EvidenceByHandle)
	if err != nil {
		return picture.Barrier{}, err
	}
	return picture.Barrier{
		TeamSize: info.TeamSize, WaitsForTasks: info.Tasks, Evidence: info.Evidence,
		Unreleased: info.Unreleased, Defect: info.Defect,
		Arrived: wf.Threads.LWPs(info.Arrived), Missing: wf.Threads.LWPs(info.Missing),
	}, nil
}

// dependences lists the unfinished tasks that w waits for in a taskwait with dependences, or at a task that its
// thread must execute at once. If depends is false, w is another kind of wait.
func (wf *Finder) dependences(w wait) (tasks []picture.ID, depends bool) {
	r, ok := waitReader(w.n)
	if !ok {
		return nil, false
	}
	hs, err := r.WaitedDependences(w.n.Handle, wf.States.Evidence(w.n))
	for _, h := range hs {
		tasks = append(tasks, teams.TaskID(h))
	}
	return tasks, !errors.Is(err, callbacks.Unavailable)
}

// groupTasks lists the unfinished tasks of the taskgroup that w waits for; all reports whether the list is
// complete.
func (wf *Finder) groupTasks(w wait) (tasks []picture.ID, all bool) {
	r, ok := waitReader(w.n)
	if !ok {
		return nil, false
	}
	hs, all, err := r.WaitedGroup(w.n.Handle)
	for _, h := range hs {
		tasks = append(tasks, teams.TaskID(h))
	}
	return tasks, all && err == nil
}

// nameIn returns the program's name for the thing that w waits for: a variable, or the name of a critical section.
func (w wait) nameIn(d *stacks.Data) string {
	name := d.PlaceName(w.address)
	critical, ok := rtl.CriticalName(name)
	switch {
	case ok && critical != "":
		return critical
	case ok, w.Kind == picture.WaitCritical && w.isOnlyOne():
		return picture.Unnamed
	}
	return name
}
