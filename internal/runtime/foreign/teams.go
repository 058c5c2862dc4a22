package foreign

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// The members of a team are all told the same of its size and of what is around
// it, and each has a number of its own. Threads that are told so, with every
// number once, are one team: two teams that are told alike would have each number
// twice. Then the team is named by its thread 0. Otherwise nothing tells who is in
// which, and each thread's team is named by the thread, as it sees it.

// group are the threads that are told the same of a region.
type group struct {
	members map[int]*thread // by thread number
	twice   bool            // some number is there more than once
}

// team is the group if it is one team for sure, else nil.
func (g *group) team(size int) *group {
	if g == nil || g.twice || len(g.members) != size {
		return nil
	}
	return g
}

// key is what a thread is told of the region at level l, but for its own number.
func (th *thread) key(l int) string {
	return fmt.Sprint(l, th.levels[:l], th.levels[l].size)
}

// group finds the members of all regions.
func (w *world) group() {
	for _, th := range w.threads {
		for l := range th.levels {
			if !th.first(l + 1) {
				continue // not a member itself: another one is, who forked the team that it is in
			}
			g := w.teams[th.key(l)]
			if g == nil {
				g = &group{members: map[int]*thread{}}
				w.teams[th.key(l)] = g
			}
			num := th.levels[l].num
			g.twice = g.twice || g.members[num] != nil
			g.members[num] = th
		}
	}
}

// parallel is the region that a thread is in at level l.
func (rt *runtime) parallel(th *thread, l int) handles.Parallel {
	if g := rt.world().teams[th.key(l)].team(th.levels[l].size); g != nil {
		th = g.members[0]
	}
	return handles.Parallel{Stamp: rt.stamp, Team: callbacks.Addr(th.tp), Level: uint32(l)}
}

// region is the thread that names a region, and the region's level.
func (rt *runtime) region(p handles.Parallel) (*thread, int, error) {
	th := rt.world().byTP[p.Team.Offset]
	if th == nil || p.Stamp != rt.stamp || int64(p.Level) >= int64(len(th.levels)) {
		return nil, 0, fmt.Errorf("%v: no such region: %w", p, callbacks.StaleHandle)
	}
	return th, int(p.Level), nil
}

// CurrentParallel is the innermost region of a thread.
func (rt *runtime) CurrentParallel(h handles.Thread) (handles.Parallel, error) {
	th, err := rt.thread(h)
	if err != nil {
		return handles.Parallel{}, err
	}
	return rt.parallel(th, len(th.levels)-1), nil
}

// Parallel tells size and levels of a region.
func (rt *runtime) Parallel(p handles.Parallel) (handles.ParallelInfo, error) {
	th, l, err := rt.region(p)
	if err != nil {
		return handles.ParallelInfo{}, err
	}
	info := handles.ParallelInfo{Level: l, ActiveLevel: th.active(l), TeamSize: th.levels[l].size, PrimaryNum: -1}
	info.Serialized = l > 0 && info.TeamSize == 1
	if l > 0 {
		info.PrimaryNum = th.levels[l-1].num
	}
	return info, nil
}

// EnclosingParallel is the region around another.
func (rt *runtime) EnclosingParallel(p handles.Parallel) (handles.Parallel, error) {
	th, l, err := rt.region(p)
	if err == nil && l == 0 {
		err = fmt.Errorf("%v is the outermost: %w", p, callbacks.Unavailable)
	}
	if err != nil {
		return handles.Parallel{}, err
	}
	return rt.parallel(th, l-1), nil
}

// ThreadInParallel is the member of a region with a number, where it is known.
func (rt *runtime) ThreadInParallel(p handles.Parallel, n int) (handles.Thread, error) {
	th, l, err := rt.region(p)
	if err != nil {
		return handles.Thread{}, err
	}
	at := th.levels[l]
	if n < 0 || n >= at.size {
		return handles.Thread{}, fmt.Errorf("thread %d of a team of %d: %w", n, at.size, callbacks.BadInput)
	}
	if g := rt.world().teams[th.key(l)].team(at.size); g != nil {
		return rt.handle(g.members[n]), nil
	}
	if n == at.num && th.first(l+1) {
		return rt.handle(th), nil
	}
	return handles.Thread{}, fmt.Errorf("several teams look alike to the runtime's functions: which threads are in "+
		"that of LWP %d is not known: %w", th.lwp, callbacks.Unavailable)
}
