package inspect

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

// roster has the threads of a target, and which of them a runtime calls its own.
type roster struct {
	target   callbacks.Target
	about    *picture.Target
	runtimes []*runtimeView
	notes    *stacks.Notes
	stacks   *stacks.Reader
	natives  []*native
	byLWP    map[int]*native
	byHandle map[handles.Thread]*native
	only     *native   // the one that is asked for by its number; nil for all
	asked    []*native // those that are asked for, if some is set
	some     bool
	byID     map[uint64]*native // by pthread_t
}

// ErrNoThread says that a target has no thread of the number that is asked for.
var ErrNoThread = errors.New("the target has no thread of this number; `ompd-inspect threads` lists all")

// errNotThere is of a thread that only a runtime knows.
var errNotThere = errors.New("it is not among the threads of the target: not yet started, ended, or not dumped")

// newRoster lists the threads. Its error is of the target as a whole.
func newRoster(cfg Config, about *picture.Target, notes *stacks.Notes, st *stacks.Reader) (*roster, error) {
	r := &roster{
		target: cfg.Target, about: about, runtimes: nameRuntimes(cfg.Runtimes), notes: notes, stacks: st,
		byLWP: map[int]*native{}, byHandle: map[handles.Thread]*native{}, byID: map[uint64]*native{},
	}
	if err := r.listNatives(); err != nil {
		return nil, err
	}
	if lwp := cfg.Only.LWP; lwp != 0 {
		if r.only = r.byLWP[lwp]; r.only == nil {
			return nil, fmt.Errorf("LWP %d: %w", lwp, ErrNoThread)
		}
		r.ask(r.only)
	}
	r.findZeroed()
	if r.only == nil || !r.matchOne() {
		r.matchThreads()
	}
	return r, nil
}

// listNatives makes the list of the target's own threads.
func (r *roster) listNatives() error {
	lwps, err := r.target.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	if len(lwps) > MaxThreads {
		r.notes.Warn("%d threads, only the first %d are shown", len(lwps), MaxThreads)
		lwps = lwps[:MaxThreads]
	}
	pthreads, err := r.target.ThreadIDs(callbacks.ThreadIDPthread)
	if err != nil && !errors.Is(err, callbacks.ErrUnsupportedKind) {
		r.notes.Warn("threads have no pthread_t: %v", err)
	}
	for i, id := range lwps {
		pthread := uint64(0)
		if i < len(pthreads) {
			pthread = pthreads[i].Value
		}
		n := &native{Thread: r.stacks.NewThread(int(id.Value), pthread)}
		r.natives = append(r.natives, n)
		r.byLWP[n.LWP] = n
		if n.Pthread != 0 {
			r.byID[n.Pthread] = n
		}
	}
	return nil
}

// finder is a runtime that finds the OpenMP thread of one native thread.
type finder interface {
	ThreadHandle(id callbacks.ThreadID) (handles.Thread, error)
}

// matchOne joins the one thread that is asked for with what runtimes know of it. It is
// false if a runtime can only list all.
func (r *roster) matchOne() bool {
	for _, rt := range r.runtimes {
		f, ok := rt.Runtime.(finder)
		if !ok || r.only.Pthread == 0 {
			return false
		}
		h, err := f.ThreadHandle(callbacks.Pthread(r.only.Pthread))
		switch {
		case err == nil:
			r.matchThread(rt, h)
		case !errors.Is(err, callbacks.Unavailable):
			return false
		}
	}
	return true
}

// wanted are the threads that are asked for.
func (r *roster) wanted() []*native {
	if r.some {
		return r.asked
	}
	return r.natives
}

// ask has some of the threads asked for, and no others.
func (r *roster) ask(ns ...*native) { r.asked, r.some = ns, true }

// thread is the thread that a runtime calls h; nil if there is none. If one thread is asked
// for, another is matched when the answer leads to it.
func (r *roster) thread(rt *runtimeView, h handles.Thread) *native {
	if h.IsZero() {
		return nil
	}
	if r.byHandle[h] == nil && r.only != nil {
		r.matchThread(rt, h)
	}
	return r.byHandle[h]
}

// matchThreads joins the runtimes' threads with the target's by pthread_t.
func (r *roster) matchThreads() {
	for _, rt := range r.runtimes {
		for h, err := range rt.Threads() {
			if r.notes.Exceeded("threads") {
				return
			}
			if err != nil {
				r.notes.Warn("%s: a thread could not be read: %v", rt.id, err)
				continue
			}
			r.matchThread(rt, h)
		}
	}
}

