package accesspath

// CondOp is a comparison of two words.
type CondOp uint8

// The comparisons. The U forms compare unsigned, the others signed.
const (
	CondUnknown CondOp = iota // a condition that the executor does not follow
	EQ
	NE
	LT
	GE
	LE
	GT
	ULT
	UGE
	ULE
	UGT
)

var condNames = [...]string{"unknown", "==", "!=", "<", ">=", "<=", ">", "<u", ">=u", "<=u", ">u"}

// String is the operator as in C, with a "u" for an unsigned comparison.
func (o CondOp) String() string {
	if int(o) < len(condNames) {
		return condNames[o]
	}
	return condNames[CondUnknown]
}

// negate is the comparison that holds when o does not.
func (o CondOp) negate() CondOp {
	switch {
	case o == CondUnknown:
		return o
	case (o-EQ)%2 == 0:
		return o + 1
	}
	return o - 1
}

// holds tells whether a o b.
func (o CondOp) holds(a, b uint64) bool {
	switch o {
	case EQ:
		return a == b
	case NE:
		return a != b
	case LT:
		return int64(a) < int64(b)
	case GE:
		return int64(a) >= int64(b)
	case LE:
		return int64(a) <= int64(b)
	case GT:
		return int64(a) > int64(b)
	case ULT:
		return a < b
	case UGE:
		return a >= b
	case ULE:
		return a <= b
	case UGT:
		return a > b
	}
	return false
}

// signed tells whether the operands of o are compared as signed numbers.
func (o CondOp) signed() bool { return o >= LT && o <= GT }

// Cond is a condition on a path: A Op B holds. A and B are nil if the condition
// is not followed.
type Cond struct {
	Op   CondOp
	A, B *Expr
}

// negate is the condition of the other side of the branch.
func (c Cond) negate() Cond { return Cond{c.Op.negate(), c.A, c.B} }

// decided tells whether c is the same for every state, and which.
func (c Cond) decided() (value, ok bool) {
	switch {
	case c.Op == CondUnknown:
		return false, false
	case c.A.kind == kindConst && c.B.kind == kindConst:
		return c.Op.holds(c.A.val, c.B.val), true
	case c.A.Equal(c.B):
		return c.Op.holds(0, 0), true
	case c.B.isConst(0) && (c.Op == ULT || c.Op == UGE):
		return c.Op == UGE, true
	}
	return false, false
}

// equal tells whether c and d are the same condition.
func (c Cond) equal(d Cond) bool {
	return c.Op == d.Op && c.Op != CondUnknown && c.A.Equal(d.A) && c.B.Equal(d.B)
}

// compare is the expression that is 1 if c holds and 0 if not.
func compare(c Cond) *Expr {
	if v, ok := c.decided(); ok {
		if v {
			return constant(1)
		}
		return constant(0)
	}
	if c.Op == CondUnknown {
		return leaf(kindUnknown, 0)
	}
	return node(Expr{kind: kindCompare, cond: c.Op, a: c.A, b: c.B})
}

// mirrored gives the comparison that holds for (b, a) when the index holds for
// (a, b).
var mirrored = [...]CondOp{CondUnknown, EQ, NE, GT, LE, GE, LT, UGT, ULE, UGE, ULT}

// canonical puts a constant on the right, and turns the comparison of a truth
// value with zero into the comparison that made the truth value.
func canonical(c Cond) Cond {
	if c.A.kind == kindConst && c.B.kind != kindConst {
		c = Cond{mirrored[c.Op], c.B, c.A}
	}
	if c.A.kind != kindCompare || !c.B.isConst(0) || (c.Op != EQ && c.Op != NE) {
		return c
	}
	inner := Cond{c.A.cond, c.A.a, c.A.b}
	if c.Op == EQ {
		return inner.negate()
	}
	return inner
}
