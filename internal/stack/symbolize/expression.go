package symbolize

import (
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/internal/image/binread"
)

// Operations of location expressions that only variables shown to people need (DWARF 5, section 7.7.1).
const (
	opConst1u, opConst8s                   = 0x08, 0x0f
	opDup, opDrop, opOver, opPick          = 0x12, 0x13, 0x14, 0x15
	opSwap, opRot, opAbs, opAnd            = 0x16, 0x17, 0x19, 0x1a
	opDiv, opMod, opNeg, opNot             = 0x1b, 0x1d, 0x1f, 0x20
	opOr, opShr, opShra, opXor             = 0x21, 0x25, 0x26, 0x27
	opBra, opEq, opNe, opSkip              = 0x28, 0x29, 0x2e, 0x2f
	opRegx, opBregx, opPiece               = 0x90, 0x92, 0x93
	opDerefSize, opNop, opPushObject       = 0x94, 0x96, 0x97
	opFormTLS, opBitPiece, opImplicitValue = 0x9b, 0x9d, 0x9e
	opImplicitPointer, opConstx            = 0xa0, 0xa2
	opEntryValue, opConvert, opReinterpret = 0xa3, 0xa8, 0xa9
	opGNUPushTLS, opGNUImplicitPointer     = 0xe0, 0xf2
	opGNUEntryValue, opGNUConvert          = 0xf3, 0xf7
	opGNUReinterpret                       = 0xf9
)

// Bounds on one location expression. Compilers write a few dozen operations.
const (
	maxOperations = 1 << 10
	maxOperands   = 1 << 8
	maxPieces     = 1 << 8
)

// machine evaluates a location expression.
type machine struct {
	*locals
	c      binread.Cursor
	stack  []uint64
	object uint64 // the address that DW_OP_push_object_address pushes
	now    located
	pieces []located
	why    string // the reason of a failure
}

// locatedKind is the kind of result of an expression.
type locatedKind int

const (
	locatedTop   locatedKind = iota // the address on the stack
	locatedValue                    // the value on the stack
	locatedData                     // data in the expression, or of a register
)

// located is the result of an expression, or one of its pieces.
type located struct {
	kind    locatedKind
	value   uint64 // an address, or a value
	data    []byte
	size    uint64 // of a piece, in bytes
	missing string // the reason if the piece is nowhere
}

// locate evaluates the location of a value of size bytes. object is the address of the value that the expression
// belongs to, for the parts of types. why is the reason if there is no place.
func (l *locals) locate(loc []byte, size, object uint64) (at place, why string) {
	m := machine{locals: l, c: binread.Cursor{Data: loc}, object: object}
	if !m.run() {
		return place{}, m.why
	}
	if len(m.pieces) == 0 {
		return m.single()
	}
	return m.join(size)
}

// single returns the place of a value in one piece.
func (m *machine) single() (place, string) {
	switch m.now.kind {
	case locatedData:
		return place{data: m.now.data}, m.now.missing
	case locatedValue:
		return place{data: binary.LittleEndian.AppendUint64(nil, m.now.value)}, ""
	}
	return place{addr: m.now.value}, ""
}

// join returns the bytes of a value in several pieces.
func (m *machine) join(size uint64) (place, string) {
	if size > maxPieces*maxString {
		return place{}, missingPlace
	}
	p := place{data: make([]byte, 0, size), lost: map[uint64]string{}}
	for _, piece := range m.pieces {
		b := make([]byte, piece.size)
		why := piece.missing
		switch {
		case why != "":
		case piece.kind == locatedValue:
			copy(b, binary.LittleEndian.AppendUint64(nil, piece.value))
		case piece.kind == locatedData:
			copy(b, piece.data)
		case m.read == nil || m.read(piece.value, b) != nil:
			why = missingMemory
		}
		for i := range b {
			if why != "" {
				p.lost[uint64(len(p.data)+i)] = why
			}
		}
		if p.data = append(p.data, b...); uint64(len(p.data)) > maxPieces*maxString {
			return place{}, missingPlace
		}
	}
	return p, ""
}

// fail ends the evaluation with a reason.
func (m *machine) fail(why string) bool {
	m.why = why
	return false
}

// run executes the expression, and leaves its result in now, or in pieces.
func (m *machine) run() bool {
	for range maxOperations {
		if m.c.Pos == len(m.c.Data) {
			return m.finish()
		}
		if !m.step(m.c.U8()) {
			return false
		}
		if m.c.Bad || len(m.stack) > maxOperands || len(m.pieces) > maxPieces {
			return m.fail(missingPlace)
		}
	}
	return m.fail(missingPlace)
}

