package symbolic

import "github.com/ompd-inspect/ompd-inspect/internal/code/lift"

// Cond is a condition on a path: A Op B holds. A and B are nil if the condition is not followed.
type Cond struct {
	Op   lift.CondOp
	A, B *Expr
}

// Negate returns the opposite condition.
func (c Cond) Negate() Cond { return Cond{c.Op.Negate(), c.A, c.B} }

// Decided reports whether c has the same value in every state, and returns that value.
func (c Cond) Decided() (value, ok bool) {
	switch {
	case c.Op == lift.CondUnknown:
		return false, false
	case c.A.Kind == KindConst && c.B.Kind == KindConst:
		return c.Op.Holds(c.A.Val, c.B.Val), true
	case c.A.Equal(c.B):
		return c.Op.Holds(0, 0), true
	case c.B.IsConst(0) && (c.Op == lift.ULT || c.Op == lift.UGE):
		return c.Op == lift.UGE, true
	}
	return false, false
}

// Equal reports whether c and d are the same condition.
func (c Cond) Equal(d Cond) bool {
	return c.Op == d.Op && c.Op != lift.CondUnknown && c.A.Equal(d.A) && c.B.Equal(d.B)
}

// Compare returns an expression that is 1 if c holds, otherwise 0.
func Compare(c Cond) *Expr {
	if v, ok := c.Decided(); ok {
		if v {
			return Constant(1)
		}
		return Constant(0)
	}
	if c.Op == lift.CondUnknown {
		return Leaf(KindUnknown, 0)
	}
	return node(Expr{Kind: kindCompare, cond: c.Op, A: c.A, B: c.B})
}

// Select returns a if a condition holds, otherwise b. The result is unknown if the condition is.
func Select(c Cond, a, b *Expr) *Expr {
	if a.Equal(b) {
		return a
	}
	return Add(b, binary(lift.OpMul, sub(a, b), Compare(c)))
}

// Holds returns the value of a comparison for given values of its sides; not ok if e is not a comparison.
func (e *Expr) Holds(a, b uint64) (value uint64, ok bool) {
	switch {
	case e.Kind != kindCompare:
		return 0, false
	case e.cond.Holds(a, b):
		return 1, true
	}
	return 0, true
}

// mirrored contains, by comparison, the equivalent comparison with the sides exchanged.
var mirrored = [...]lift.CondOp{
	lift.CondUnknown, lift.EQ, lift.NE, lift.GT, lift.LE, lift.GE, lift.LT, lift.UGT, lift.ULE, lift.UGE, lift.ULT,
}

// canonical puts a constant on the right. It replaces a comparison of a truth value, or of its opposite, with
// zero by the comparison that produced the truth value.
func canonical(c Cond) Cond {
	if c.A.Kind == KindConst && c.B.Kind != KindConst {
		c = Cond{mirrored[c.Op], c.B, c.A}
	}
	if c.A.isBinary(lift.OpXor) && c.A.B.IsConst(1) && c.A.A.bits() == 1 && c.B.IsConst(0) &&
		(c.Op == lift.EQ || c.Op == lift.NE) { // not
		return canonical(Cond{c.Op.Negate(), c.A.A, c.B})
	}
	if c.A.Kind != kindCompare || !c.B.IsConst(0) || (c.Op != lift.EQ && c.Op != lift.NE) {
		return c
	}
	inner := Cond{c.A.cond, c.A.A, c.A.B}
	if c.Op == lift.EQ {
		return inner.Negate()
	}
	return inner
}
