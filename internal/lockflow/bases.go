package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
)

// Array is an array of locks; a thread acquires an element of it.
type Array struct {
	// Base is the value of a pointer, if Loaded is set, otherwise the address of a variable. The compiler may have
	// subtracted the lower bound of the index, times Stride, from the address.
	Base, Stride uint64
	Loaded       bool
}

// ArrayOf returns the array of which the unfinished call of the thread's innermost function acquires an element. The
// code computes the address of the lock as the sum of a pointer that it loads from memory or of the address of a
// variable, of an index times the size of an element, and of constants.
func (p *Program) ArrayOf(t *Thread, family string) (Array, bool) {
	// The frame of an address without code, to which the called function jumped, is no function.
	i := slices.IndexFunc(t.Frames, func(fr Frame) bool { return fr.User && p.frameFunction(&fr) != nil })
	if i < 0 {
		return Array{}, false
	}
	f := p.frameFunction(&t.Frames[i])
	at := p.PointOf(t, i)
	s, isCall := f.flow.SiteAt(at)
	if !isCall {
		return Array{}, false
	}
	c := p.sitesOf(f)[s.Index]
	if c.kind != calleeListed || c.call.Family != family || c.call.Arg < 0 || c.call.Arg >= len(s.Args) {
		return Array{}, false
	}
	e, stride, loaded, ok := flow.ArrayStart(s.Args[c.call.Arg])
	if !ok {
		return Array{}, false
	}
	base, _, ok := f.flow.Value(s, e, at)
	return Array{base, stride, loaded}, ok
}