// finish sets the result of an expression without pieces.
func (m *machine) finish() bool {
	switch {
	case len(m.pieces) > 0:
		return true
	case m.now.kind == locatedData:
		return true
	case len(m.stack) == 0:
		return m.fail(missingOptimized)
	}
	m.now.value = m.stack[len(m.stack)-1]
	return true
}

// endPiece adds the piece of size bytes that the operations since the last one describe.
func (m *machine) endPiece(size uint64) bool {
	if size == 0 || size > maxPieces*maxString {
		return m.fail(missingPlace)
	}
	m.now.size = size
	if m.now.kind != locatedData {
		if len(m.stack) == 0 {
			m.now.missing = missingOptimized
		} else {
			m.now.value = m.stack[len(m.stack)-1]
		}
	}
	m.pieces, m.now, m.stack = append(m.pieces, m.now), located{}, m.stack[:0]
	return true
}

// step executes one operation.
func (m *machine) step(op byte) bool {
	switch {
	case op >= opLit0 && op < opReg0:
		return m.push(uint64(op - opLit0))
	case op >= opReg0 && op < opReg0+registers:
		return m.inRegister(int(op - opReg0))
	case op >= opBreg0 && op < opBreg0+registers:
		return m.pushRegister(int(op-opBreg0), m.c.Sleb())
	case op >= opConst1u && op <= opConst8s:
		return m.pushConstant(op)
	case op >= opDup && op <= opRot:
		return m.shuffle(op)
	case op >= opAbs && op <= opXor && op != opPlusConst || op >= opEq && op <= opNe:
		return m.calculate(op)
	}
	switch op {
	case opNop:
	case opAddr:
		return m.push(m.c.U64() + m.bias)
	case opAddrx, opConstx:
		addr, ok := m.vs.indexedAddress(newUnit(m.unit), m.c.Uleb())
		if !ok {
			return m.fail(missingPlace)
		}
		if op == opAddrx {
			addr += m.bias
		}
		return m.push(addr)
	case opConstu:
		return m.push(m.c.Uleb())
	case opConsts:
		return m.push(uint64(m.c.Sleb()))
	case opPlusConst:
		top := m.pop()
		return m.push(top + m.c.Uleb())
	case opFbreg:
		base, ok := m.frameBase()
		if !ok {
			return m.fail(missingPlace)
		}
		return m.push(base + uint64(m.c.Sleb()))
	case opCallFrameCFA:
		if m.frame.CFA == 0 {
			return m.fail(missingPlace)
		}
		return m.push(m.frame.CFA)
	case opRegx:
		return m.inRegister(int(m.c.Uleb() & maxRegister))
	case opBregx:
		n := int(m.c.Uleb() & maxRegister)
		return m.pushRegister(n, m.c.Sleb())
	case opPushObject:
		return m.push(m.object)
	case opBra, opSkip:
		return m.jump(op)
	}
	return m.stepRest(op)
}

// maxRegister bounds the numbers of registers.
const maxRegister = 1<<16 - 1

// stepRest executes an operation on memory, on the kind of the result, or of another frame.
func (m *machine) stepRest(op byte) bool {
	switch op {
	case opDeref:
		return m.load(8)
	case opDerefSize:
		return m.load(uint64(m.c.U8()))
	case opPiece:
		return m.endPiece(m.c.Uleb())
	case opBitPiece:
		bits, off := m.c.Uleb(), m.c.Uleb()
		if bits%8 != 0 || off != 0 {
			return m.fail(missingPlace)
		}
		return m.endPiece(bits / 8)
	case opStackVal:
		m.now.kind = locatedValue
	case opImplicitValue:
		m.now = located{kind: locatedData, data: m.c.Take(m.c.Uleb())}
	case opImplicitPointer, opGNUImplicitPointer:
		m.c.U32()
		m.c.Sleb()
		m.now = located{kind: locatedData, missing: missingPointer}
	case opEntryValue, opGNUEntryValue:
		return m.entryValue(m.c.Take(m.c.Uleb()))
	case opConvert, opGNUConvert, opReinterpret, opGNUReinterpret:
		if m.c.Uleb() != 0 { // 0 is the generic type
			return m.fail(missingPlace)
		}
	case opFormTLS, opGNUPushTLS:
		if m.tls == nil {
			return m.fail(missingThread)
		}
		addr, ok := m.tls(m.pop())
		if !ok {
			return m.fail(missingThread)
		}
		return m.push(addr)
	default:
		return m.fail(missingPlace)
	}
	return true
}

// push pushes a number.
func (m *machine) push(v uint64) bool {
	m.stack = append(m.stack, v)
	return true
}

