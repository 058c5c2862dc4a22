package libomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

const (
	// maxNesting bounds walks over enclosing teams and levels. Each level has frames on a stack, so a program
	// cannot reach it.
	maxNesting = 4096
	// maxTeamSize bounds the number of threads in a team. The runtime's own limit (KMP_MAX_NTH) is at most 64 Ki
	// threads on all systems that it supports.
	maxTeamSize = 1 << 20
)

// team is a copy of a kmp_team_t.
type team struct {
	addr        callbacks.Address
	parent      callbacks.Address
	threads     callbacks.Address // array of nproc pointers to kmp_info_t
	implicit    callbacks.Address // array of nproc kmp_taskdata_t
	level       int
	activeLevel int
	nproc       int
	serialized  int // number of levels that share the team; 0 for a team that may have several threads
	masterTid   int

	// The following fields are null if the layout does not contain them.
	pkfn       callbacks.Address // outlined function of the region that was forked last
	argv       callbacks.Address // its arguments
	argc       int               // their number; 0 if unknown
	ident      callbacks.Address // its source location, an ident_t
	forkReturn callbacks.Address // return address of its fork
	lwt        callbacks.Address // list of records of serialized regions
	nestedNth  callbacks.Address // list of numbers of threads by level
	taskTeams  [2]callbacks.Address
}

// readTeam reads the team at a, or returns the cached copy. It returns an error for impossible values.
func (ths *threads) readTeam(a callbacks.Address) (*team, error) {
	if t, ok := ths.teams.Get(a.Offset); ok {
		return t, nil
	}
	t, err := ths.decodeTeam(a)
	if err != nil {
		return nil, fmt.Errorf("team at %v: %w", a, err)
	}
	ths.teams.Put(a.Offset, t)
	return t, nil
}

func (ths *threads) decodeTeam(a callbacks.Address) (*team, error) {
	f := &ths.l.Team
	if err := f.Size.Err(); err != nil {
		return nil, err
	}
	r := layout.ReadSize(ths.mem, a, f.Size.Size)
	t := &team{
		addr:        a,
		parent:      r.Address(f.Parent),
		threads:     r.Address(f.Threads),
		implicit:    r.Address(f.ImplicitTaskTaskdata),
		level:       int(r.Int(f.Level)),
		activeLevel: int(r.Int(f.ActiveLevel)),
		nproc:       int(r.Int(f.Nproc)),
		serialized:  int(r.Int(f.Serialized)),
		masterTid:   int(r.Int(f.MasterTid)),
		pkfn:        knownAddress(r, f.Pkfn),
		argv:        knownAddress(r, f.Argv),
		ident:       knownAddress(r, f.Ident),
		forkReturn:  knownAddress(r, f.OmptMasterReturnAddress),
		lwt:         knownAddress(r, f.OmptSerializedTeamInfo),
		nestedNth:   knownAddress(r, f.NestedNth),
	}
	if f.Argc.IsKnown() {
		t.argc = int(r.Int(f.Argc))
	}
	if b := taskTeams(r, f.TaskTeam); len(b) == 16 {
		t.taskTeams = [2]callbacks.Address{callbacks.Addr(callbacks.Word(b[:8])), callbacks.Addr(callbacks.Word(b[8:]))}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return t, t.check()
}

// taskTeams returns the bytes of t_task_team, an array of two pointers; nil if unknown.
func taskTeams(r *layout.Record, f layout.Field) []byte {
	if !f.IsKnown() {
		return nil
	}
	return r.Bytes(f)
}

// knownAddress returns a pointer field; null if the layout does not contain it.
func knownAddress(r *layout.Record, f layout.Field) callbacks.Address {
	if !f.IsKnown() {
		return callbacks.Address{}
	}
	return r.Address(f)
}

// check returns an error if the numbers are impossible for a team.
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

// errForming means that a member of a team has not entered the team yet. The primary thread enters it before the
// others.
var errForming = fmt.Errorf("the team is being formed: %w", callbacks.Unavailable)

// member returns thread number n of the team. n must be below nproc.
func (ths *threads) member(t *team, n int) (*thread, error) {
	p, err := layout.ReadUint(ths.mem, t.threads.Add(uint64(n)*8), 8)
	if err != nil {
		return nil, fmt.Errorf("t_threads[%d] of team at %v: %w", n, t.addr, err)
	}
	if p == 0 {
		return nil, fmt.Errorf("t_threads[%d] of team at %v is null: %w", n, t.addr, errForming)
	}
	return ths.readThread(callbacks.Addr(p))
}

// memberAt returns the member of the team with its structure at address a; nil if no member has it. The member may have
// forked a region, and be in its team.
func (ths *threads) memberAt(t *team, a callbacks.Address) *thread {
	for n := range t.nproc {
		if m, err := ths.member(t, n); err == nil && m.addr == a {
			return m
		}
	}
	return nil
}

// implicitTask returns the address of the implicit task of thread number n.
func (ths *threads) implicitTask(t *team, n int) callbacks.Address {
	return t.implicit.Add(uint64(n) * ths.l.Taskdata.Size.Size)
}

// ancestors returns the team at a and the teams around it, innermost first.
func (ths *threads) ancestors(a callbacks.Address) ([]*team, error) {
	var ts []*team
	var loop rtl.Loop
	for !a.IsNull() {
		t, err := ths.readTeam(a)
		if err = errors.Join(err, loop.Visit(a)); err != nil {
			return ts, err
		}
		if n := len(ts); n > 0 && t.level > ts[n-1].level {
			return ts, fmt.Errorf("team at %v encloses the team at %v, but its level %d is deeper than %d: %w",
				a, ts[n-1].addr, t.level, ts[n-1].level, callbacks.StaleHandle)
		}
		if len(ts) == maxNesting {
			return ts, fmt.Errorf("more than %d teams around the team at %v: %w", maxNesting, ts[0].addr,
				callbacks.StaleHandle)
		}
		ts = append(ts, t)
		a = t.parent
	}
	return ts, nil
}
