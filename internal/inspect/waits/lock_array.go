package waits

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// outsideArray explains that the lock that w waits for is outside of the array whose element the code of its
// thread acquires. It returns "" if it is not, or if nothing proves it. The array must be a block of the heap: the
// code loads a pointer to the start of the block, and adds an index.
func (wf *Finder) outsideArray(w wait, l picture.Lock) string {
	family, ok := lockFamily(w, l)
	if !ok || w.variable == 0 {
		return ""
	}
	base, ok := wf.Flows.Program.ArrayBase(wf.Flows.Thread(&w.n.Thread), family)
	if !ok || wf.Code.ModuleOf(base) != nil {
		return ""
	}
	m := libc.MappingAt(stacks.MappingsOf(wf.Target), base)
	if m == nil || m.Perm&callbacks.PermWrite == 0 {
		return ""
	}
	b, err := wf.Data.Library().BlockAt(base)
	if err != nil || b.High > m.High.Offset || w.variable >= b.Low && w.variable < b.High {
		return ""
	}
	if !wf.isBlock(b, w.variable) {
		return ""
	}
	where := fmt.Sprintf("%d bytes past the end of", w.variable-b.High)
	switch {
	case w.variable < b.Low:
		where = fmt.Sprintf("%d bytes before", b.Low-w.variable)
	case w.variable < b.High+libc.HeaderSize:
		where = "in malloc's data after"
	}
	return fmt.Sprintf("it is %s the block of %d bytes at %v, from which the code takes an element", where,
		b.High-b.Low, picture.Hex(b.Low))
}

// isBlock reports whether a block of the heap is one: another block follows, or its header was overwritten by the lock
// at addr.
func (wf *Finder) isBlock(b libc.Block, addr uint64) bool {
	library := wf.Data.Library()
	if _, err := library.BlockAt(b.High + libc.HeaderSize); err == nil {
		return true
	}
	if addr < b.High || addr >= b.High+libc.HeaderSize {
		return false
	}
	broken, err := library.BrokenHeap()
	return err == nil && broken != nil && broken.Block == b
}
