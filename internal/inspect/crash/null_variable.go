package crash

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxCopies bounds the threads whose copies of a variable are read.
const maxCopies = 256

// nullVariable finds the thread-local variable from which the faulting instruction of a thread, in frame from, loaded
// its null pointer; nil if the code does not show one, or more than one.
func (c *Finder) nullVariable(n *teams.Thread, f *picture.Fault, from int) *picture.NullVariable {
	st := n.Stack()
	if !f.NullPointer || c.code.Symbols == nil || from >= len(st.Frames) || st.Kinds[from] != stacks.KindUser {
		return nil
	}
	pc := addressOf(f.PC)
	code := c.flows.FunctionAt(pc)
	if code == nil {
		return nil
	}
	var out *picture.NullVariable
	for _, addr := range code.ThreadPointersAt(pc, st.Frames[from].Registers.ThreadPointer) {
		if v, known := c.pointerAt(addr); !known || v != 0 {
			continue
		}
		name, offset, ok := c.code.Symbols.ThreadVariable(c.storageOf(n, pc), addr)
		if !ok || out != nil {
			return nil
		}
		out = &picture.NullVariable{Name: name, Address: picture.Hex(addr), Set: c.setCopies(n, pc, offset)}
	}
	return out
}

// storageOf returns the activation by which thread-local variables of the module around pc are found in a thread.
func (c *Finder) storageOf(n *teams.Thread, pc uint64) symbolize.Activation {
	return symbolize.Activation{PC: pc, ThreadSymbol: func(name, file string) (uint64, bool) {
		a, err := c.target.ThreadSymbol(callbacks.LWP(uint64(n.LWP)), name, file)
		return a.Offset, err == nil
	}}
}

// pointerAt reads a pointer.
func (c *Finder) pointerAt(addr uint64) (v uint64, ok bool) {
	var b [8]byte
	err := c.target.ReadMemory(callbacks.Addr(addr), b[:])
	return callbacks.Word(b[:]), err == nil
}

// setCopies returns the other threads with copies of a pointer that are not null.
func (c *Finder) setCopies(n *teams.Thread, pc, offset uint64) (out []int) {
	for _, o := range c.threads.Sorted() {
		if o == n || o.LWP == 0 || len(out) == maxCopies {
			continue
		}
		addr, ok := c.code.Symbols.ThreadStorage(c.storageOf(o, pc), offset)
		if !ok {
			continue
		}
		if v, known := c.pointerAt(addr); known && v != 0 {
			out = append(out, o.LWP)
		}
	}
	return out
}
