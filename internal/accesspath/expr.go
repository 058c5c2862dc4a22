package accesspath

import "math/bits"

// kind tells the forms of an expression apart.
type kind uint8

const (
	kindUnknown kind = iota // a value that the executor does not follow; val tells two of them apart
	kindConst               // val
	kindGlobal              // the address val in a module
	kindTLSBase             // the thread pointer
	kindTLSVar              // the address of the variable whose module and offset slots lie at val
	kindTLSDesc             // the thread-pointer offset that the descriptor at val resolves to
	kindArg                 // the val-th integer argument
	kindStack               // the stack pointer at entry plus val
	kindLoad                // the size bytes at address a
	kindBinary              // a op b, in 64 bits
	kindExtend              // the low size bytes of a, extended to 64 bits
	kindCompare             // 1 if a cond b, else 0
	kindCall                // what a call returned
)

// operator is a two-operand operation on 64-bit words.
type operator uint8

const (
	opAdd operator = iota
	opSub
	opMul
	opAnd
	opOr
	opXor
	opShl
	opShr
	opSar
)

// maxWeight bounds the nodes of one expression, counted as a tree. An accessor's
// longest access path has some forty; code that doubles a register in a chain
// would grow without it.
const maxWeight = 192

// Expr is the value of a register or of a memory cell as a function of the
// machine's state at entry. It is immutable; parts are shared.
type Expr struct {
	kind   kind
	op     operator
	cond   CondOp
	signed bool
	size   uint8 // bytes of a load or of an extension
	weight uint16
	val    uint64
	a, b   *Expr
	callee *Call
}

func leaf(k kind, val uint64) *Expr { return &Expr{kind: k, val: val, weight: 1} }

func constant(v uint64) *Expr { return leaf(kindConst, v) }
func global(a uint64) *Expr   { return leaf(kindGlobal, a) }

// node builds an inner node, or an unknown value if the tree would be too big.
func node(e Expr) *Expr {
	w := 1 + int(e.a.weight)
	if e.b != nil {
		w += int(e.b.weight)
	}
	if w > maxWeight {
		return leaf(kindUnknown, 0)
	}
	e.weight = uint16(w)
	return &e
}

func (e *Expr) isConst(v uint64) bool { return e.kind == kindConst && e.val == v }

func (e *Expr) isBinary(op operator) bool { return e.kind == kindBinary && e.op == op }

// offset splits e in a base and a constant distance from it; the base of a
// constant is nil.
func (e *Expr) offset() (base *Expr, distance uint64) {
	switch {
	case e.kind == kindConst:
		return nil, e.val
	case e.isBinary(opAdd) && e.b.kind == kindConst:
		return e.a, e.b.val
	}
	return e, 0
}

// Equal tells whether two expressions have the same form. A value that the
// executor does not follow equals itself only.
func (e *Expr) Equal(f *Expr) bool {
	if e == f {
		return true
	}
	if e == nil || f == nil || e.kind == kindUnknown || e.kind != f.kind || e.op != f.op || e.cond != f.cond ||
		e.signed != f.signed || e.size != f.size || e.val != f.val || e.weight != f.weight {
		return false
	}
	if e.kind == kindCall {
		return e.callee.Target == f.callee.Target
	}
	return e.a.Equal(f.a) && e.b.Equal(f.b)
}

// binary is a op b in 64 bits, simplified.
func binary(op operator, a, b *Expr) *Expr {
	if a.kind == kindConst && b.kind == kindConst {
		return constant(compute(op, a.val, b.val))
	}
	switch op {
	case opAdd:
		return add(a, b)
	case opSub:
		return sub(a, b)
	case opShl:
		if b.kind == kindConst && b.val < 64 {
			return binary(opMul, a, constant(1<<b.val))
		}
	case opMul, opAnd, opOr, opXor:
		if a.kind == kindConst {
			a, b = b, a
		}
	}
	if e := identity(op, a, b); e != nil {
		return e
	}
	if op == opAnd && b.kind != kindConst {
		a, b = lowPart(a, bytesOf(b.bits())), lowPart(b, bytesOf(a.bits()))
	}
	return node(Expr{kind: kindBinary, op: op, a: a, b: b})
}

// identity is the result of an operation whose second operand makes it trivial,
// or nil.
func identity(op operator, a, b *Expr) *Expr {
	switch {
	case op == opXor && a == b:
		return constant(0)
	case (op == opAnd || op == opOr) && a == b:
		return a
	case b.kind != kindConst:
		return nil
	case op == opAnd:
		return mask(a, b.val)
	case op == opOr && b.val == ^uint64(0):
		return b
	case b.val == 0 && op == opMul:
		return b
	case b.val == 0, b.val == 1 && op == opMul:
		return a
	case op == opMul && a.isBinary(opMul) && a.b.kind == kindConst:
		return binary(opMul, a.a, constant(a.b.val*b.val))
	}
	return nil
}

// mask is the simplified a & m, or nil if there is nothing to simplify.
func mask(a *Expr, m uint64) *Expr {
	switch {
	case m == 0:
		return constant(0)
	case m == ^uint64(0):
		return a
	case m == width(4):
		return extend(a, 4, false)
	case a.bits()&^m == 0:
		return a
	case m&^a.bits() != 0:
		return binary(opAnd, a, constant(m&a.bits()))
	case a.isBinary(opAnd) && a.b.kind == kindConst:
		return binary(opAnd, a.a, constant(a.b.val&m))
	}
	if low := lowPart(a, bytesOf(m)); low != a {
		return binary(opAnd, low, constant(m))
	}
	return nil
}

