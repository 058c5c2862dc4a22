package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/layout"
)

const (
	// maxNesting bounds walks over enclosing teams and levels. Each level
	// has frames on a stack, so a program cannot have that many.
	maxNesting = 4096
	// maxTeamSize bounds the number of threads of a team. The runtime's own
	// limit (KMP_MAX_NTH) is 64 Ki threads on no system that it knows.
	maxTeamSize = 1 << 20
)

// team is a copy of a kmp_team_t.
type team struct {
	addr        callbacks.Address
	rec         *layout.Record
	parent      callbacks.Address
	threads     callbacks.Address // array of nproc pointers to kmp_info_t
	implicit    callbacks.Address // array of nproc kmp_taskdata_t
	level       int
	activeLevel int
	nproc       int
	serialized  int // levels that share the team; 0 for a team that may have several threads
	masterTid   int
}

// team reads the team at a, or takes it from the reads before. A team whose
// numbers make no sense is an error.
func (rt *runtime) team(a callbacks.Address) (*team, error) {
	if t, ok := rt.teams.get(a.Offset); ok {
		return t, nil
	}
	t, err := rt.readTeam(a)
	if err != nil {
		return nil, fmt.Errorf("team at %v: %w", a, err)
	}
	rt.teams.put(a.Offset, t)
	return t, nil
}

func (rt *runtime) readTeam(a callbacks.Address) (*team, error) {
	f := &rt.l.Team
	if err := f.Size.Err(); err != nil {
		return nil, err
	}
	r := layout.ReadSize(rt.mem, a, f.Size.Size)
	t := &team{
		addr:        a,
		rec:         r,
		parent:      r.Address(f.Parent),
		threads:     r.Address(f.Threads),
		implicit:    r.Address(f.ImplicitTaskTaskdata),
		level:       int(r.Int(f.Level)),
		activeLevel: int(r.Int(f.ActiveLevel)),
		nproc:       int(r.Int(f.Nproc)),
		serialized:  int(r.Int(f.Serialized)),
		masterTid:   int(r.Int(f.MasterTid)),
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return t, t.check()
}

// check tells whether the numbers can be those of a team.
func (t *team) check() error {
	switch {
	case t.nproc < 1 || t.nproc > maxTeamSize:
		return fmt.Errorf("t_nproc is %d: %w", t.nproc, callbacks.StaleHandle)
	case t.level < 0 || t.level > maxNesting:
		return fmt.Errorf("t_level is %d: %w", t.level, callbacks.StaleHandle)
	case t.serialized < 0 || t.serialized > maxNesting:
		return fmt.Errorf("t_serialized is %d: %w", t.serialized, callbacks.StaleHandle)
	case t.threads.IsNull() || t.implicit.IsNull():
		return fmt.Errorf("t_threads or t_implicit_task_taskdata is null: %w", callbacks.StaleHandle)
	}
	return nil
}

// member returns the thread number n of the team. n is below nproc.
func (rt *runtime) member(t *team, n int) (*thread, error) {
	p, err := layout.ReadUint(rt.mem, t.threads.Add(uint64(n)*8), 8)
	if err != nil {
		return nil, fmt.Errorf("t_threads[%d] of team at %v: %w", n, t.addr, err)
	}
	return rt.thread(callbacks.At(p))
}

// implicitTask is the address of the implicit task of thread number n.
func (rt *runtime) implicitTask(t *team, n int) callbacks.Address {
	return t.implicit.Add(uint64(n) * rt.l.Taskdata.Size.Size)
}

// ancestors returns the team at a and the teams around it, innermost first.
func (rt *runtime) ancestors(a callbacks.Address) ([]*team, error) {
	var ts []*team
	for !a.IsNull() {
		t, err := rt.team(a)
		if err != nil {
			return ts, err
		}
		if n := len(ts); n > 0 && t.level > ts[n-1].level {
			return ts, fmt.Errorf("team at %v encloses the team at %v, but its level %d is deeper than %d: %w",
				a, ts[n-1].addr, t.level, ts[n-1].level, callbacks.StaleHandle)
		}
		if len(ts) == maxNesting {
			return ts, fmt.Errorf("more than %d teams around the team at %v: %w", maxNesting, ts[0].addr, callbacks.StaleHandle)
		}
		ts = append(ts, t)
		a = t.parent
	}
	return ts, nil
}
