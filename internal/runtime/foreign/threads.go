package foreign

import (
	"fmt"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/accessor"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxThreads bounds the threads of a target: PID_MAX_LIMIT of Linux.
	maxThreads = 4 << 20
	// maxLevels bounds the nesting levels that are read for a thread: each region has a frame on some thread's
	// stack.
	maxLevels = 256
)

// place is a thread's place at one nesting level.
type place struct{ num, size int }

// thread is a thread of the target in a parallel region of the runtime.
type thread struct {
	lwp, pthread uint64
	tp           uint64 // thread pointer; it names the thread in handles
	number       int    // in the order of the target
	levels       []place
}

// top returns the thread's innermost place.
func (th *thread) top() place { return th.levels[len(th.levels)-1] }

// active returns the number of active regions around level l, including l.
func (th *thread) active(l int) int {
	n := 0
	for _, p := range th.levels[1 : l+1] {
		if p.size > 1 {
			n++
		}
	}
	return n
}

// first reports whether the thread is number 0 at level l and all deeper levels.
func (th *thread) first(l int) bool {
	for _, p := range th.levels[l:] {
		if p.num != 0 {
			return false
		}
	}
	return true
}

// world is the places of all threads.
type world struct {
	threads []*thread
	byTP    map[uint64]*thread
	errs    []error // of threads without computed places
	teams   map[string]*group
}

func (rt *runtime) readWorld() *world {
	w := &world{byTP: map[uint64]*thread{}, teams: map[string]*group{}}
	lwps, err := rt.target.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil || len(lwps) > maxThreads {
		w.errs = append(w.errs, fmt.Errorf("%d threads of the target: %w", len(lwps), err))
		return w
	}
	pthreads, _ := rt.target.ThreadIDs(callbacks.ThreadIDPthread)
	for i, id := range lwps {
		th := &thread{lwp: id.Value, number: i}
		if i < len(pthreads) {
			th.pthread = pthreads[i].Value
		}
		th.tp = accessor.ThreadPointer(rt.target, th.lwp, th.pthread)
		if err := rt.ask(th); err != nil {
			w.errs = append(w.errs, fmt.Errorf("LWP %d: %w", th.lwp, err))
			continue
		}
		if len(th.levels) > 1 {
			w.threads = append(w.threads, th)
			w.byTP[th.tp] = th
		}
	}
	w.group()
	return w
}

// ask computes a thread's place at all levels. Functions that return the same number must agree.
func (rt *runtime) ask(th *thread) error {
	level, err := rt.call.Int(th.tp, "omp_get_level")
	if err != nil {
		return err
	}
	if level < 0 || level >= maxLevels {
		return fmt.Errorf("omp_get_level() would return %d, not 0 to %d: %w", level, maxLevels-1,
			callbacks.Incompatible)
	}
	for l := range level + 1 {
		num, err := rt.call.Int(th.tp, "omp_get_ancestor_thread_num", l)
		if err != nil {
			return err
		}
		size, err := rt.call.Int(th.tp, "omp_get_team_size", l)
		if err != nil {
			return err
		}
		if num < 0 || num >= size || size > maxThreads {
			return fmt.Errorf("level %d would be told as thread %d of %d: %w", l, num, size, callbacks.Incompatible)
		}
		th.levels = append(th.levels, place{num, size})
	}
	return rt.confirm(th)
}

// confirm compares the innermost place with the functions without a level.
func (rt *runtime) confirm(th *thread) error {
	num, err := rt.call.Int(th.tp, "omp_get_thread_num")
	if err != nil {
		return err
	}
	size, err := rt.call.Int(th.tp, "omp_get_num_threads")
	if err == nil && (place{num, size} != th.top()) {
		return fmt.Errorf("omp_get_thread_num() and omp_get_num_threads() would return %d and %d, the functions with "+
			"a level %d and %d: %w",
			num, size, th.top().num, th.top().size, callbacks.Incompatible)
	}
	return err
}

// Threads yields the threads in parallel regions.
func (rt *runtime) Threads() iter.Seq2[handles.Thread, error] {
	w := rt.world()
	return rtl.Yield(w.threads, rt.handle, w.errs)
}

func (rt *runtime) handle(th *thread) handles.Thread {
	return handles.Thread{Stamp: rt.stamp, Info: callbacks.Addr(th.tp)}
}

func (rt *runtime) thread(h handles.Thread) (*thread, error) {
	th := rt.world().byTP[h.Info.Offset]
	if th == nil || h.Stamp != rt.stamp {
		return nil, fmt.Errorf("%v: no such thread in a parallel region: %w", h, callbacks.StaleHandle)
	}
	return th, nil
}

// Thread returns a thread's number and role.
func (rt *runtime) Thread(h handles.Thread) (handles.ThreadInfo, error) {
	th, err := rt.thread(h)
	if err != nil {
		return handles.ThreadInfo{}, err
	}
	info := handles.ThreadInfo{Number: int64(th.number), Pthread: callbacks.Pthread(th.pthread), LWP: th.lwp,
		Role: picture.RoleWorker, ThreadNum: th.top().num}
	switch {
	case th.first(0):
		info.Role = picture.RoleInitial
	case th.top().num == 0:
		info.Role = picture.RolePrimary
	}
	return info, nil
}
