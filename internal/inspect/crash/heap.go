package crash

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
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

// isAllocating reports whether a thread is in a function that changes the heap. One that sleeps there waits for
// the lock of the heap, and one that writes a message, or has called abort, has found the heap damaged: they do
// not change it.
func (c *Finder) isAllocating(n *teams.Thread) bool {
	return slices.ContainsFunc(allocators, func(name string) bool { return n.InFunction(name) }) &&
		!n.OnFutex() && !n.InFunction("abort") && !c.isReporting(n)
}

// isReporting reports whether a thread is in a system call that malloc makes only for the message on a damaged heap.
func (c *Finder) isReporting(n *teams.Thread) bool {
	regs := n.Registers()
	return regs != nil && slices.Contains(messageCalls, arch.SyscallName(regs.Arch, regs.Syscall))
}

// messageCalls are the system calls that print the C library's last message.
var messageCalls = []string{"write", "writev"}

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
