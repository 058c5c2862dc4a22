package flow

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// ArrayPointer returns the only pointer in a sum of a pointer, constants, and one or more products with constants.
func ArrayPointer(e *symbolic.Expr) (pointer *symbolic.Expr, ok bool) {
	indexed := false
	for terms := []*symbolic.Expr{e}; len(terms) > 0; {
		e = terms[len(terms)-1]
		terms = terms[:len(terms)-1]
		switch {
		case e.Kind == symbolic.KindConst:
		case e.Kind == symbolic.KindBinary && e.Op == lift.OpAdd:
			terms = append(terms, e.A, e.B)
		case e.Kind == symbolic.KindBinary && (e.Op == lift.OpMul || e.Op == lift.OpShl) &&
			e.B.Kind == symbolic.KindConst && e.B.Val > 0:
			indexed = true
		case e.Kind == symbolic.KindLoad && e.Size == 8 && pointer == nil:
			pointer = e
		default:
			return nil, false
		}
	}
	return pointer, indexed && pointer != nil
}
