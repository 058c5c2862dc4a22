package teams

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ThreadTable contains the threads of a target, each with its runtime.
type ThreadTable struct {
	Target    callbacks.Target
	about     *picture.Target
	Runtimes  []*Runtime
	notes     *stacks.Notes
	stacks    *stacks.Reader
	All       []*Thread
	ByLWP     map[int]*Thread
	ByHandle  map[handles.Thread]*Thread
	Only      *Thread   // the thread of a question about one LWP; nil for all
	selection []*Thread // the threads that are selected, if selected is set
	selected  bool
	ByPthread map[uint64]*Thread
	// Unidentified is set if a runtime knows its threads by pthread_t, but those of the target are unknown.
	Unidentified bool
}

// ErrNoThread is the error of a question about a thread number that the target does not have.
var ErrNoThread = errors.New("the target has no thread of this number; `ompd-inspect threads` lists all")

// errNoNativeThread is the error of a thread that only a runtime lists.
var errNoNativeThread = errors.New("it is not among the threads of the target: not yet started, ended, or not dumped")

// NewThreadTable lists the threads. If only is not 0, the table is for questions about that LWP. The error
// concerns the target as a whole.
func NewThreadTable(
	runtimes []rtl.Runtime, only int, about *picture.Target, notes *stacks.Notes, st *stacks.Reader,
) (*ThreadTable, error) {
	r := &ThreadTable{
		Target: st.Target(), about: about, Runtimes: nameRuntimes(runtimes), notes: notes, stacks: st,
		ByLWP: map[int]*Thread{}, ByHandle: map[handles.Thread]*Thread{}, ByPthread: map[uint64]*Thread{},
	}
	if err := r.listNatives(); err != nil {
		return nil, err
	}
	if lwp := only; lwp != 0 {
		if r.Only = r.ByLWP[lwp]; r.Only == nil {
			return nil, fmt.Errorf("LWP %d: %w", lwp, ErrNoThread)
		}
		r.Select(r.Only)
	}
	r.findMissingStacks()
	r.findPthreads()
	if r.Only == nil || !r.matchOne() {
		r.matchThreads()
	}
	return r, nil
}

// listNatives lists the target's own threads.
func (r *ThreadTable) listNatives() error {
	lwps, err := r.Target.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	if len(lwps) > maxThreads {
		r.notes.Warn("%d threads, only the first %d are shown", len(lwps), maxThreads)
		lwps = lwps[:maxThreads]
	}
	pthreads, err := r.Target.ThreadIDs(callbacks.ThreadIDPthread)
	if err != nil && !errors.Is(err, callbacks.ErrUnsupportedKind) {
		r.notes.Warn("threads have no pthread_t: %v", err)
	}
	for i, id := range lwps {
		pthread := uint64(0)
		if i < len(pthreads) {
			pthread = pthreads[i].Value
		}
		n := &Thread{Thread: r.stacks.NewThread(int(id.Value), pthread)}
		r.All = append(r.All, n)
		r.ByLWP[n.LWP] = n
		if n.Pthread != 0 {
			r.ByPthread[n.Pthread] = n
		}
	}
	return nil
}

// threadFinder is a runtime that can find the OpenMP thread of a native thread.
type threadFinder interface {
	ThreadHandle(id callbacks.ThreadID) (handles.Thread, error)
}

// matchOne matches the one selected thread with its runtimes. It returns false if a runtime can only list all.
func (r *ThreadTable) matchOne() bool {
	for _, rt := range r.Runtimes {
		f, ok := rt.Runtime.(threadFinder)
		if !ok || r.Only.Pthread == 0 {
			return false
		}
		h, err := f.ThreadHandle(callbacks.Pthread(r.Only.Pthread))
		switch {
		case err == nil:
			r.matchThread(rt, h)
		case !errors.Is(err, callbacks.Unavailable):
			return false
		}
	}
	return true
}

// wanted returns the selected threads.
func (r *ThreadTable) wanted() []*Thread {
	if r.selected {
		return r.selection
	}
	return r.All
}

