package lockflow

import "github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"

// codeCache is a Code that answers each question once. The same addresses are asked for by each call, each number
// and each pass over a function, and the answers come from symbol tables and unwind tables.
type codeCache struct {
	Code
	names   map[uint64]named
	bounds  map[uint64]extent
	classes map[uint64]Class
	parts   map[uint64]partOf
}

// partOf is the answer of PartOf.
type partOf struct {
	entry uint64
	ok    bool
}

// named is the answer of Resolve.
type named struct {
	target symbolic.Target
	ok     bool
}

// extent is a function, as [low, high).
type extent struct{ low, high uint64 }

func newCodeCache(code Code) *codeCache {
	return &codeCache{Code: code, names: map[uint64]named{}, bounds: map[uint64]extent{}, classes: map[uint64]Class{},
		parts: map[uint64]partOf{}}
}

// Resolve names the function that starts at addr, or the function that the pointer at addr points to.
func (c *codeCache) Resolve(addr uint64) (symbolic.Target, bool) {
	n, known := c.names[addr]
	if !known {
		n.target, n.ok = c.Code.Resolve(addr)
		c.names[addr] = n
	}
	return n.target, n.ok
}

// Bounds returns the function around pc. Only functions are cached: a table may be unreadable in one snapshot.
func (c *codeCache) Bounds(pc uint64) (low, high uint64, ok bool) {
	if x, known := c.bounds[pc]; known {
		return x.low, x.high, true
	}
	if low, high, ok = c.Code.Bounds(pc); ok {
		c.bounds[pc] = extent{low, high}
	}
	return low, high, ok
}

// PartOf returns the entry of the function that has a part at low.
func (c *codeCache) PartOf(low uint64) (entry uint64, ok bool) {
	x, known := c.parts[low]
	if !known {
		x.entry, x.ok = c.Code.PartOf(low)
		c.parts[low] = x
	}
	return x.entry, x.ok
}

// Class classifies the code at pc by its owner.
func (c *codeCache) Class(pc uint64) Class {
	class, known := c.classes[pc]
	if !known {
		class = c.Code.Class(pc)
		c.classes[pc] = class
	}
	return class
}
