package inspect

import (
	"cmp"
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/symbolize"
)

// Kinds of what threads wait for, beside the ones that runtimes name.
const (
	WaitLock      = "lock"
	WaitNestLock  = "nest_lock"
	WaitCritical  = "critical"
	WaitBarrier   = "barrier"
	WaitTaskwait  = "taskwait"
	WaitTaskgroup = "taskgroup"
	WaitOrdered   = "ordered"
	WaitAtomic    = "atomic"
	WaitMutex     = "mutex"
	WaitJoin      = "join"
	WaitCondition = "condition"
)

// Unnamed stands for the name of the critical section that has none.
const Unnamed = "(unnamed)"

// Wait is what one thread waits for.
type Wait struct {
	LWP     int
	Kind    string
	Address uint64 // of the program's variable if that is known, else the runtime's; 0 if unknown
	// Variable is the address of the program's variable; 0 if it is not known.
	Variable uint64
	Name     string // as the program calls it; empty if that is not known
	Region   ID
	Task     ID
	Call     string // the function of the runtime that was called; empty if unknown
	// End tells that it is the barrier at the end of the region.
	End bool
	// On is the thread that must go on first, where the wait itself says so:
	// the owner of a mutex, the thread that is joined. 0 if it does not.
	On       int
	Evidence string // how On is known

	n         *native
	reduction bool // a critical section that combines parts of a reduction
}

// Waits returns what the threads of the target wait for; threads that wait for
// nothing that is known are left out.
func (in *Inspector) Waits() []Wait {
	var out []Wait
	for _, n := range in.sorted() {
		w, ok := in.runtimeWait(n)
		if !ok {
			w, ok = in.nativeWait(n)
		}
		if ok {
			w.LWP, w.n = n.lwp, n
			out = append(out, w)
		}
	}
	return out
}

// waitKinds are the kinds of waits by state.
var waitKinds = map[rtl.State]string{
	rtl.StateWaitLock: WaitLock, rtl.StateWaitCritical: WaitCritical, rtl.StateWaitAtomic: WaitAtomic,
	rtl.StateWaitTaskwait: WaitTaskwait, rtl.StateWaitTaskgroup: WaitTaskgroup, rtl.StateWaitOrdered: WaitOrdered,
}

// runtimeWait is what n waits for in an OpenMP runtime.
func (in *Inspector) runtimeWait(n *native) (Wait, bool) {
	if n.rt == nil || n.lwp == 0 || len(n.chain) == 0 {
		return Wait{}, false
	}
	ts, err := in.stateOf(n)
	if err != nil || !ts.State.Waiting() {
		return Wait{}, false
	}
	w := Wait{reduction: ts.WaitKind == rtl.FamilyReduction, Kind: cmp.Or(waitKinds[ts.State], ts.WaitKind, WaitBarrier), Address: cmp.Or(ts.WaitVariable, ts.WaitID), Variable: ts.WaitVariable}
	if ev := in.evidence(n); ev != nil && ev.Entry != nil {
		w.Call = ev.Entry.Function
	}
	w.End = w.Kind == WaitBarrier && ts.State == rtl.StateWaitBarrierImplicitParallel
	w.Region = regionID(n.chain[0])
	if h, err := n.rt.CurrentTask(n.h); err == nil {
		w.Task = taskID(h)
	}
	if w.Kind != WaitBarrier && w.Kind != WaitTaskwait {
		w.Name = in.waitName(w)
	}
	return w, true
}

// waitName is what the program calls the thing that w waits for: a variable, or
// the name of a critical section.
func (in *Inspector) waitName(w Wait) string {
	name := in.placeName(w.Address)
	critical, ok := rtl.CriticalName(name)
	switch {
	case ok && critical != "":
		return critical
	case ok, w.Kind == WaitCritical && w.only():
		return Unnamed
	}
	return name
}

// placeName names the program's data at addr: a variable, an element or member of
// one, or a distance into one if debug information does not tell.
func (in *Inspector) placeName(addr uint64) string {
	if addr == 0 || in.cfg.Symbolizer == nil || in.owned(addr) {
		return ""
	}
	if name, ok := in.cfg.Symbolizer.Variable(addr); ok {
		return name
	}
	s, ok := in.cfg.Symbolizer.Data(addr)
	switch {
	case !ok || s.Name == "":
		return cmp.Or(in.localName(addr), in.heapName(addr))
	case s.Offset == 0:
		return symbolize.Demangle(s.Name)
	}
	return symbolize.Demangle(s.Name) + "+" + Hex(s.Offset).String()
}

// Lock is who has what a thread waits for.
type Lock struct {
	Kind      string // as the runtime implements it
	Nested    bool
	Held      bool
	Owner     int   // LWP of the thread that the lock itself names; 0 if it names none
	OwnerGone bool  // the lock names an owner that is no thread any more
	Waiters   []int // LWPs in the order of the lock's queue, if it has one
	Counted   bool  // Waiting is how many threads wait by the lock's own count
	Waiting   int
	Evidence  string
	// Gone says why the lock is none any more: its memory was freed, or the
	// runtime has destroyed it. Empty if nothing proves that.
	Gone      string
	Destroyed bool // the runtime has destroyed it, and will wake nobody
	// Overwritten tells that something else is in its memory; Gone says what.
	Overwritten bool
	// Holders are the threads whose code shows that they have it, or may have
	// it, where the lock names no owner. The best come first.
	Holders []Holder
}

