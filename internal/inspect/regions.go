package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxTeam bounds the members that are asked for of one team. The limits that
// runtimes set themselves are below it.
const maxTeam = 1 << 17

// regionTable has every region that a thread of the target is in, each read
// once.
type regionTable struct {
	roster *roster
	views  map[handles.Parallel]*regionView
	order  []*regionView
	built  bool
}

// regionView is one region and what was read of it.
type regionView struct {
	rt     *runtimeView
	h      handles.Parallel
	id     picture.ID
	parent handles.Parallel // zero for level 0
	info   handles.ParallelInfo
	err    error
	code   *picture.Code // see regionCode; nil until it is asked for

	membersRead bool
	members     []*native // by thread number; nil where a member could not be found
	memberErrs  []error
}

func newRegionTable(r *roster) *regionTable {
	return &regionTable{roster: r, views: map[handles.Parallel]*regionView{}}
}

// get returns the view of region h, reading it at most once.
func (t *regionTable) get(rt *runtimeView, h handles.Parallel) *regionView {
	if v, ok := t.views[h]; ok {
		return v
	}
	v := &regionView{rt: rt, h: h, id: regionID(h)}
	v.info, v.err = rt.Parallel(h)
	t.views[h] = v
	t.order = append(t.order, v)
	return v
}

// all returns every region, outer ones first.
func (t *regionTable) all() []*regionView {
	if !t.built {
		t.built = true
		for _, n := range t.roster.natives {
			for i, h := range n.chain {
				v := t.get(n.rt, h)
				if i+1 < len(n.chain) {
					v.parent = n.chain[i+1]
				}
			}
		}
		slices.SortStableFunc(t.order, func(a, b *regionView) int { return cmp.Compare(a.h.Level, b.h.Level) })
	}
	return t.order
}

// threads returns the members of the region by thread number.
func (t *regionTable) threads(v *regionView) []*native {
	if v.membersRead {
		return v.members
	}
	v.membersRead = true
	if v.err != nil {
		return nil
	}
	for i := range min(v.info.TeamSize, maxTeam) {
		h, err := v.rt.ThreadInParallel(v.h, i)
		if err != nil {
			v.memberErrs = append(v.memberErrs, fmt.Errorf("thread %d: %w", i, err))
			if len(v.memberErrs) > maxErrors {
				break
			}
			v.members = append(v.members, nil)
			continue
		}
		v.members = append(v.members, t.roster.thread(v.rt, h))
	}
	return v.members
}

// present are the members of the region that are there, and in it.
func (t *regionTable) present(v *regionView) []*native {
	return slices.DeleteFunc(slices.Clone(t.threads(v)), func(m *native) bool {
		return m == nil || m.LWP == 0 || m.indexOf(v.h) < 0
	})
}

// maxErrors bounds the errors that are listed for one thing.
const maxErrors = 8

// primary returns the thread with number 0 of the region, or nil.
func (t *regionTable) primary(v *regionView) *native {
	if v.membersRead {
		if len(v.members) > 0 {
			return v.members[0]
		}
		return nil
	}
	h, err := v.rt.ThreadInParallel(v.h, 0)
	if err != nil {
		return nil
	}
	return t.roster.thread(v.rt, h)
}

// regionID is the name of a region in the picture.
func regionID(h handles.Parallel) picture.ID {
	if h.IsZero() {
		return ""
	}
	return picture.ID(h.Team.String() + "/" + strconv.FormatUint(uint64(h.Level), 10))
}

// threadNumAt returns the number of n in region h of its chain.
func (t *regionTable) threadNumAt(n *native, h handles.Parallel) (int, bool) {
	i := n.indexOf(h)
	switch {
	case i < 0:
		return 0, false
	case i == 0:
		return n.info.ThreadNum, n.info.ThreadNum >= 0
	}
	inner := t.get(n.rt, n.chain[i-1])
	if inner.err != nil || inner.info.PrimaryNum < 0 {
		return 0, false
	}
	return inner.info.PrimaryNum, true
}
