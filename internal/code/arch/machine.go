package arch

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxReturn bounds the instructions between a call and the end of a function that
// moves stacks; those of Go's runtime have some 30.
const maxReturn = 128

// Machine runs the code that a thread would run next on a copy of its registers. It
// changes nothing in the target: what the code writes is kept aside. It knows what
// functions that move stacks are written with, and stops at everything else.
type Machine struct {
	// Regs are the registers; those that are not known stay so.
	Regs callbacks.Registers
	// Mem is the target's memory, with the code.
	Mem callbacks.Memory
	// Stores are what was written, in order. A caller may fill it beforehand.
	Stores []Store
	// ThreadWord is the address of the last word that was written relative to the
	// thread pointer; 0 if none was.
	ThreadWord uint64
	// Calls counts the calls that were passed over.
	Calls int

	equal, compared bool // what the last comparison found, if it could be made
}

// Store is one write to memory.
type Store struct {
	Address uint64
	Size    int    // bytes
	Value   uint64 // little-endian, up to 8 bytes
	Known   bool   // else what is there now is not known
}

// Return runs to the end of the function and leaves it. It is false if the code has
// something that is not known, and always on aarch64. Calls on the way are passed
// over.
func (m *Machine) Return() bool {
	return m.run(func(i *inst) bool { return i.Op == x86asm.RET }) && m.leave()
}

// Until runs to the first call and stops before it. It is false as Return is.
func (m *Machine) Until() bool {
	return m.run(func(i *inst) bool { return i.Op == x86asm.CALL })
}

// run runs instructions up to the first for which end is true.
func (m *Machine) run(end func(*inst) bool) bool {
	if m.Regs.Arch != callbacks.ArchX86_64 {
		return false
	}
	for range maxReturn {
		pc := m.Regs.PC()
		d, err := decode(readFrom(m.Mem, pc, maxInst))
		if err != nil {
			return false
		}
		i := &inst{d, pc}
		if end(i) {
			return true
		}
		m.Regs.SetPC(i.end())
		if !m.step(i) {
			return false
		}
		if _, known := m.Regs.Get(callbacks.X86RSP); !known {
			return false
		}
	}
	return false
}

// leave pops the return address.
func (m *Machine) leave() bool {
	ret, ok := m.pop()
	m.Regs.SetPC(ret)
	return ok
}

func (m *Machine) pop() (uint64, bool) {
	sp := m.Regs.SP()
	v, ok := m.Load(sp, 8)
	m.Regs.SetSP(sp + 8)
	return v, ok
}

// step does what one instruction does; false if that is not known.
func (m *Machine) step(i *inst) bool {
	switch i.Op {
	case x86asm.NOP:
	case x86asm.MOV, x86asm.LEA, x86asm.ADD, x86asm.SUB:
		return m.move(i)
	case x86asm.PUSH:
		v, ok := m.value(i, i.Args[0])
		m.Regs.SetSP(m.Regs.SP() - 8)
		m.store(m.Regs.SP(), 8, v, ok)
	case x86asm.POP:
		v, ok := m.pop()
		return m.assign(i, i.Args[0], v, ok)
	case x86asm.CMP:
		a, known := m.value(i, i.Args[0])
		b, too := m.value(i, i.Args[1])
		m.equal, m.compared = a == b, known && too
	case x86asm.JE, x86asm.JNE:
		to, ok := i.Args[0].(x86asm.Rel)
		if m.equal == (i.Op == x86asm.JE) {
			m.Regs.SetPC(i.end() + uint64(int64(to)))
		}
		return ok && m.compared
	case x86asm.JMP:
		to, ok := i.Args[0].(x86asm.Rel)
		m.Regs.SetPC(i.end() + uint64(int64(to)))
		return ok
	case x86asm.CALL:
		m.Calls++
		m.Regs.Valid &^= CallerSaved(callbacks.ArchX86_64)
		m.compared = false
	case x86asm.TEST:
		m.compared = false
	default:
		return m.forget(i)
	}
	return true
}

// forget does an instruction whose results are not known: registers, memory and
// flags. It is false if they may be anywhere.
func (m *Machine) forget(i *inst) bool {
	m.compared = false
	for n, r := range x86DWARF {
		if effectOn(i, r) {
			m.Regs.Unset(n)
		}
	}
	mem, writes := i.Args[0].(x86asm.Mem)
	return len(implicit[i.Op]) == 0 && (!writes || readsOnly[i.Op] || m.assign(i, mem, 0, false))
}

