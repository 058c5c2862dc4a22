package spin

import (
	"maps"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// redZone is how much below the stack pointer a function may use (System V ABI of x86-64).
const redZone = 128

// The general registers by DWARF number, in the numbers of instructions.
var fromDWARF = [16]lift.Register{0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15}

// The registers that have a part in calls.
const (
	regAX lift.Register = 0
	regSP lift.Register = 4
	regDI lift.Register = 7
)

// callerSaved are the registers that a call may change.
var callerSaved = []lift.Register{0, 1, 2, 6, 7, 8, 9, 10, 11}

// value is a number that may be known, and the words of memory that it was made of.
type value struct {
	v     uint64
	known bool
	from  set
}

// cell is a byte that the thread wrote.
type cell struct {
	b     byte
	known bool
	from  set
}

// flags are what the last comparison compared.
type flags struct {
	kind lift.FlagKind
	size uint8
	a, b value
}

// The flags that conditions are about, in rflags.
const (
	carryFlag    = 1 << 0
	zeroFlag     = 1 << 6
	signFlag     = 1 << 7
	overflowFlag = 1 << 11
)

// given reports whether a condition holds by the flags of the processor.
func given(rflags uint64, cc lift.Condition) (holds, known bool) {
	is := func(bit uint64) bool { return rflags&bit != 0 }
	less := is(signFlag) != is(overflowFlag)
	if cc.Sign {
		less = is(signFlag)
	}
	if cc.Bit {
		return is(carryFlag) == (cc.Op == lift.NE), true
	}
	switch cc.Op {
	case lift.EQ, lift.NE:
		return is(zeroFlag) == (cc.Op == lift.EQ), true
	case lift.LT, lift.GE:
		return less == (cc.Op == lift.LT), true
	case lift.LE, lift.GT:
		return (less || is(zeroFlag)) == (cc.Op == lift.LE), true
	case lift.ULT, lift.UGE:
		return is(carryFlag) == (cc.Op == lift.ULT), true
	case lift.ULE, lift.UGT:
		return (is(carryFlag) || is(zeroFlag)) == (cc.Op == lift.ULE), true
	}
	return false, false
}

// machine is a thread at one point.
type machine struct {
	pc     uint64
	tp     uint64 // thread pointer
	regs   [lift.NumRegisters]value
	flags  flags
	cells  map[uint64]cell
	jumped bool           // by the last instruction, within its function
	depth  int            // calls less returns since the start
	calls  map[int]callAt // the last call at each depth
	reads  map[uint64]readAt
}

// callAt is where a function was called, with its first argument.
type callAt struct {
	pc  uint64
	arg value
}

// readAt is where a word was read.
type readAt struct {
	pc    uint64
	depth int
}

func newMachine(regs *callbacks.Registers) *machine {
	m := &machine{
		pc: regs.PC(), tp: regs.ThreadPointer, cells: map[uint64]cell{}, calls: map[int]callAt{},
		reads: map[uint64]readAt{},
	}
	if regs.Flags != 0 {
		m.flags = flags{kind: lift.FlagsGiven, a: value{v: regs.Flags, known: true}}
	}
	for n, r := range fromDWARF {
		v, known := regs.Get(n)
		m.regs[r] = value{v: v, known: known}
	}
	return m
}

func (m *machine) clone() *machine {
	c := *m
	c.cells, c.calls, c.reads = cloneCells(m.cells), maps.Clone(m.calls), maps.Clone(m.reads)
	return &c
}

func cloneCells(cells map[uint64]cell) map[uint64]cell { return maps.Clone(cells) }

// disown forgets from which words values come: they are of another explorer.
func (m *machine) disown() {
	for r := range m.regs {
		m.regs[r].from = 0
	}
	for at, c := range m.cells {
		c.from = 0
		m.cells[at] = c
	}
	m.flags.a.from, m.flags.b.from = 0, 0
}

// tidy forgets what no code comes back to: what is below the stack, and flags.
func (m *machine) tidy(own func(uint64) bool) {
	m.flags = flags{}
	for r := lift.Temp0; r < lift.NumRegisters; r++ {
		m.regs[r] = value{}
	}
	low := m.regs[regSP].v - redZone
	for at := range m.cells {
		if at < low && own(at) {
			delete(m.cells, at)
		}
	}
}

// callSite is the instruction in the function of m's loop that read a word, or the call there
// that did; given reports whether that call has the word's address as its first argument.
func (m *machine) callSite(w Word) (pc uint64, given bool) {
	r, ok := m.reads[w.Address]
	if !ok {
		return w.Read, false
	}
	if at, called := m.calls[m.depth]; called && r.depth > m.depth {
		return at.pc, at.arg.known && at.arg.v == w.Address
	}
	return r.pc, false
}

// returned passes over a call: what it may change is not known.
func (m *machine) returned(result value) {
	for _, r := range callerSaved {
		m.regs[r] = value{}
	}
	m.regs[regAX] = result
	m.flags = flags{}
}

// operand is the content of an operand.
func (m *machine) operand(o lift.Operand) value {
	if o.IsReg() {
		return m.regs[o.Reg]
	}
	return value{v: o.Val, known: true}
}

// address is base + index*scale + displacement.
func (m *machine) address(u *lift.Uop) value {
	out := value{v: u.Disp, known: true}
	if u.A.IsReg() || u.A.Absolute {
		out = out.plus(m.operand(u.A), 1)
	}
	if u.B.IsReg() {
		out = out.plus(m.regs[u.B.Reg], uint64(u.Scale))
	}
	if u.TLS {
		out = out.plus(value{v: m.tp, known: m.tp != 0}, 1)
	}
	return out
}

func (a value) plus(b value, scale uint64) value {
	return value{a.v + b.v*scale, a.known && b.known, a.from | b.from}
}

func (a value) extend(size uint8, signed bool) value {
	a.v = lift.ExtendWord(a.v, size, signed)
	return a
}

// binary is the result of an operation of size bytes.
func (m *machine) binary(u *lift.Uop) value {
	if u.A == u.B && u.A.IsReg() && (u.Op == lift.OpXor || u.Op == lift.OpSub) {
		return value{known: true}
	}
	a, b := m.operand(u.A), m.operand(u.B)
	if u.Op == lift.OpAnd && (a.known && a.v == 0 || b.known && b.v == 0) {
		return value{known: true, from: a.from | b.from}
	}
	switch {
	case u.Op == lift.OpShr && u.Size < 8:
		a = a.extend(u.Size, false)
	case u.Op == lift.OpSar && u.Size < 8:
		a = a.extend(u.Size, true)
	}
	out := value{lift.Compute(u.Op, a.v, b.v), a.known && b.known, a.from | b.from}
	return out.extend(u.Size, false)
}

// decided reports whether a condition holds, and whether that is known; from are the words that
// decided it.
func (f *flags) decided(cc lift.Condition) (holds, known bool, from set) {
	a, b, op := f.a, f.b, cc.Op
	carry := f.kind == lift.FlagsCompare || f.kind == lift.FlagsLogic
	switch {
	case op == lift.CondUnknown:
		return false, false, 0
	case f.kind == lift.FlagsGiven:
		holds, known = given(a.v, cc)
		return holds, known, 0
	case f.kind == lift.FlagsBit && cc.Bit:
		a = value{a.v >> (b.v & 63) & 1, a.known && b.known, a.from | b.from}
		b = value{known: true}
	case f.kind == lift.FlagsUnknown || f.kind == lift.FlagsBit || cc.Bit && !carry:
		return false, false, 0
	case cc.Sign && f.kind == lift.FlagsCompare:
		a, b = value{a.v - b.v, a.known && b.known, a.from | b.from}, value{known: true}
	case cc.Bit && op == lift.NE:
		op = lift.ULT
	case cc.Bit:
		op = lift.UGE
	case f.kind == lift.FlagsResult && !cc.Sign && op != lift.EQ && op != lift.NE:
		return false, false, 0
	}
	from = a.from | b.from
	if !a.known || !b.known {
		return false, false, from
	}
	a, b = a.extend(f.size, op.Signed()), b.extend(f.size, op.Signed())
	return op.Holds(a.v, b.v), true, from
}
