package foreign

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// All members of a team get the same size and the same enclosing regions, and each has its own number. If
// threads agree on these and each number occurs once, they are one team: with two such teams, each number would
// occur twice. The team is then named by its thread 0. Otherwise the membership is unknown, and each thread
// names its own team.

// group is the set of threads that agree on a region.
type group struct {
	members map[int]*thread // by thread number
	twice   bool            // a number occurs more than once
}

// team returns the group if it is certainly one team, else nil.
func (g *group) team(size int) *group {
	if g == nil || g.twice || len(g.members) != size {
		return nil
	}
	return g
}

// key returns the thread's description of the region at level l, without its own number.
func (th *thread) key(l int) string {
	return fmt.Sprint(l, th.levels[:l], th.levels[l].size)
}

// group finds the members of all regions.
func (w *world) group() {
	for _, th := range w.threads {
		for l := range th.levels {
			if !th.first(l + 1) {
				continue // not a member at this level: the thread that forked its team is
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

// parallel returns the thread's region at level l.
func (rt *runtime) parallel(th *thread, l int) handles.Parallel {
	if g := rt.world().teams[th.key(l)].team(th.levels[l].size); g != nil {
		th = g.members[0]
	}
	return handles.Parallel{Stamp: rt.stamp, Team: callbacks.Addr(th.tp), Level: uint32(l)}
}

// region returns the thread that names a region, and the region's level.
func (rt *runtime) region(p handles.Parallel) (*thread, int, error) {
	th := rt.world().byTP[p.Team.Offset]
	if th == nil || p.Stamp != rt.stamp || int64(p.Level) >= int64(len(th.levels)) {
		return nil, 0, fmt.Errorf("%v: no such region: %w", p, callbacks.StaleHandle)
	}
	return th, int(p.Level), nil
}

// CurrentParallel returns the innermost region of a thread.
func (rt *runtime) CurrentParallel(h handles.Thread) (handles.Parallel, error) {
	th, err := rt.thread(h)
	if err != nil {
		return handles.Parallel{}, err
	}
	return rt.parallel(th, len(th.levels)-1), nil
}

// Parallel returns the size and the levels of a region.
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

// EnclosingParallel returns the region around p.
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

// ThreadInParallel returns member n of a region, if it is known.
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
