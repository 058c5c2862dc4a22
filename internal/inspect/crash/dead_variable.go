package crash

import (
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxDead bounds the variables of functions that have returned.
	maxDead = 4
	// maxTaskFrames bounds the frames in which they are searched: the code that crashed and its callers.
	maxTaskFrames = 16
)

// deadVariables finds variables that the crashed code uses, from frame from outward to the first one that is not the
// program's, and that are on some stack below all frames. A task that shares a variable has its address in such code.
func (c *Finder) deadVariables(st *stacks.Stack, from int) []picture.DeadVariable {
	if c.code.Symbols == nil || c.code.Rehearsing {
		return nil
	}
	read := func(addr uint64, p []byte) error { return c.target.ReadMemory(callbacks.Addr(addr), p) }
	var out []picture.DeadVariable
	for i := from; i < min(len(st.Frames), from+maxTaskFrames) && st.Kinds[i] == stacks.KindUser; i++ {
		f := st.Frames[i]
		at := symbolize.Activation{PC: f.LookupPC(), CFA: f.CFA, Register: f.Registers.Get}
		add := func(name string, addr uint64) {
			lwp, sp, dead := c.belowFrames(addr)
			if dead && len(out) < maxDead {
				out = append(out, picture.DeadVariable{
					Name: name, Address: picture.Hex(addr), Thread: lwp, SP: picture.Hex(sp),
				})
			}
		}
		for _, function := range c.code.Symbols.Values(at, read) {
			for _, v := range function {
				if !v.Argument && !strings.HasPrefix(v.Name, ".") {
					add(v.Name, v.Address)
				}
			}
		}
		for _, addr := range c.code.Symbols.SharedAddresses(at, read) {
			add("", addr)
		}
	}
	return out
}

// belowFrames reports whether an address is on the stack of a thread below its frames, and returns the thread with its
// stack pointer. The stack is the memory mapping around the stack pointer, without another thread's stack pointer
// between.
func (c *Finder) belowFrames(addr uint64) (lwp int, sp uint64, dead bool) {
	if addr == 0 {
		return 0, 0, false
	}
	for _, m := range stacks.MappingsOf(c.target) {
		if addr < m.Low.Offset || addr >= m.High.Offset {
			continue
		}
		for _, n := range c.threads.All {
			regs := n.Registers()
			if regs == nil || regs.SP() < m.Low.Offset || regs.SP() >= m.High.Offset || regs.SP() <= addr {
				continue
			}
			if sp == 0 || regs.SP() < sp { // the next one above the address
				lwp, sp = n.LWP, regs.SP()
			}
		}
		return lwp, sp, sp != 0 && m.Perm&callbacks.PermWrite != 0
	}
	return 0, 0, false
}
