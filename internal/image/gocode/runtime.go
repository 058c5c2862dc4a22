package gocode

import (
	"errors"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
)

// Runtime holds the offsets that lead from a thread to its goroutines, as found in the Go runtime's
// code: offsets in its structures g (a goroutine, or a thread's first stack) and m (a thread).
type Runtime struct {
	TLS                       uint64 // of the thread's present g, from the thread pointer (a negative distance wraps)
	SchedPC, SchedSP, SchedBP uint64 // in a g that is not running: its saved registers
	M                         uint64 // in g: its m
	ID                        uint64 // in g: its number
	HasID                     bool
}

// ErrNotTold means that the emulation of the runtime's code failed.
var ErrNotTold = errors.New("the code of the Go runtime does not tell where goroutines are")

// Addresses of imaginary objects, with which a function is emulated to observe its accesses.
const (
	someG     = 0x1_0000_0000
	someM     = 0x2_0000_0000
	someG0    = 0x3_0000_0000
	someStack = 0x4_0000_0000
	someFrame = 0x5_0000_0000
	someTLS   = 0x6_0000_0000
	someFunc  = 0x7_0000_0000
	somePC    = 0x8_0000_0000
	someBP    = 0x9_0000_0000
	part      = 0x1000 // the size of each
)

// stage is memory with only code and some chosen words.
type stage struct {
	code  callbacks.Memory
	asked []uint64
}

// ReadMemory returns code, and the chosen words of structures.
func (s *stage) ReadMemory(a callbacks.Address, p []byte) error {
	v := uint64(0)
	switch at := a.Offset; {
	case at >= someG && at < someG+part:
		v = someM
	case at >= someM && at < someM+part:
		v = someG0
	case at >= someG0 && at < someG0+part:
		v = someStack + part/2
	case at == someStack+8:
		v = somePC
	case at >= someFrame-part && at < someFrame+part: // under the frame pointer
		v = someBP
	case at >= someFunc && at < someFunc+part:
		v = somePC
	default:
		return s.code.ReadMemory(a, p)
	}
	s.asked = append(s.asked, a.Offset)
	for i := range p {
		p[i] = byte(v >> (8 * i))
	}
	return nil
}

// Runtime finds the offsets from the code that parks goroutines (runtime.mcall): it emulates that
// code on an imaginary goroutine, and derives the offsets from its reads and writes.
func (t *Table) Runtime(a callbacks.Arch, mem callbacks.Memory, bias uint64) (Runtime, error) {
	mcall, ok := t.Named(func(f Func) bool { return f.Name == "runtime.mcall" })
	if !ok {
		return Runtime{}, ErrNotTold
	}
	facts := arch.Of(a)
	m, s := enter(a, mem, mcall.Low+bias)
	m.Regs.Set(facts.GoArg, someFunc)
	m.Regs.Set(facts.FP, someFrame)
	_, callerSP := facts.GoFrame(0)
	callerSP += m.Regs.SP()
	if !m.RunToCall() {
		return Runtime{}, ErrNotTold
	}
	r, err := learn(m, s.asked, callerSP)
	if err != nil {
		return Runtime{}, err
	}
	r.ID, r.HasID = t.identity(a, mem, bias)
	return r, nil
}

// enter returns the start of a function on an imaginary goroutine, and the accesses to memory.
func enter(a callbacks.Arch, mem callbacks.Memory, pc uint64) (*emulate.Ending, *stage) {
	s, facts := &stage{code: mem}, arch.Of(a)
	m := &emulate.Ending{Mem: s, Regs: callbacks.Registers{Arch: a, ThreadPointer: someTLS}}
	m.Regs.SetPC(pc)
	m.Regs.SetSP(someStack + 8) // with the return address, if a call pushes it
	if facts.HasLinkRegister() {
		m.Regs.Set(facts.LR, somePC)
	}
	m.Regs.Set(facts.GoG, someG)
	return m, s
}

// learn derives the offsets from the accesses of mcall: it stored the caller's PC, SP and frame pointer in g,
// read m from g and g0 from m, and made g0 the thread's present g.
func learn(m *emulate.Ending, asked []uint64, callerSP uint64) (Runtime, error) {
	r := Runtime{}
	found := 0
	for _, s := range m.Stores {
		at, v := s.Address, s.Value
		switch off := at - someG; {
		case !s.Known:
			continue
		case at == m.ThreadWord && v == someG0:
			r.TLS = at - someTLS
		case off >= part:
			continue
		case v == somePC:
			r.SchedPC = off
		case v == callerSP:
			r.SchedSP = off
		case v == someStack || v == someBP || v == someFrame:
			r.SchedBP = off
		default:
			continue
		}
		found++
	}
	for _, at := range asked {
		switch {
		case at >= someG && at < someG+part:
			r.M = at - someG
			found++
		case at >= someM && at < someM+part: // m contains the g of its own stack
			found++
		}
	}
	if found != 6 {
		return Runtime{}, ErrNotTold
	}
	return r, nil
}

// identity returns the offset of a goroutine's number, from the runtime's only function that just
// returns a word of its g: exit hooks use it to identify the goroutine (runtime.init.N.func1, since
// Go 1.22).
func (t *Table) identity(a callbacks.Arch, mem callbacks.Memory, bias uint64) (uint64, bool) {
	var off []uint64
	t.Named(func(f Func) bool {
		if !strings.HasPrefix(f.Name, "runtime.init") || !strings.Contains(f.Name, ".func") {
			return false
		}
		m, s := enter(a, mem, f.Low+bias)
		if !m.RunToReturn() || m.Calls > 0 || len(m.Stores) > 0 {
			return false
		}
		result, known := m.Regs.Get(arch.Of(a).GoArg)
		asked := slices.DeleteFunc(s.asked, func(at uint64) bool { return at == someStack+8 }) // the return address
		if known && result == someM && len(asked) == 1 && asked[0]-someG < part {
			off = append(off, asked[0]-someG)
		}
		return false
	})
	if len(off) != 1 {
		return 0, false
	}
	return off[0], true
}
