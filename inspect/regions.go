package inspect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// maxTeam bounds the members that are asked for of one team. The limits that
// runtimes set themselves are below it.
const maxTeam = 1 << 17

// regionTable has every region that a thread of the target is in, each read
// once.
type regionTable struct {
	in    *Inspector
	views map[handles.Parallel]*regionView
	order []*regionView
	built bool
}

// regionView is one region and what was read of it.
type regionView struct {
	rt     *runtimeView
	h      handles.Parallel
	parent handles.Parallel // zero for level 0
	info   rtl.ParallelInfo
	err    error

	membersRead bool
	members     []*native // by thread number; nil where a member could not be found
	memberErrs  []error
}

func newRegionTable(in *Inspector) *regionTable {
	return &regionTable{in: in, views: map[handles.Parallel]*regionView{}}
}

// get returns the view of region h, reading it at most once.
func (t *regionTable) get(rt *runtimeView, h handles.Parallel) *regionView {
	if v, ok := t.views[h]; ok {
		return v
	}
	v := &regionView{rt: rt, h: h}
	v.info, v.err = rt.Parallel(h)
	t.views[h] = v
	t.order = append(t.order, v)
	return v
}

// all returns every region, outer ones first.
func (t *regionTable) all() []*regionView {
	if !t.built {
		t.built = true
		for _, n := range t.in.natives {
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
		v.members = append(v.members, t.in.byHandle[h])
	}
	return v.members
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
	return t.in.byHandle[h]
}

// regionID is the name of a region in the picture.
func regionID(h handles.Parallel) ID {
	if h.IsZero() {
		return ""
	}
	return ID(fmt.Sprintf("%v/%d", h.Team, h.Level))
}

// Regions returns the tree of parallel regions, outer ones first.
func (in *Inspector) Regions() []Region {
	var out []Region
	for _, v := range in.regions.all() {
		out = append(out, in.region(v))
	}
	return out
}

func (in *Inspector) region(v *regionView) Region {
	r := Region{
		ID: regionID(v.h), Runtime: v.rt.id, Parent: regionID(v.parent), Level: int(v.h.Level),
		ActiveLevel: v.info.ActiveLevel, TeamSize: v.info.TeamSize, Serialized: v.info.Serialized, League: v.info.League,
		Threads: []int{},
	}
	if v.err != nil {
		r.Errors = append(r.Errors, message(v.err))
		return r
	}
	for _, m := range in.regions.threads(v) {
		if m != nil && m.lwp != 0 && slices.Contains(m.chain, v.h) {
			r.Threads = append(r.Threads, m.lwp)
		}
	}
	for _, err := range v.memberErrs {
		r.Errors = append(r.Errors, message(err))
	}
	if v.h.Level > 0 {
		r.Function = in.regionCode(v)
	}
	return r
}

// regionCode names the region's function and the source line of its construct:
// as the compiler told the runtime, else from debug information, else the line
// of the call that forked it.
func (in *Inspector) regionCode(v *regionView) *Code {
	c := in.codeAt(v.info.Function, v.info.Source)
	if c.Line == 0 {
		if f, ok := in.forkFrame(v); ok {
			c.File, c.Line, c.LineFrom = f.File, f.Line, "call site"
		}
	}
	if c.Address == nil && c.Line == 0 && c.Name == "" {
		return in.serializedCode(v)
	}
	return c
}

// codeAt describes the outlined function at addr. The line that the compiler
// left for the runtime is believed first, then debug information.
func (in *Inspector) codeAt(addr callbacks.Address, src rtl.SourceLocation) *Code {
	c := &Code{Address: hexPtr(addr.Offset), File: src.File, Line: src.Line}
	if src.Line != 0 {
		c.LineFrom = "runtime"
	}
	sym := in.cfg.Symbolizer
	if addr.IsNull() || sym == nil {
		return c
	}
	if f, err := sym.Function(addr.Offset); err == nil && f.Function != "" {
		c.Name = f.Function
	}
	if in.owned(addr.Offset) {
		return c
	}
	file, line, err := sym.DeclLine(addr.Offset)
	switch {
	case err != nil || line == 0:
	case c.Line == 0:
		c.File, c.Line, c.LineFrom = file, line, "debug information"
	case c.Line == line:
		c.File = file // the whole path, where the compiler's string has what was on its command line
	}
	return c
}