// move does MOV, LEA, ADD and SUB; false as step is.
func (m *Machine) move(i *inst) bool {
	v, ok := m.value(i, i.Args[1])
	switch i.Op {
	case x86asm.LEA:
		mem, isMem := i.Args[1].(x86asm.Mem)
		v, ok = m.address(i, mem)
		ok = ok && isMem
	case x86asm.ADD, x86asm.SUB:
		a, known := m.value(i, i.Args[0])
		if i.Op == x86asm.SUB {
			v = -v
		}
		v, ok = a+v, ok && known
		m.compared = false
	}
	return m.assign(i, i.Args[0], v, ok)
}

// value is an operand; not ok if it is not known.
func (m *Machine) value(i *inst, a x86asm.Arg) (uint64, bool) {
	switch a := a.(type) {
	case x86asm.Imm:
		return uint64(int64(a)), true
	case x86asm.Reg:
		n := dwarfOf(full(a))
		v, ok := m.Regs.Get(n)
		switch widthOf(a) {
		case 8:
			return v, ok
		case 4:
			return v & 0xffffffff, ok
		}
	case x86asm.Mem:
		if addr, ok := m.address(i, a); ok && (i.MemBytes == 8 || i.MemBytes == 4) {
			return m.Load(addr, i.MemBytes)
		}
	}
	return 0, false
}

// assign writes an operand; false if it is memory and nobody knows which.
func (m *Machine) assign(i *inst, to x86asm.Arg, v uint64, ok bool) bool {
	switch to := to.(type) {
	case x86asm.Reg:
		n := dwarfOf(full(to))
		if n < 0 {
			return true
		}
		m.Regs.Unset(n)
		if w := widthOf(to); ok && w == 8 {
			m.Regs.Set(n, v)
		} else if ok && w == 4 {
			m.Regs.Set(n, v&0xffffffff)
		}
	case x86asm.Mem:
		addr, known := m.address(i, to)
		if !known || i.MemBytes == 0 {
			return false
		}
		m.store(addr, i.MemBytes, v, ok)
		if to.Segment == x86asm.FS && i.MemBytes == 8 {
			m.ThreadWord = addr
		}
	}
	return true
}

// address is where a memory operand is.
func (m *Machine) address(i *inst, a x86asm.Mem) (uint64, bool) {
	addr := uint64(int64(int32(a.Disp)))
	switch a.Segment {
	case x86asm.FS:
		if m.Regs.ThreadPointer == 0 {
			return 0, false
		}
		addr += m.Regs.ThreadPointer
	case x86asm.GS:
		return 0, false
	}
	if a.Base == x86asm.RIP {
		return addr + i.end(), true
	}
	for _, part := range []struct {
		reg   x86asm.Reg
		scale uint64
	}{{a.Base, 1}, {a.Index, uint64(a.Scale)}} {
		if part.reg == 0 {
			continue
		}
		v, ok := m.Regs.Get(dwarfOf(full(part.reg)))
		if !ok {
			return 0, false
		}
		addr += v * part.scale
	}
	return addr, true
}

// Load reads size bytes, 8 at most, as the code has left them; not ok if a part of
// them is not known.
func (m *Machine) Load(addr uint64, size int) (uint64, bool) {
	var p [8]byte
	var kept [8]*Store // who wrote each byte last
	left := size
	for n := range m.Stores {
		s := &m.Stores[n]
		for i := range size {
			if addr+uint64(i)-s.Address >= uint64(s.Size) {
				continue
			}
			if kept[i] == nil {
				left--
			}
			kept[i] = s
		}
	}
	if left > 0 && m.Mem.ReadMemory(callbacks.At(addr), p[:size]) != nil {
		return 0, false
	}
	for i, s := range kept[:size] {
		if s != nil && !s.Known {
			return 0, false
		}
		if s != nil {
			p[i] = byte(s.Value >> (8 * (addr + uint64(i) - s.Address)))
		}
	}
	return callbacks.Word(p[:size]), true
}

// store keeps what is written aside. What is not known hides what was there.
func (m *Machine) store(addr uint64, size int, v uint64, ok bool) {
	m.Stores = append(m.Stores, Store{addr, size, v, ok && size <= 8})
}
