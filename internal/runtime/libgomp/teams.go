package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// team is a copy of a gomp_team. Serialized regions have a team of their own.
type team struct {
	addr     callbacks.Address
	rec      *layout.Record
	nthreads int
	// The previous state of the forking thread: the enclosing team, null at level 0, and the thread's number and
	// levels there.
	prev                  callbacks.Address
	prevID                int
	prevLevel, prevActive int
	ordered               callbacks.Address
}

// readTeam reads the team at a, or returns the cached copy. It returns an error for impossible values.
func (rs *records) readTeam(a callbacks.Address) (*team, error) {
	if t, ok := rs.teams.Get(a.Offset); ok {
		return t, nil
	}
	f := &rs.l.Team
	if err := f.Size.Err(); err != nil {
		return nil, err
	}
	r := layout.ReadSize(rs.mem, a, f.Size.Size)
	t := &team{
		addr: a, rec: r, nthreads: int(r.Uint(f.Nthreads)),
		prev: r.Address(f.PrevTeam), prevID: int(r.Uint(f.PrevTeamID)),
		prevLevel: int(r.Uint(f.PrevLevel)), prevActive: int(r.Uint(f.PrevActiveLevel)),
		ordered: r.Address(f.OrderedRelease),
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("team at %v: %w", a, err)
	}
	if t.nthreads < 1 || t.nthreads > maxTeamSize || r.Uint(f.Total) != uint64(t.nthreads) {
		return nil, fmt.Errorf("team at %v: nthreads is %d, its barrier's total %d: %w", a, t.nthreads, r.Uint(f.Total),
			callbacks.StaleHandle)
	}
	rs.teams.Put(a.Offset, t)
	return t, nil
}

// implicitAddress returns the address of the implicit task of thread number n.
func (rs *records) implicitAddress(t *team, n int) callbacks.Address {
	return t.addr.Add(rs.l.Team.Size.Size + uint64(n)*rs.l.Task.Size.Size)
}

// implicitNumber returns the thread number of the implicit task at a in t; false if a is not the address of one.
func (rs *records) implicitNumber(t *team, a callbacks.Address) (int, bool) {
	first, size := rs.implicitAddress(t, 0).Offset, rs.l.Task.Size.Size
	n := (a.Offset - first) / max(size, 1)
	return int(n), a.Offset >= first && (a.Offset-first)%max(size, 1) == 0 && n < uint64(t.nthreads)
}

// releaseOf returns the address of the semaphore that admits thread number n of the team to an ordered region.
// For a number above 0 it is in the member's gomp_thread.
func (rs *records) releaseOf(t *team, n int) (callbacks.Address, error) {
	v, err := layout.ReadUint(rs.mem, t.ordered.Add(8*uint64(n)), 8)
	return callbacks.Addr(v), err
}
