package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Parallel reads one region. The runtime stores neither its function nor its source line: the function comes
// from the call on the primary thread's stack that forked the region.
func (ths *threads) Parallel(h handles.Parallel) (handles.ParallelInfo, error) {
	r, err := ths.findRegion(h)
	if err != nil {
		return handles.ParallelInfo{}, err
	}
	info := handles.ParallelInfo{
		Level: r.level(), ActiveLevel: r.active, TeamSize: r.numThreads(), PrimaryNum: r.num,
		Serialized: r.level() > 0 && r.numThreads() == 1, League: ths.records.leagueSize(r),
	}
	if f, ok := ths.forks.forkOf(r); ok {
		info.Function, info.Return = callbacks.Addr(f.function), callbacks.Addr(f.ret)
	}
	return info, nil
}

// leagueSize returns the number of teams in the region's league. It returns 0 outside of a league, and also for
// a league of one team, because the runtime stores 1 for both.
func (rs *records) leagueSize(r *region) int {
	p := r.primaryThread()
	if p == nil || !rs.l.Thread.NumTeams.IsKnown() {
		return 0
	}
	if n := p.rec.Uint(rs.l.Thread.NumTeams); p.rec.Err() == nil && n > 0 && n < maxTeamSize {
		return int(n) + 1
	}
	return 0
}

// errOutermost ends a thread's chain of regions.
var errOutermost = fmt.Errorf("the region is of level 0: %w", callbacks.Unavailable)

// EnclosingParallel implements ompd_get_enclosing_parallel_handle.
func (ths *threads) EnclosingParallel(h handles.Parallel) (handles.Parallel, error) {
	r, err := ths.findRegion(h)
	if err != nil {
		return handles.Parallel{}, err
	}
	switch {
	case r.around != nil:
	case r.level() == 0:
		return handles.Parallel{}, errOutermost
	default:
		return handles.Parallel{}, fmt.Errorf("%v is in a region whose threads are unknown: %w", h,
			callbacks.Unavailable)
	}
	return ths.parallelHandle(r.around), nil
}

// ThreadInParallel implements ompd_get_thread_in_parallel.
func (ths *threads) ThreadInParallel(h handles.Parallel, n int) (handles.Thread, error) {
	r, err := ths.findRegion(h)
	if err != nil {
		return handles.Thread{}, err
	}
	if n < 0 || n >= r.numThreads() {
		return handles.Thread{}, fmt.Errorf(
			"thread %d of %v, which has %d: %w", n, h, r.numThreads(), callbacks.BadInput)
	}
	th := r.members[n]
	if th == nil {
		return handles.Thread{}, fmt.Errorf("thread %d of %v is not there: the team is being formed, or the thread "+
			"has left it at its end: %w", n, h, callbacks.Unavailable)
	}
	return ths.threadHandle(th), nil
}

// TaskInParallel implements ompd_get_task_in_parallel.
func (ths *threads) TaskInParallel(h handles.Parallel, n int) (handles.Task, error) {
	r, err := ths.findRegion(h)
	if err != nil {
		return handles.Task{}, err
	}
	if n < 0 || n >= r.numThreads() {
		return handles.Task{}, fmt.Errorf("implicit task %d of %v, which has %d: %w", n, h, r.numThreads(),
			callbacks.BadInput)
	}
	return ths.implicitHandle(r, n), nil
}

// implicitHandle returns the handle of the implicit task of thread number n. The handle of an initial task,
// which often has no gomp_task, uses the thread's gomp_thread.
func (ths *threads) implicitHandle(r *region, n int) handles.Task {
	if r.team == nil {
		return handles.Task{Stamp: ths.stamp, Data: callbacks.Addr(r.key.addr)}
	}
	return handles.Task{Stamp: ths.stamp, Data: ths.records.implicitAddress(r.team, n)}
}