// bits is a set of bits beyond which e has none.
func (e *Expr) bits() uint64 {
	switch {
	case e.kind == kindConst:
		return e.val
	case (e.kind == kindLoad || e.kind == kindExtend) && !e.signed:
		return width(e.size)
	case e.kind == kindCompare:
		return 1
	case e.isBinary(opAnd):
		return e.a.bits() & e.b.bits()
	}
	return ^uint64(0)
}

// bytesOf is how many bytes hold all bits of a set.
func bytesOf(set uint64) uint8 { return uint8(bits.Len64(set)+7) / 8 }

// width is the mask of the low n bytes.
func width(n uint8) uint64 {
	if n >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*n) - 1
}

// add keeps sums as (variable terms) + constant, with addresses folded.
func add(a, b *Expr) *Expr {
	a, ca := a.offset()
	b, cb := b.offset()
	c := ca + cb
	switch {
	case a == nil && b == nil:
		return constant(c)
	case a == nil:
		a = b
	case b == nil:
	case rank(b) < rank(a):
		a = node(Expr{kind: kindBinary, op: opAdd, a: b, b: a})
	default:
		a = node(Expr{kind: kindBinary, op: opAdd, a: a, b: b})
	}
	switch {
	case c == 0:
		return a
	case a.kind == kindGlobal, a.kind == kindStack:
		return leaf(a.kind, a.val+c)
	}
	return node(Expr{kind: kindBinary, op: opAdd, a: a, b: constant(c)})
}

// rank orders the terms of a sum: what is likely the base comes first.
func rank(e *Expr) int {
	switch e.kind {
	case kindGlobal, kindStack, kindTLSBase, kindTLSVar, kindArg:
		return 0
	case kindLoad:
		if e.size == 8 {
			return 1
		}
	}
	return 2
}

func sub(a, b *Expr) *Expr {
	switch {
	case b.kind == kindConst:
		return add(a, constant(-b.val))
	case a.kind == b.kind && (a.kind == kindGlobal || a.kind == kindStack):
		return constant(a.val - b.val)
	case a.Equal(b):
		return constant(0)
	}
	return node(Expr{kind: kindBinary, op: opSub, a: a, b: b})
}

// extend is the low size bytes of a, zero- or sign-extended.
func extend(a *Expr, size uint8, signed bool) *Expr {
	if size >= 8 {
		return a
	}
	switch a.kind {
	case kindConst:
		return constant(extendWord(a.val, size, signed))
	case kindLoad:
		if a.size >= size { // little-endian: the low bytes are at the same address
			return load(a.a, size, signed)
		}
	case kindExtend:
		if a.size >= size {
			return extend(a.a, size, signed)
		}
	case kindBinary:
		if a = lowPart(a, size); a.kind != kindBinary {
			return extend(a, size, signed)
		}
	}
	if !signed && a.bits()&^width(size) == 0 {
		return a
	}
	if signed && a.bits()&^(width(size)>>1) == 0 {
		return a
	}
	return node(Expr{kind: kindExtend, size: size, signed: signed, a: a})
}

// lowPart is a simpler expression with the same low size bytes as a, or a: what
// the operation's upper bits were made of, such as the rest of a register of
// which a byte was written, does not matter.
func lowPart(a *Expr, size uint8) *Expr {
	switch {
	case a.kind == kindExtend && a.size >= size:
		return lowPart(a.a, size)
	case a.kind != kindBinary || a.op == opShr || a.op == opSar || a.op == opShl:
		return a
	case a.op == opAnd && a.b.kind == kindConst && a.b.val&width(size) == width(size):
		return lowPart(a.a, size)
	case a.op == opAnd && a.b.kind == kindConst && a.b.val&width(size) == 0:
		return constant(0)
	}
	x, y := lowPart(a.a, size), a.b
	if y.kind != kindConst {
		y = lowPart(y, size)
	} else if v := extendWord(y.val, size, true); a.op == opAdd && v != y.val {
		y = constant(v)
	}
	if x == a.a && y == a.b {
		return a
	}
	return binary(a.op, x, y)
}

// load is the memory content at addr. The word at the thread pointer is the
// thread pointer itself where the processor has no instruction to read it.
func load(addr *Expr, size uint8, signed bool) *Expr {
	switch {
	case addr.kind == kindTLSBase && size == 8:
		return addr
	case addr.kind == kindConst:
		addr = global(addr.val)
	}
	return node(Expr{kind: kindLoad, a: addr, size: size, signed: signed && size < 8})
}

// compute does op on words.
func compute(op operator, a, b uint64) uint64 {
	switch op {
	case opAdd:
		return a + b
	case opSub:
		return a - b
	case opMul:
		return a * b
	case opAnd:
		return a & b
	case opOr:
		return a | b
	case opXor:
		return a ^ b
	case opShl:
		return a << (b & 63)
	case opShr:
		return a >> (b & 63)
	}
	return uint64(int64(a) >> (b & 63))
}

// extendWord is the low size bytes of v, zero- or sign-extended.
func extendWord(v uint64, size uint8, signed bool) uint64 {
	if size >= 8 {
		return v
	}
	v &= width(size)
	if signed && v>>(8*size-1) != 0 {
		v |= ^width(size)
	}
	return v
}