func (r *roster) matchThread(rt *runtimeView, h handles.Thread) {
	info, err := rt.Thread(h)
	n := r.byID[info.Pthread.Value]
	switch {
	case n == nil:
		n = &native{Thread: r.stacks.NewThread(0, info.Pthread.Value)}
		n.Errs = append(n.Errs, errNotThere)
		r.natives = append(r.natives, n)
	case n.rt == rt:
		r.notes.Warn("%s: threads %d and %d both claim pthread %#x", rt.id, n.info.Number, info.Number, n.Pthread)
		return
	case n.rt != nil:
		// A thread can be known to two runtimes; it shows the one in which it
		// is in a region.
		r.byHandle[h] = n
		if rt.id == n.rt.id || !r.deeper(rt, h, n) {
			return
		}
	}
	n.rt, n.h, n.info, n.infoErr = rt, h, info, err
	r.byHandle[h] = n
	if err != nil {
		n.Errs = append(n.Errs, err)
		return
	}
	n.chain = r.chainOf(n)
}

// deeper reports whether thread h of rt is in a deeper region than what n shows.
func (r *roster) deeper(rt *runtimeView, h handles.Thread, n *native) bool {
	p, err := rt.CurrentParallel(h)
	return err == nil && int(p.Level) >= len(n.chain)
}

// chainOf returns the regions that a thread is in, innermost first.
func (r *roster) chainOf(n *native) []handles.Parallel {
	if n.info.Role == picture.RoleIdle {
		return nil
	}
	p, err := n.rt.CurrentParallel(n.h)
	var chain []handles.Parallel
	seen := map[handles.Parallel]bool{}
	for err == nil {
		if seen[p] || len(chain) >= MaxLevels {
			n.Errs = append(n.Errs, fmt.Errorf("enclosing regions of %v do not end", p))
			return chain
		}
		seen[p] = true
		chain = append(chain, p)
		p, err = n.rt.EnclosingParallel(p)
	}
	if !errors.Is(err, callbacks.Unavailable) {
		n.Errs = append(n.Errs, err)
	}
	return chain
}

// lwps are the numbers of those of some threads of a runtime that are there.
func (r *roster) lwps(hs []handles.Thread) []int {
	var out []int
	for _, h := range hs {
		if n := r.byHandle[h]; n != nil && n.LWP != 0 {
			out = append(out, n.LWP)
		}
	}
	return out
}

// asleep reports whether a thread is inside of a system call in which it waits, and
// uses no processor. It is true for a thread of which nothing is known.
func (r *roster) asleep(lwp int) bool {
	n := r.byLWP[lwp]
	if n == nil {
		return true
	}
	regs := n.Registers()
	return regs == nil || regs.Syscall >= 0 && arch.SyscallName(regs.Arch, regs.Syscall) != "sched_yield"
}

// sorted returns the threads in the order of the picture: the one that crashed,
// then by runtime and role, region, thread number and LWP.
func (r *roster) sorted() []*native {
	out := slices.Clone(r.wanted())
	slices.SortStableFunc(out, func(a, b *native) int {
		return cmp.Or(
			-compareBool(a.LWP != 0 && a.LWP == r.about.CrashedLWP, b.LWP != 0 && b.LWP == r.about.CrashedLWP),
			cmp.Compare(roleRank[a.info.Role], roleRank[b.info.Role]),
			cmp.Compare(a.info.Number, b.info.Number),
			cmp.Compare(a.LWP, b.LWP),
		)
	})
	return out
}

// ordered yields the threads in the order of the picture.
func (r *roster) ordered(yield func(*stacks.Thread) bool) {
	for _, n := range r.sorted() {
		if !yield(&n.Thread) {
			return
		}
	}
}

// runtimeView is a runtime with the name that the picture gives it.
type runtimeView struct {
	rtl.Runtime
	id string
	// damage says which of its fields contradict one another in a way that it leaves them in at no time.
	damage func() []string
}

// apiOnly reports whether a runtime is known only by the answers of its API's
// functions: it has no fields then to hold against them, and nothing of the code of
// regions.
func (rt *runtimeView) apiOnly() bool { return rt.Layout().Instead != "" }

// native is one thread of the target, and what a runtime knows of it.
type native struct {
	stacks.Thread
	blank   error // why its stack and thread-local data are missing; nil if they are there
	rt      *runtimeView
	h       handles.Thread
	info    handles.ThreadInfo
	infoErr error
	chain   []handles.Parallel // regions, innermost first; empty for idle and foreign threads
	around  *ancestry          // nil until it is asked for
	seen    *handles.Evidence  // nil until it is first gathered, or if there is none
	state   *threadState       // nil until it is first asked for
}

// threadState is the answer of a thread's runtime.
type threadState struct {
	handles.ThreadState
	err error
}

// nameRuntimes gives runtimes the names that the picture has for them: their family,
// with a number for all but the first of it.
func nameRuntimes(runtimes []rtl.Runtime) []*runtimeView {
	var out []*runtimeView
	seen := map[string]int{}
	for _, rt := range runtimes {
		id := rt.Identity().Family
		seen[id]++
		if seen[id] > 1 {
			id = fmt.Sprintf("%s-%d", id, seen[id])
		}
		out = append(out, &runtimeView{rt, id, sync.OnceValue(func() []string { return damageOf(rt) })})
	}
	return out
}

// damageOf says what of a runtime's memory was overwritten, as far as the runtime's reader can tell.
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

// threads is a number of threads in words.
func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}