// Select limits the table to some threads.
func (r *ThreadTable) Select(ns ...*Thread) { r.selection, r.selected = ns, true }

// Find returns the thread with handle h, or nil. In a table for one thread, it matches another one when an answer
// needs it.
func (r *ThreadTable) Find(rt *Runtime, h handles.Thread) *Thread {
	if h.IsZero() {
		return nil
	}
	if r.ByHandle[h] == nil && r.Only != nil {
		r.matchThread(rt, h)
	}
	return r.ByHandle[h]
}

// matchThreads joins the runtimes' threads with the target's, by pthread_t.
func (r *ThreadTable) matchThreads() {
	for _, rt := range r.Runtimes {
		for h, err := range rt.Threads() {
			if r.notes.Exceeded("threads") {
				return
			}
			if err != nil {
				r.notes.Warn("%s: a thread could not be read: %v", rt.ID, err)
				continue
			}
			r.matchThread(rt, h)
		}
	}
}

// matchThread joins thread h of a runtime with its native thread.
func (r *ThreadTable) matchThread(rt *Runtime, h handles.Thread) {
	info, err := rt.Thread(h)
	n := r.ByPthread[info.Pthread.Value]
	if info.Pthread.Value == 0 { // unknown on aarch64 without the C library's file
		n = r.ByLWP[int(info.LWP)]
	}
	switch {
	case n == nil:
		n = &Thread{Thread: r.stacks.NewThread(0, info.Pthread.Value)}
		if r.Unidentified {
			n.Errs = append(n.Errs, errNoPthread)
		} else {
			n.Errs = append(n.Errs, errNoNativeThread)
		}
		r.All = append(r.All, n)
	case n.Runtime == rt:
		r.notes.Warn("%s: threads %d and %d both claim pthread %#x", rt.ID, n.Info.Number, info.Number, n.Pthread)
		return
	case n.Runtime != nil:
		// A thread can be known to two runtimes; it shows the one in which it
		// is in a region.
		r.ByHandle[h] = n
		if rt.ID == n.Runtime.ID || !r.isDeeper(rt, h, n) {
			return
		}
	}
	n.Runtime, n.Handle, n.Info, n.InfoErr = rt, h, info, err
	r.ByHandle[h] = n
	if err != nil {
		n.Errs = append(n.Errs, err)
		return
	}
	n.Chain = r.chainOf(n)
}

// isDeeper reports whether thread h of rt is in a deeper region than n's runtime shows.
func (r *ThreadTable) isDeeper(rt *Runtime, h handles.Thread, n *Thread) bool {
	p, err := rt.CurrentParallel(h)
	return err == nil && int(p.Level) >= len(n.Chain)
}

// chainOf returns the regions that a thread is in, innermost first.
func (r *ThreadTable) chainOf(n *Thread) []handles.Parallel {
	if n.Info.Role == picture.RoleIdle {
		return nil
	}
	p, err := n.Runtime.CurrentParallel(n.Handle)
	var chain []handles.Parallel
	seen := map[handles.Parallel]bool{}
	for err == nil {
		if seen[p] || len(chain) >= MaxLevels {
			n.Errs = append(n.Errs, fmt.Errorf("enclosing regions of %v do not end", p))
			return chain
		}
		seen[p] = true
		chain = append(chain, p)
		p, err = n.Runtime.EnclosingParallel(p)
	}
	if !errors.Is(err, callbacks.Unavailable) {
		n.Errs = append(n.Errs, err)
	}
	return chain
}

// LWPs returns the LWPs of a runtime's threads; it leaves out those that the target does not have.
func (r *ThreadTable) LWPs(hs []handles.Thread) []int {
	var out []int
	for _, h := range hs {
		if n := r.ByHandle[h]; n != nil && n.LWP != 0 {
			out = append(out, n.LWP)
		}
	}
	return out
}

// Asleep reports whether a thread waits in a system call and uses no processor. It is true if the thread's
// registers are unknown.
func (r *ThreadTable) Asleep(lwp int) bool {
	n := r.ByLWP[lwp]
	if n == nil {
		return true
	}
	regs := n.Registers()
	return regs == nil || regs.Syscall >= 0 && arch.SyscallName(regs.Arch, regs.Syscall) != "sched_yield"
}

