package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// allocators are what the functions begin with that change the chain of the heap's blocks, as the C library and GNU's
// C++ library name them.
var allocators = []string{
	"malloc", "free", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc", "_Zn", "_Zd",
}

// heap is where the chain of the heap's blocks breaks; nil if it does not, or another thread is in a function that
// changes it.
func (c *crash) heap() *picture.BrokenHeap {
	for _, n := range c.roster.natives {
		if n.LWP != 0 && n.LWP != c.about.CrashedLWP && c.allocates(n) {
			return nil
		}
	}
	b, err := c.data.Library().BrokenHeap()
	if err != nil || b == nil {
		return nil
	}
	return &picture.BrokenHeap{Low: picture.Hex(b.Block.Low), High: picture.Hex(b.Block.High), Size: b.Size}
}

// allocates reports whether a thread is in a function that changes the heap.
func (c *crash) allocates(n *native) bool {
	return slices.ContainsFunc(allocators, func(name string) bool { return n.InFunction(name) })
}

// largest is the largest variable of the function in which a stack ended.
func (c *crash) largest(st *stacks.Stack, from int) *picture.Local {
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
