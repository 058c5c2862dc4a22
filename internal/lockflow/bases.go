package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
)

// ArrayBase returns the start of an array of locks: the unfinished call of the thread's innermost function acquires an
// element of it. The code computes the address of the lock as the sum of a pointer that it loads from memory, an index
// times the size of an element, and constants.
func (p *Program) ArrayBase(t *Thread, family string) (base uint64, ok bool) {
	i := slices.IndexFunc(t.Frames, func(fr Frame) bool { return fr.User })
	if i < 0 {
		return 0, false
	}
	f := p.frameFunction(&t.Frames[i])
	if f == nil {
		return 0, false
	}
	at := p.PointOf(t, i)
	s, isCall := f.flow.SiteAt(at)
	if !isCall {
		return 0, false
	}
	c := p.sitesOf(f)[s.Index]
	if c.kind != calleeListed || c.call.Family != family || c.call.Arg < 0 || c.call.Arg >= len(s.Args) {
		return 0, false
	}
	e, ok := flow.ArrayPointer(s.Args[c.call.Arg])
	if !ok {
		return 0, false
	}
	base, _, ok = f.flow.Value(s, e, at)
	return base, ok
}