// pop removes and returns the number on top of the stack; the cursor becomes bad if there is none.
func (m *machine) pop() uint64 {
	if len(m.stack) == 0 {
		m.c.Fail()
		return 0
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v
}

// inRegister makes a register the place of the value.
func (m *machine) inRegister(n int) bool {
	v, ok := m.register(n)
	if !ok {
		m.now = located{kind: locatedData, missing: missingOptimized}
		return true
	}
	m.now = located{kind: locatedData, data: binary.LittleEndian.AppendUint64(nil, v)}
	return true
}

// register returns the value of a register in the frame.
func (m *machine) register(n int) (uint64, bool) {
	if m.frame.Register == nil {
		return 0, false
	}
	return m.frame.Register(n)
}

// pushRegister pushes the sum of a register and an offset.
func (m *machine) pushRegister(n int, offset int64) bool {
	v, ok := m.register(n)
	if !ok {
		return m.fail(missingOptimized)
	}
	return m.push(v + uint64(offset))
}

// pushConstant pushes a number of fixed size.
func (m *machine) pushConstant(op byte) bool {
	size := 1 << ((op - opConst1u) / 2)
	v := m.c.Uint(size)
	if unused := 64 - 8*size; (op-opConst1u)%2 != 0 {
		v = uint64(int64(v<<unused) >> unused)
	}
	return m.push(v)
}

// shuffle executes an operation on the order of the stack.
func (m *machine) shuffle(op byte) bool {
	depth := map[byte]int{opDup: 0, opOver: 1}[op]
	switch op {
	case opDrop:
		m.pop()
		return true
	case opPick:
		depth = int(m.c.U8())
	case opSwap:
		a, b := m.pop(), m.pop()
		return m.push(a) && m.push(b)
	case opRot:
		a, b, c := m.pop(), m.pop(), m.pop()
		return m.push(a) && m.push(c) && m.push(b)
	}
	if depth >= len(m.stack) {
		return m.fail(missingPlace)
	}
	return m.push(m.stack[len(m.stack)-1-depth])
}

// calculate executes an arithmetic, logical or comparing operation.
func (m *machine) calculate(op byte) bool {
	b := m.pop()
	switch op {
	case opAbs:
		return m.push(uint64(max(int64(b), -int64(b))))
	case opNeg:
		return m.push(-b)
	case opNot:
		return m.push(^b)
	}
	a := m.pop()
	var v uint64
	switch op {
	case opAnd:
		v = a & b
	case opDiv, opMod:
		if b == 0 || int64(b) == -1 {
			return m.fail(missingPlace)
		}
		if v = a % b; op == opDiv {
			v = uint64(int64(a) / int64(b))
		}
	case opOr:
		v = a | b
	case opXor:
		v = a ^ b
	case opShr:
		v = a >> b
	case opShra:
		v = uint64(int64(a) >> min(b, 63))
	case opMinus, opMul, opPlus, opShl:
		v = applyBinary(op, a, b)
	default:
		x, y := int64(a), int64(b)
		if [...]bool{x == y, x >= y, x > y, x <= y, x < y, x != y}[op-opEq] {
			v = 1
		}
	}
	return m.push(v)
}

// jump executes a branch.
func (m *machine) jump(op byte) bool {
	by := int(int16(m.c.U16()))
	if op == opBra && m.pop() == 0 {
		return true
	}
	if to := m.c.Pos + by; to >= 0 && to <= len(m.c.Data) {
		m.c.Pos = to
		return true
	}
	return m.fail(missingPlace)
}

// load replaces an address on the stack by the memory there.
func (m *machine) load(size uint64) bool {
	at := m.pop()
	b := make([]byte, 8)
	switch {
	case size == 0 || size > 8 || m.read == nil:
		return m.fail(missingPlace)
	case m.read(at, b[:size]) != nil:
		return m.fail(missingMemory)
	}
	return m.push(binary.LittleEndian.Uint64(b))
}

// entryValue pushes the value that a register had when the function was called, by the caller's debug information.
func (m *machine) entryValue(expr []byte) bool {
	if m.entry == nil || len(expr) == 0 {
		return m.fail(missingOptimized)
	}
	c := binread.Cursor{Data: expr[1:]}
	n := int(expr[0]) - opReg0
	if expr[0] == opRegx {
		n = int(c.Uleb() & maxRegister)
	}
	if n < 0 || c.Bad || c.Pos != len(c.Data) || expr[0] >= opReg0+registers && expr[0] != opRegx {
		return m.fail(missingOptimized)
	}
	v, ok := m.entry(n)
	if !ok {
		return m.fail(missingOptimized)
	}
	return m.push(v)
}
