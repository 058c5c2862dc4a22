package inspect

import (
	"slices"

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
		if n.lwp != 0 && n.lwp != c.about.CrashedLWP && c.allocates(n) {
			return nil
		}
	}
	b, err := c.data.library().BrokenHeap()
	if err != nil || b == nil {
		return nil
	}
	return &picture.BrokenHeap{Low: picture.Hex(b.Block.Low), High: picture.Hex(b.Block.High), Size: b.Size}
}

// allocates reports whether a thread is in a function that changes the heap.
func (c *crash) allocates(n *native) bool {
	return slices.ContainsFunc(allocators, func(name string) bool { return c.stacks.called(n, name) })
}

// largest is the largest variable of the function in which a stack ended.
func (c *crash) largest(st *stack, from int) *picture.Local {
	for i := from; i < len(st.frames); i++ {
		if st.kinds[i] != kindUser {
			continue
		}
		v, ok := c.code.sym.LargestLocal(st.frames[i].LookupPC())
		if !ok {
			return nil
		}
		return &picture.Local{Name: v.Name, Size: v.Size, File: v.File, Line: v.Line}
	}
	return nil
}
