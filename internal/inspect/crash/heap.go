package crash

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// allocators are the prefixes of functions that change the chain of heap blocks, by the names of the C library
// and of GNU's C++ library.
var allocators = []string{
	"malloc", "free", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc", "_Zn", "_Zd",
}

// BrokenHeap returns the block at which the heap's chain breaks. It is nil if the chain is whole, or if another
// thread is in a function that changes it.
func (c *Finder) BrokenHeap() *picture.BrokenHeap {
	for _, n := range c.threads.All {
		if n.LWP != 0 && n.LWP != c.about.CrashedLWP && c.isAllocating(n) {
			return nil
		}
	}
	b, err := c.data.Library().BrokenHeap()
	if err != nil || b == nil {
		return nil
	}
	return &picture.BrokenHeap{Low: picture.Hex(b.Block.Low), High: picture.Hex(b.Block.High), Size: b.Size}
}

// isAllocating reports whether a thread is in a function that changes the heap.
func (c *Finder) isAllocating(n *teams.Thread) bool {
	return slices.ContainsFunc(allocators, func(name string) bool { return n.InFunction(name) })
}

// largestLocal returns the largest variable of the function in which a stack overflowed.
func (c *Finder) largestLocal(st *stacks.Stack, from int) *picture.Local {
	for i := from; i < len(st.Frames); i++ {
		if st.Kinds[i] != stacks.KindUser {
			continue
		}
		v, ok := c.code.Symbols.LargestLocal(st.Frames[i].LookupPC())
		if !ok {
			return nil
		}
		return &picture.Local{Name: v.Name, Size: v.Size, File: v.File, Line: v.Line}
	}
	return nil
}
