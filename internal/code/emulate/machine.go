package emulate

import (
	"maps"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// Machine is the state of a thread at one point of its code.
type Machine struct {
	PC            uint64           // of the next instruction
	At            uint64           // of the current instruction
	Instruction   lift.Instruction // at At
	ThreadPointer Value
	Regs          [lift.NumRegisters]Value
	Flags         Flags
	Written       map[uint64]Byte
	ABI           *lift.Convention
	vectors       vectors
	// Rounding is the way in which the thread rounds numbers. If it is nil, only exact results are known. Copies of the
	// machine share it.
	Rounding *Rounding
}

// Rounding is a way to round numbers.
type Rounding struct {
	Mode lift.Rounding
	Used bool // a result depends on it
}

// newMachine returns a machine at pc without known registers.
func newMachine(abi *lift.Convention, pc uint64) Machine {
	return Machine{PC: pc, ABI: abi, Written: map[uint64]Byte{}}
}

// NewThread returns a machine with the registers of a thread.
func NewThread(abi *lift.Convention, regs *callbacks.Registers) Machine {
	m := newMachine(abi, regs.PC())
	if regs.ThreadPointer != 0 {
		m.ThreadPointer = Number(regs.ThreadPointer)
	}
	if given, known := arch.Conditions(regs); known {
		m.Flags = Flags{Kind: lift.FlagsGiven, A: Number(given)}
	}
	for r := range abi.General {
		if v, known := regs.Get(abi.DWARFNumber(r)); known {
			m.Regs[r] = Number(v)
		}
	}
	return m
}

// saveTo sets the general registers and the program counter of regs to those of m.
func (m *Machine) saveTo(regs *callbacks.Registers) {
	for r := range m.ABI.General {
		n := m.ABI.DWARFNumber(r)
		if v := m.Regs[r]; v.IsKnown() {
			regs.Set(n, v.V)
		} else {
			regs.Unset(n)
		}
	}
	regs.SetPC(m.PC)
}

// Clone returns a copy that is independent of m.
func (m *Machine) Clone() Machine {
	m.vectors.shared = true
	c := *m
	c.Written = maps.Clone(m.Written)
	return c
}

// SP returns the stack pointer.
func (m *Machine) SP() *Value { return &m.Regs[m.ABI.SP] }

// Read returns size bytes, at most 8, as the machine sees them: bytes that it wrote, otherwise those of mem.
// used reports whether mem was read.
func (m *Machine) Read(mem callbacks.Memory, addr uint64, size uint8) (v Value, used bool, err error) {
	var b [8]Byte
	written := [8]bool{}
	for i := range size {
		b[i], written[i] = m.Written[addr+uint64(i)]
		used = used || !written[i]
	}
	if used {
		var p [8]byte
		if err := mem.ReadMemory(callbacks.Addr(addr), p[:size]); err != nil {
			return Value{}, false, err
		}
		for i := range size {
			if !written[i] {
				b[i] = Byte{V: p[i], Known: 0xff}
			}
		}
	}
	v.Known = ^lift.Width(size)
	for i := range size {
		v.V |= uint64(b[i].V) << (8 * i)
		v.Known |= uint64(b[i].Known) << (8 * i)
		v.From |= b[i].From
	}
	return v, used, nil
}

// readKnown returns bytes as Read does. Without a known address, or unreadable, they are unknown.
func (m *Machine) readKnown(mem callbacks.Memory, at Value, size uint8) Value {
	if !at.IsKnown() {
		return Value{}
	}
	v, _, err := m.Read(mem, at.V, size)
	if err != nil {
		return Value{}
	}
	return v
}

// Write records size bytes that the machine writes. v contains the first 8; others are unknown.
func (m *Machine) Write(addr uint64, v Value, size uint8) {
	v = v.Extend(size, false)
	for i := range uint64(size) {
		c := Byte{From: v.From}
		if i < 8 {
			c.V, c.Known = byte(v.V>>(8*i)), byte(v.Known>>(8*i))
		}
		m.Written[addr+i] = c
	}
}

// PushReturn records the return address of a call, on the stack or in the link register.
func (m *Machine) PushReturn(to uint64, p Policy) error {
	if m.ABI.LinkBytes == 0 {
		m.Regs[m.ABI.Link] = Number(to)
		return nil
	}
	m.SP().V -= m.ABI.LinkBytes
	return p.Store(*m.SP(), Number(to), uint8(m.ABI.LinkBytes), false)
}

// PassCall makes all state unknown that a called function may change, except memory.
func (m *Machine) PassCall() {
	for r := range m.ABI.General {
		if !m.ABI.Keeps(r) {
			m.Regs[r] = Value{}
		}
	}
	m.forgetVectors(m.ABI.Vectors)
	m.Flags = Flags{}
}

// operand returns the content of an operand.
func (m *Machine) operand(o lift.Operand) Value {
	if o.IsReg() {
		return m.Regs[o.Reg]
	}
	return Number(o.Val)
}

// address returns base + index*scale + displacement.
func (m *Machine) address(u *lift.Uop) Value {
	out := Number(u.Disp)
	if u.A.IsReg() || u.A.Absolute {
		out = compute(lift.OpAdd, out, m.operand(u.A))
	}
	if u.B.IsReg() {
		out = compute(lift.OpAdd, out, compute(lift.OpMul, m.Regs[u.B.Reg], Number(uint64(u.Scale))))
	}
	if u.TLS {
		out = compute(lift.OpAdd, out, m.ThreadPointer)
	}
	return out
}

// binary returns the result of an operation.
func (m *Machine) binary(u *lift.Uop) Value {
	if u.A == u.B && u.A.IsReg() && (u.Op == lift.OpXor || u.Op == lift.OpSub) {
		return Number(0)
	}
	a, b := m.operand(u.A), m.operand(u.B)
	switch {
	case u.Op == lift.OpShr && u.Size < 8:
		a = a.Extend(u.Size, false)
	case u.Op == lift.OpSar && u.Size < 8:
		a = a.Extend(u.Size, true)
	}
	return compute(u.Op, a, b).Extend(u.Size, false)
}

// branchTest returns the outcome of a branch's condition.
func (m *Machine) branchTest(u *lift.Uop) Truth {
	f := m.Flags
	if u.OwnTest() {
		f = Flags{Kind: u.Flags, Size: u.Size, A: m.operand(u.B).Extend(u.Size, false), B: Number(0)}
	}
	return f.Test(u.CC)
}

// choose returns the value of UopSetIf and UopSelect.
func (m *Machine) choose(u *lift.Uop) Value {
	yes, no := Number(1), Number(0)
	if u.Code == lift.UopSelect {
		yes, no = m.operand(u.A).Extend(u.Size, false), m.operand(u.B).Extend(u.Size, false)
	}
	c := m.Flags.Test(u.CC)
	out := no
	if c.Holds {
		out = yes
	}
	out.From |= c.From
	if !c.Known {
		out = Value{From: c.From | yes.From | no.From}
	}
	return out
}

// ForgetOrigins removes the origins of all values.
func (m *Machine) ForgetOrigins() {
	for r := range m.Regs {
		m.Regs[r] = m.Regs[r].withoutOrigins()
	}
	if m.vectors.now != nil {
		m.ownVectors()
		for r := range m.vectors.now {
			m.vectors.now[r] = m.vectors.now[r].withoutOrigins()
		}
	}
	for at, b := range m.Written {
		b.From = 0
		m.Written[at] = b
	}
	m.Flags.A, m.Flags.B = m.Flags.A.withoutOrigins(), m.Flags.B.withoutOrigins()
}
