package symbolic

import (
	"math/bits"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// kind is the form of an expression.
type kind uint8

const (
	KindUnknown kind = iota // a value that is not followed; Val distinguishes them
	KindConst               // the number Val
	KindGlobal              // the address Val in a module
	KindTLSBase             // the thread pointer
	KindTLSVar              // the address of the variable with its module and offset slots at Val
	KindTLSDesc             // the thread-pointer offset that the descriptor at Val resolves to
	KindArg                 // integer argument number Val
	KindStack               // the stack pointer at entry plus Val
	KindLoad                // the Size bytes at address A
	KindBinary              // A Op B, in 64 bits
	KindExtend              // the low Size bytes of A, extended to 64 bits
	kindCompare             // 1 if A cond B, otherwise 0
	KindCall                // the result of a call
)

// maxWeight bounds the nodes of one expression, counted as a tree. An accessor's longest access path has some
// forty. Code that repeatedly doubles a register would exceed any size.
const maxWeight = 192

// Expr is the value of a register or of a memory cell as a function of the machine's state at entry. It is
// immutable; parts are shared.
type Expr struct {
	Kind   kind
	Op     lift.Operator
	cond   lift.CondOp
	Signed bool
	Size   uint8 // bytes of a load or of an extension
	weight uint16
	Val    uint64
	A, B   *Expr
	Callee *Call
}

// Leaf returns an expression without parts.
func Leaf(k kind, val uint64) *Expr { return &Expr{Kind: k, Val: val, weight: 1} }

// Unknowns returns n unknown values, numbered from first.
func Unknowns(first uint64, n int) []Expr {
	out := make([]Expr, n)
	for i := range out {
		out[i] = Expr{Kind: KindUnknown, Val: first + uint64(i), weight: 1}
	}
	return out
}

// Constant returns the number v.
func Constant(v uint64) *Expr { return Leaf(KindConst, v) }

// Global returns the address a in the module.
func Global(a uint64) *Expr { return Leaf(KindGlobal, a) }

// node returns an inner node, or an unknown value if the tree would be too large.
func node(e Expr) *Expr {
	w := 1 + int(e.A.weight)
	if e.B != nil {
		w += int(e.B.weight)
	}
	if w > maxWeight {
		return Leaf(KindUnknown, 0)
	}
	e.weight = uint16(w)
	return &e
}

// IsConst reports whether e is the number v.
func (e *Expr) IsConst(v uint64) bool { return e.Kind == KindConst && e.Val == v }

// IsGlobal reports whether e is the address a.
func (e *Expr) IsGlobal(a uint64) bool { return e.Kind == KindGlobal && e.Val == a }

func (e *Expr) isBinary(op lift.Operator) bool { return e.Kind == KindBinary && e.Op == op }

// offset splits e into a base and a constant offset; the base of a constant is nil.
func (e *Expr) offset() (base *Expr, distance uint64) {
	switch {
	case e.Kind == KindConst:
		return nil, e.Val
	case e.isBinary(lift.OpAdd) && e.B.Kind == KindConst:
		return e.A, e.B.Val
	}
	return e, 0
}

// Equal reports whether two expressions have the same form. An unknown value equals only itself.
func (e *Expr) Equal(f *Expr) bool {
	if e == f {
		return true
	}
	if e == nil || f == nil || e.Kind == KindUnknown || e.Kind != f.Kind || e.Op != f.Op || e.cond != f.cond ||
		e.Signed != f.Signed || e.Size != f.Size || e.Val != f.Val || e.weight != f.weight {
		return false
	}
	if e.Kind == KindCall {
		return e.Callee.Target == f.Callee.Target
	}
	return e.A.Equal(f.A) && e.B.Equal(f.B)
}

// binary returns a op b in 64 bits, simplified.
func binary(op lift.Operator, a, b *Expr) *Expr {
	if a.Kind == KindConst && b.Kind == KindConst {
		return Constant(lift.Compute(op, a.Val, b.Val))
	}
	switch op {
	case lift.OpAdd:
		return Add(a, b)
	case lift.OpSub:
		return sub(a, b)
	case lift.OpShl:
		if b.Kind == KindConst && b.Val < 64 {
			return binary(lift.OpMul, a, Constant(1<<b.Val))
		}
	case lift.OpMul, lift.OpAnd, lift.OpOr, lift.OpXor:
		if a.Kind == KindConst {
			a, b = b, a
		}
	}
	if e := identity(op, a, b); e != nil {
		return e
	}
	if op == lift.OpAnd && b.Kind != KindConst {
		a, b = lowPart(a, bytesOf(b.bits())), lowPart(b, bytesOf(a.bits()))
	}
	return node(Expr{Kind: KindBinary, Op: op, A: a, B: b})
}

// identity returns the result of an operation that is trivial because of its second operand, or nil.
func identity(op lift.Operator, a, b *Expr) *Expr {
	switch {
	case op == lift.OpXor && a == b:
		return Constant(0)
	case (op == lift.OpAnd || op == lift.OpOr) && a == b:
		return a
	case b.Kind != KindConst || op >= lift.OpDiv:
		return nil
	case op == lift.OpAnd:
		return mask(a, b.Val)
	case op == lift.OpOr && b.Val == ^uint64(0):
		return b
	case b.Val == 0 && op == lift.OpMul:
		return b
	case b.Val == 0, b.Val == 1 && op == lift.OpMul:
		return a
	case op == lift.OpMul && a.isBinary(lift.OpMul) && a.B.Kind == KindConst:
		return binary(lift.OpMul, a.A, Constant(a.B.Val*b.Val))
	}
	return nil
}

// mask returns the simplified a & m, or nil if it cannot be simplified.
func mask(a *Expr, m uint64) *Expr {
	switch {
	case m == 0:
		return Constant(0)
	case m == ^uint64(0):
		return a
	case m == lift.Width(4):
		return Extend(a, 4, false)
	case a.Kind == KindStack:
		if v, ok := realign(a.Val, m); ok {
			return Leaf(KindStack, v)
		}
		return nil
	case a.bits()&^m == 0:
		return a
	case m&^a.bits() != 0:
		return binary(lift.OpAnd, a, Constant(m&a.bits()))
	case a.isBinary(lift.OpAnd) && a.B.Kind == KindConst:
		return binary(lift.OpAnd, a.A, Constant(a.B.Val&m))
	}
	if low := lowPart(a, bytesOf(m)); low != a {
		return binary(lift.OpAnd, low, Constant(m))
	}
	return nil
}

// bits returns a set that contains all bits that may be set in e.
func (e *Expr) bits() uint64 {
	switch {
	case e.Kind == KindConst:
		return e.Val
	case (e.Kind == KindLoad || e.Kind == KindExtend) && !e.Signed:
		return lift.Width(e.Size)
	case e.Kind == kindCompare:
		return 1
	case e.isBinary(lift.OpAnd):
		return e.A.bits() & e.B.bits()
	case e.isBinary(lift.OpXor), e.isBinary(lift.OpOr):
		return e.A.bits() | e.B.bits()
	}
	return ^uint64(0)
}

// bytesOf returns the number of low bytes that contain all bits of a set.
func bytesOf(set uint64) uint8 { return uint8(bits.Len64(set)+7) / 8 }

// Add returns a + b as (variable terms) + constant, with addresses folded.
func Add(a, b *Expr) *Expr {
	a, ca := a.offset()
	b, cb := b.offset()
	c := ca + cb
	switch {
	case a == nil && b == nil:
		return Constant(c)
	case a == nil:
		a = b
	case b == nil:
	case rank(b) < rank(a):
		a = node(Expr{Kind: KindBinary, Op: lift.OpAdd, A: b, B: a})
	default:
		a = node(Expr{Kind: KindBinary, Op: lift.OpAdd, A: a, B: b})
	}
	switch {
	case c == 0:
		return a
	case a.Kind == KindGlobal, a.Kind == KindStack:
		return Leaf(a.Kind, a.Val+c)
	}
	return node(Expr{Kind: KindBinary, Op: lift.OpAdd, A: a, B: Constant(c)})
}

// rank orders the terms of a sum: the likely base is first.
func rank(e *Expr) int {
	switch e.Kind {
	case KindGlobal, KindStack, KindTLSBase, KindTLSVar, KindArg:
		return 0
	case KindLoad:
		if e.Size == 8 {
			return 1
		}
	}
	return 2
}

func sub(a, b *Expr) *Expr {
	switch {
	case b.Kind == KindConst:
		return Add(a, Constant(-b.Val))
	case a.Kind == b.Kind && (a.Kind == KindGlobal || a.Kind == KindStack):
		return Constant(a.Val - b.Val)
	case a.Equal(b):
		return Constant(0)
	}
	return node(Expr{Kind: KindBinary, Op: lift.OpSub, A: a, B: b})
}

// Extend returns the low size bytes of a, zero- or sign-extended.
func Extend(a *Expr, size uint8, signed bool) *Expr {
	if size >= 8 {
		return a
	}
	switch a.Kind {
	case KindConst:
		return Constant(lift.ExtendWord(a.Val, size, signed))
	case KindLoad:
		if a.Size >= size { // little-endian: the low bytes are at the same address
			return Load(a.A, size, signed)
		}
	case KindExtend:
		if a.Size >= size {
			return Extend(a.A, size, signed)
		}
	case KindBinary:
		if a = lowPart(a, size); a.Kind != KindBinary {
			return Extend(a, size, signed)
		}
	}
	if !signed && a.bits()&^lift.Width(size) == 0 {
		return a
	}
	if signed && a.bits()&^(lift.Width(size)>>1) == 0 {
		return a
	}
	return node(Expr{Kind: KindExtend, Size: size, Signed: signed, A: a})
}

// lowPart returns a simpler expression with the same low size bytes as a, or a. It drops parts that affect only
// the upper bits, such as the rest of a register after a write of one byte.
func lowPart(a *Expr, size uint8) *Expr {
	switch {
	case a.Kind == KindExtend && a.Size >= size:
		return lowPart(a.A, size)
	case a.Kind != KindBinary || !a.Op.LowBytes():
		return a
	case a.Op == lift.OpAnd && a.B.Kind == KindConst && a.B.Val&lift.Width(size) == lift.Width(size):
		return lowPart(a.A, size)
	case a.Op == lift.OpAnd && a.B.Kind == KindConst && a.B.Val&lift.Width(size) == 0:
		return Constant(0)
	}
	x, y := lowPart(a.A, size), a.B
	if y.Kind != KindConst {
		y = lowPart(y, size)
	} else if v := lift.ExtendWord(y.Val, size, true); a.Op == lift.OpAdd && v != y.Val {
		y = Constant(v)
	}
	if x == a.A && y == a.B {
		return a
	}
	return binary(a.Op, x, y)
}

// Load returns the memory content at addr. The word at the thread pointer is the thread pointer itself on
// processors without an instruction to read it.
func Load(addr *Expr, size uint8, signed bool) *Expr {
	switch {
	case addr.Kind == KindTLSBase && size == 8:
		return addr
	case addr.Kind == KindConst:
		addr = Global(addr.Val)
	}
	return node(Expr{Kind: KindLoad, A: addr, Size: size, Signed: signed && size < 8})
}

// Contains reports whether part is a part of e.
func (e *Expr) Contains(part *Expr) bool {
	return e != nil && e.weight >= part.weight && (e.Equal(part) || e.A.Contains(part) || e.B.Contains(part))
}

// Substitute returns e with one part replaced.
func (e *Expr) Substitute(part, by *Expr) *Expr {
	switch {
	case !e.Contains(part):
		return e
	case e.Equal(part):
		return by
	}
	a := e.A.Substitute(part, by)
	switch e.Kind {
	case KindLoad:
		return Load(a, e.Size, e.Signed)
	case KindExtend:
		return Extend(a, e.Size, e.Signed)
	}
	b := e.B.Substitute(part, by)
	if e.Kind == kindCompare {
		return Compare(Cond{e.cond, a, b})
	}
	return binary(e.Op, a, b)
}
