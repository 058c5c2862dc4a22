package libomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// region is a parallel region: a team at one of the levels that it serves.
//
// A team serves several levels in two cases: serialized regions are nested (the runtime counts them in
// t_serialized), or a team of a league is in a parallel region. In the second case the same team also serves the
// league's initial region, one level up.
type region struct {
	team  *team
	level int
	// initial marks the implicit region of a root, or that of a team in a league.
	initial bool
	// bridge marks the team of a league's primary threads, which is between the league's teams and the region
	// around the teams construct. It is a region of the program only while threads wait for each other in it.
	bridge bool
	// league is the number of teams in the league, 0 outside of a teams construct; teamNum is the number of this
	// region's team in it.
	league, teamNum int
}

func (rt *base) parallelHandle(g region) handles.Parallel {
	return handles.Parallel{Stamp: rt.stamp, Team: g.team.addr, Level: uint32(g.level)}
}

// innermost reports whether this region is the innermost one that the team serves.
func (g region) innermost() bool { return g.level == g.team.level }

// numThreads returns the number of threads of the region.
func (g region) numThreads() int {
	if g.initial || g.team.serialized > 0 {
		return 1
	}
	return g.team.nproc
}

// activeLevel returns the value of omp_get_active_level in the region. A team that serves several levels counts
// its own region, if active, only in the innermost one.
func (g region) activeLevel() int {
	if g.team.serialized > 0 || g.innermost() {
		return g.team.activeLevel
	}
	return max(0, g.team.activeLevel-(g.team.level-g.level))
}

// regionsOf returns the regions of th, innermost first, down to the implicit region of its root. It returns an
// empty slice for an idle thread.
func (rg *regions) regionsOf(th *thread) ([]region, error) {
	if gs, ok := rg.chains.Get(th.addr.Offset); ok {
		return gs, nil
	}
	gs, err := rg.chain(th)
	if err != nil {
		return nil, err
	}
	if len(gs) > 0 {
		gs = withoutBridges(gs)
	}
	rg.chains.Put(th.addr.Offset, gs)
	return gs, nil
}

// withoutBridges removes the regions that are only bridges, except for the first region.
func withoutBridges(gs []region) []region {
	kept := gs[:1:1]
	for _, g := range gs[1:] {
		if !g.bridge {
			kept = append(kept, g)
		}
	}
	return kept
}

// chain returns the regions of th, including bridges.
func (rg *regions) chain(th *thread) ([]region, error) {
	ts, err := rg.threads.ancestors(th.team)
	if err != nil {
		return nil, fmt.Errorf("thread with gtid %d: %w", th.gtid, err)
	}
	outer := len(ts)
	if th.inTeams() {
		outer = leagueParent(ts, th.teamsLevel)
	}
	if why := rg.idleReason(th, ts, outer); why != "" {
		return nil, nil
	}
	var gs []region
	for i, t := range ts {
		g := region{team: t, initial: i+1 == len(ts)}
		low := 0
		if i+1 < len(ts) {
			low = ts[i+1].level + 1
		}
		if outer < len(ts) && i < outer {
			g.league, g.teamNum = max(1, th.nteams), leagueNum(ts, outer)
			g.initial = holdsInitial(ts, i, outer)
			g.bridge = !g.initial && i == outer-1
			if g.initial || g.bridge {
				low = th.teamsLevel
			}
		}
		gs = g.appendLevels(gs, low)
	}
	if len(gs) > maxNesting {
		return nil, fmt.Errorf("thread with gtid %d is in %d regions: %w", th.gtid, len(gs), callbacks.StaleHandle)
	}
	return gs, nil
}

// appendLevels appends the regions of g's team from its level down to low. Only the lowest one can be an initial
// region.
func (g region) appendLevels(gs []region, low int) []region {
	initial := g.initial
	for g.level = g.team.level; g.level >= low; g.level-- {
		g.initial = initial && g.level == low
		gs = append(gs, g)
	}
	return gs
}

// leagueParent returns the index in ts of the team that encountered the teams construct at the given level: the
// outermost team of that level. It returns len(ts) without such a team.
func leagueParent(ts []*team, level int) int {
	for i := len(ts) - 1; i > 0; i-- {
		if ts[i].level == level {
			return i
		}
	}
	return len(ts)
}

// bothLeague reports whether the team of the league's primary threads, ts[outer-1], is also the league's only
// team: then it is serialized and serves both.
func bothLeague(ts []*team, outer int) bool { return ts[outer-1].serialized >= 2 }

// holdsInitial reports whether ts[i] serves the initial region of a team in the league: ts[outer-1] if that team
// is also the league's only one, else ts[outer-2].
func holdsInitial(ts []*team, i, outer int) bool {
	if bothLeague(ts, outer) {
		return i == outer-1
	}
	return i == outer-2
}

// leagueNum returns the number of the innermost team of ts in the league.
func leagueNum(ts []*team, outer int) int {
	if outer < 2 || bothLeague(ts, outer) {
		return 0
	}
	return ts[outer-2].masterTid
}

// findRegions returns the region of h and its enclosing regions, innermost first. A handle is stale if the
// primary thread has left the team.
func (rg *regions) findRegions(h handles.Parallel) ([]region, error) {
	if h.Stamp != rg.stamp {
		return nil, fmt.Errorf("%v is of another stop: %w", h, callbacks.StaleHandle)
	}
	if gs, ok := rg.around.Get(h); ok {
		return gs, nil
	}
	t, err := rg.threads.readTeam(h.Team)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", h, err)
	}
	primary, err := rg.threads.member(t, 0)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", h, errors.Join(err, callbacks.StaleHandle))
	}
	gs, err := rg.chain(primary)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", h, err)
	}
	rg.keepRegions(primary, gs)
	if gs, ok := rg.around.Get(h); ok {
		return gs, nil
	}
	for i, g := range gs {
		if g.team.addr == h.Team && g.level == int(h.Level) {
			return withoutBridges(gs[i:]), nil
		}
	}
	return nil, fmt.Errorf("%v: its primary thread is not in it: %w", h, callbacks.StaleHandle)
}

// keepRegions caches the enclosing regions of each region in which th is the primary thread: they are the outer
// ones of gs, the regions of th.
func (rg *regions) keepRegions(th *thread, gs []region) {
	bridged := len(gs) // the index from which on no region is a bridge
	for bridged > 0 && !gs[bridged-1].bridge {
		bridged--
	}
	for i, g := range gs {
		if i == 0 || g.team != gs[i-1].team {
			if p, err := rg.threads.member(g.team, 0); err != nil || p.addr != th.addr {
				return
			}
		}
		h := rg.parallelHandle(g)
		if _, ok := rg.around.Get(h); ok {
			continue
		}
		if i+1 < bridged {
			rg.around.Put(h, withoutBridges(gs[i:]))
		} else {
			rg.around.Put(h, gs[i:len(gs):len(gs)])
		}
	}
}