// Sorted returns the selected threads in the order of the picture: the crashed thread, then by role, thread
// number and LWP.
func (r *ThreadTable) Sorted() []*Thread {
	out := slices.Clone(r.wanted())
	slices.SortStableFunc(out, func(a, b *Thread) int {
		return cmp.Or(
			-compareBools(a.LWP != 0 && a.LWP == r.about.CrashedLWP, b.LWP != 0 && b.LWP == r.about.CrashedLWP),
			cmp.Compare(roleRank[a.Info.Role], roleRank[b.Info.Role]),
			cmp.Compare(a.Info.Number, b.Info.Number),
			cmp.Compare(a.LWP, b.LWP),
		)
	})
	return out
}

// NativeThreads yields the native threads in the order of the picture.
func (r *ThreadTable) NativeThreads(yield func(*stacks.Thread) bool) {
	for _, n := range r.Sorted() {
		if !yield(&n.Thread) {
			return
		}
	}
}

// Runtime is an OpenMP runtime with its name in the picture.
type Runtime struct {
	rtl.Runtime
	ID string
	// Damage describes fields that contradict one another in a way that no state of the runtime explains.
	Damage func() []string
}

// APIOnly reports whether the runtime is known only by the answers of its API's functions. Its reader has no
// fields to compare them with, and knows no code of regions.
func (rt *Runtime) APIOnly() bool { return rt.Layout().Instead != "" }

// Thread is a thread of the target with its runtime's view of it.
type Thread struct {
	stacks.Thread
	Missing  error // the reason why its stack and thread-local data are missing; nil if they are not
	Runtime  *Runtime
	Handle   handles.Thread
	Info     handles.ThreadInfo
	InfoErr  error
	Chain    []handles.Parallel // regions, innermost first; empty for idle and foreign threads
	regions  *regionCache       // nil before the first use
	evidence *handles.Evidence  // nil before the first use, or without registers
	state    *threadState       // nil before the first use
}

// threadState is the runtime's answer about a thread.
type threadState struct {
	handles.ThreadState
	err error
}

// nameRuntimes names runtimes by their family, with a number for all but the first of a family.
func nameRuntimes(runtimes []rtl.Runtime) []*Runtime {
	var out []*Runtime
	seen := map[string]int{}
	for _, rt := range runtimes {
		id := rt.Identity().Family
		seen[id]++
		if seen[id] > 1 {
			id = fmt.Sprintf("%s-%d", id, seen[id])
		}
		out = append(out, &Runtime{rt, id, sync.OnceValue(func() []string { return damageOf(rt) })})
	}
	return out
}

// damageOf describes overwritten memory of a runtime, as far as its reader detects it.
func damageOf(rt rtl.Runtime) []string {
	d, ok := rt.(rtl.DamageReader)
	if !ok {
		return nil
	}
	var out []string
	for _, why := range d.Damage() {
		out = append(out, stacks.PlainText(why))
	}
	return out
}

// CountThreads returns a number of threads in words.
func CountThreads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// roleRank orders threads by role.
var roleRank = map[picture.Role]int{
	picture.RoleInitial: 0, picture.RolePrimary: 1, picture.RoleWorker: 2, picture.RoleIdle: 3, picture.RoleNone: 4,
	"": 4,
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// AddError adds an error of the thread once.
func (n *Thread) AddError(err error) {
	if !slices.Contains(n.Errs, err) {
		n.Errs = append(n.Errs, err)
	}
}

// Bounds of threads and levels. They keep the cost of a damaged target finite.
const (
	// maxThreads bounds the threads of a target; a Linux process cannot have
	// more than /proc/sys/kernel/threads-max, about 4 million, and a core
	// with 100,000 is already several hundred megabytes.
	maxThreads = 1 << 17
	// MaxLevels bounds the nesting of parallel regions.
	MaxLevels = 1024
)
