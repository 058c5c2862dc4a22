package unwind

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// DWARF expression operations (DWARF 5, section 7.7.1) that call frame
// information may use.
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opReg0       = 0x50
	opBreg0      = 0x70
	opRegx       = 0x90
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

const (
	// maxExprSteps bounds an expression with jumps backward. Those of real
	// tables take about 20.
	maxExprSteps = 2048
	// maxExprStack bounds its stack.
	maxExprStack = 64
)

// wordReader reads words of the target.
type wordReader interface {
	read(addr uint64, size int) (uint64, error)
}

// machine evaluates one DWARF expression. It keeps the first error.
type machine struct {
	code  []byte
	b     buf
	stack [maxExprStack]uint64
	n     int
	regs  *callbacks.Registers
	mem   wordReader
}

// evaluate runs the expression code for a frame with registers regs. If hasCFA is set, the stack
// starts with cfa.
func evaluate(code []byte, regs *callbacks.Registers, mem wordReader, cfa uint64, hasCFA bool) (uint64, error) {
	m := machine{code: code, b: buf{b: code}, regs: regs, mem: mem}
	if hasCFA {
		m.push(cfa)
	}
	for steps := 0; len(m.b.b) > 0 && m.b.err == nil; steps++ {
		if steps == maxExprSteps {
			m.b.fail("expression does not end")
			break
		}
		m.execute(m.b.u8())
	}
	v := m.pop()
	if m.b.err != nil {
		return 0, fmt.Errorf("expression: %w", m.b.err)
	}
	return v, nil
}

func (m *machine) push(v uint64) {
	if m.n == maxExprStack {
		m.b.fail("stack overflows")
		return
	}
	m.stack[m.n] = v
	m.n++
}

func (m *machine) pop() uint64 {
	if m.n == 0 {
		m.b.fail("stack is empty")
		return 0
	}
	m.n--
	return m.stack[m.n]
}

// execute executes one operation.
func (m *machine) execute(op byte) {
	switch {
	case op >= opLit0 && op < opReg0:
		m.push(uint64(op - opLit0))
	case op >= opReg0 && op < opBreg0:
		m.push(m.readRegister(uint64(op - opReg0)))
	case op >= opBreg0 && op < opRegx:
		m.push(m.readRegister(uint64(op-opBreg0)) + uint64(m.b.sleb()))
	case op == opRegx:
		m.push(m.readRegister(m.b.uleb()))
	case op == opBregx:
		reg := m.b.uleb()
		m.push(m.readRegister(reg) + uint64(m.b.sleb()))
	case op == opAddr || op >= opConst1u && op <= opConsts:
		m.push(m.readConstant(op))
	case op == opDeref:
		m.deref(8)
	case op == opDerefSize:
		m.deref(int(m.b.u8()))
	case op >= opDup && op <= opRot:
		m.shuffle(op)
	case op == opBra || op == opSkip:
		m.jump(op)
	case op == opAbs || op == opNeg || op == opNot || op == opPlusUconst:
		m.push(m.applyUnary(op, m.pop()))
	case op >= opAnd && op <= opNe:
		b := m.pop()
		m.push(m.applyBinary(op, m.pop(), b))
	case op != opNop:
		m.b.err = fmt.Errorf("%w: operation %#x", ErrUnsupported, op)
	}
}

func (m *machine) readRegister(n uint64) uint64 {
	v, ok := m.regs.Get(int(min(n, callbacks.MaxRegister)))
	if !ok && m.b.err == nil {
		m.b.err = fmt.Errorf("register %d is not known", n)
	}
	return v
}

func (m *machine) deref(size int) {
	addr := m.pop()
	if size != 1 && size != 2 && size != 4 && size != 8 {
		m.b.fail("word size %d", size)
	}
	if m.b.err != nil {
		return
	}
	v, err := m.mem.read(addr, size)
	if err != nil {
		m.b.err = err
		return
	}
	m.push(v)
}

func (m *machine) readConstant(op byte) uint64 {
	switch op {
	case opConst1u:
		return uint64(m.b.u8())
	case opConst1s:
		return uint64(int64(int8(m.b.u8())))
	case opConst2u:
		return uint64(m.b.u16())
	case opConst2s:
		return uint64(int64(int16(m.b.u16())))
	case opConst4u:
		return uint64(m.b.u32())
	case opConst4s:
		return uint64(int64(int32(m.b.u32())))
	case opConstu:
		return m.b.uleb()
	case opConsts:
		return uint64(m.b.sleb())
	}
	return m.b.u64()
}

// shuffle executes the operations that copy or move stack entries.
func (m *machine) shuffle(op byte) {
	switch op {
	case opDup:
		m.pick(0)
	case opOver:
		m.pick(1)
	case opPick:
		m.pick(int(m.b.u8()))
	case opDrop:
		m.pop()
	case opSwap:
		a, b := m.pop(), m.pop()
		m.push(a)
		m.push(b)
	case opRot: // the top becomes the third
		a, b, c := m.pop(), m.pop(), m.pop()
		m.push(a)
		m.push(c)
		m.push(b)
	}
}

// pick pushes a copy of the entry that has i entries above it.
func (m *machine) pick(i int) {
	if i >= m.n {
		m.b.fail("stack has no entry %d", i)
		return
	}
	m.push(m.stack[m.n-1-i])
}

func (m *machine) jump(op byte) {
	distance := int(int16(m.b.u16()))
	if op == opBra && m.pop() == 0 || m.b.err != nil {
		return
	}
	to := len(m.code) - len(m.b.b) + distance
	if to < 0 || to > len(m.code) {
		m.b.fail("jump out of the expression")
		return
	}
	m.b.b = m.code[to:]
}
