package symbolic

import "github.com/ompd-inspect/ompd-inspect/internal/code/lift"

// narrowDivisions are the unsigned operators that give the result of a division if both sides are less than 1<<32.
var narrowDivisions = map[lift.Operator]lift.Operator{
	lift.OpDiv: lift.OpUdiv, lift.OpUdiv: lift.OpUdiv, lift.OpRem: lift.OpUrem, lift.OpUrem: lift.OpUrem,
}

// Divides reports whether an expression is the result of a division, or its low bytes.
func Divides(e *Expr) bool {
	if e != nil && e.Kind == KindExtend {
		e = e.A
	}
	return e != nil && e.Kind == KindBinary && narrowDivisions[e.Op] != 0
}

// IsBypassed reports whether narrow is the same division as wide, of the low 4 bytes of both sides, made only if c
// holds, which proves that the other bytes are 0. Clang replaces divisions of 8 bytes by such a pair, since processors
// divide 4 bytes in less time.
func IsBypassed(wide, narrow *Expr, c Cond) bool {
	if wide == nil || narrow == nil || wide.Kind != KindBinary {
		return false
	}
	op, divides := narrowDivisions[wide.Op]
	if !divides || c.Op != lift.EQ || c.A == nil || !c.B.IsConst(0) {
		return false
	}
	a, b := wide.A, wide.B
	high := func(x, y *Expr) *Expr { return binary(lift.OpShr, binary(lift.OpOr, x, y), Constant(32)) }
	if !c.A.Equal(high(a, b)) && !c.A.Equal(high(b, a)) {
		return false
	}
	low := binary(op, Extend(a, 4, false), Extend(b, 4, false))
	return narrow.Equal(low) || narrow.Equal(Extend(low, 4, false))
}