// Lock tells who has the lock that w waits for. It fails if nothing is known of
// the lock.
func (in *Inspector) Lock(w Wait) (Lock, error) {
	l, err := in.lockOf(w)
	switch {
	case w.Kind != WaitLock && w.Kind != WaitNestLock && w.Kind != WaitMutex:
	case l.Destroyed:
		l.Gone = l.Evidence
	default:
		why := in.Gone(cmp.Or(w.Variable, w.Address))
		if l.Overwritten = l.Overwritten && why == ""; l.Overwritten {
			why = l.Evidence
		}
		if why != "" {
			l.Gone, err = why, nil
			if l.Owner == 0 && l.Holders == nil {
				l.Holders = in.holders(w, l)
			}
		}
	}
	return l, err
}

// lockOf is what the runtime or the C library keeps of the lock that w waits for.
func (in *Inspector) lockOf(w Wait) (Lock, error) {
	if w.Kind == WaitMutex {
		return in.mutex(w), nil
	}
	r, ok := waitReader(w.n)
	if !ok {
		return in.foreignLock(w)
	}
	info, err := r.WaitedLock(w.n.h, in.evidence(w.n))
	if err != nil {
		return Lock{}, err
	}
	l := Lock{Kind: info.Kind, Nested: info.Nested, Held: info.Held, Counted: info.Counted, Waiting: info.Waiting, Evidence: info.Evidence, Destroyed: info.Destroyed, Overwritten: info.Overwritten}
	for _, h := range info.Waiters {
		if n := in.byHandle[h]; n != nil {
			l.Waiters = append(l.Waiters, n.lwp)
		}
	}
	owner := in.byHandle[info.Owner]
	switch {
	case owner != nil && owner == w.n && !in.onFutex(w.n):
		// It may have just taken the lock, or take a nestable one again.
		if !info.Nested {
			l.Holders = in.holders(w, l)
		}
	case owner != nil && owner.lwp != 0:
		l.Owner = owner.lwp
	case info.OwnerNumber >= 0:
		l.OwnerGone = true
	case info.Held:
		l.Holders = in.holders(w, l)
	}
	return l, nil
}

// errNoWaits says that a runtime's reader does not tell more of waits.
var errNoWaits = errors.New("who has what threads wait for is not read of this runtime")

// waitReader is the power of the runtime of n to tell more of waits.
func waitReader(n *native) (rtl.WaitReader, bool) {
	if n == nil || n.rt == nil {
		return nil, false
	}
	r, ok := n.rt.Runtime.(rtl.WaitReader)
	return r, ok
}

// Barrier is a barrier that is not complete, as one of its threads sees it.
type Barrier struct {
	TeamSize int
	Arrived  []int // LWPs that are proven to have arrived, and cannot leave
	Missing  []int // LWPs that are proven not to have arrived
	Tasks    bool  // all have arrived, the barrier waits for explicit tasks
	Evidence string
}

// Barrier tells whom a thread waits for at a barrier. It fails if nothing is
// known of it.
func (in *Inspector) Barrier(w Wait) (Barrier, error) {
	r, ok := waitReader(w.n)
	if !ok {
		return Barrier{}, errNoWaits
	}
	info, err := r.WaitedBarrier(w.n.h, in.evidenceOf)
	if err != nil {
		return Barrier{}, err
	}
	return Barrier{
		TeamSize: info.TeamSize, Tasks: info.Tasks, Evidence: info.Evidence,
		Arrived: in.lwps(info.Arrived), Missing: in.lwps(info.Missing),
	}, nil
}

func (in *Inspector) lwps(hs []handles.Thread) []int {
	var out []int
	for _, h := range hs {
		if n := in.byHandle[h]; n != nil && n.lwp != 0 {
			out = append(out, n.lwp)
		}
	}
	return out
}

// Dependences lists the unfinished tasks that w waits for in a taskwait with
// dependences, or at a task that its thread must execute at once; it is not such a
// wait if depends is false.
func (in *Inspector) Dependences(w Wait) (tasks []ID, depends bool) {
	r, ok := waitReader(w.n)
	if !ok {
		return nil, false
	}
	hs, err := r.WaitedDependences(w.n.h, in.evidence(w.n))
	for _, h := range hs {
		tasks = append(tasks, taskID(h))
	}
	return tasks, !errors.Is(err, callbacks.Unavailable)
}

// GroupTasks lists the unfinished tasks of the taskgroup that w waits for; all
// tells whether they are all of them.
func (in *Inspector) GroupTasks(w Wait) (tasks []ID, all bool) {
	r, ok := waitReader(w.n)
	if !ok {
		return nil, false
	}
	hs, all, err := r.WaitedGroup(w.n.h)
	for _, h := range hs {
		tasks = append(tasks, taskID(h))
	}
	return tasks, all && err == nil
}

// word reads a 32-bit number of the target.
func (in *Inspector) word(addr uint64) (uint32, bool) {
	var b [4]byte
	if in.cfg.Target.ReadMemory(callbacks.At(addr), b[:]) != nil {
		return 0, false
	}
	return uint32(callbacks.Word(b[:])), true
}
