package flow

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// ArrayStart returns the start of an array from the address of an element: a sum of one or more products with
// constants, of constants, and of a pointer that is loaded from memory, or of the address of a variable. loaded reports
// that it is a pointer. An address contains the sum's constants, from which the compiler may have subtracted the lower
// bound of the index. stride is the smallest of the products' constants.
func ArrayStart(e *symbolic.Expr) (start *symbolic.Expr, stride uint64, loaded, ok bool) {
	offset := uint64(0)
	for terms := []*symbolic.Expr{e}; len(terms) > 0; {
		e = terms[len(terms)-1]
		terms = terms[:len(terms)-1]
		switch {
		case e.Kind == symbolic.KindConst:
			offset += e.Val
		case e.Kind == symbolic.KindBinary && e.Op == lift.OpAdd:
			terms = append(terms, e.A, e.B)
		case e.Kind == symbolic.KindBinary && (e.Op == lift.OpMul || e.Op == lift.OpShl) &&
			e.B.Kind == symbolic.KindConst && e.B.Val > 0:
			n := e.B.Val
			if e.Op == lift.OpShl {
				n = 1 << min(n, 63)
			}
			if stride == 0 || n < stride {
				stride = n
			}
		case start == nil && (e.Kind == symbolic.KindLoad && e.Size == 8 || e.Kind == symbolic.KindGlobal):
			start = e
		default:
			return nil, 0, false, false
		}
	}
	switch {
	case start == nil: // an executable at a fixed address
		start = symbolic.Global(offset)
	case start.Kind == symbolic.KindGlobal:
		start = symbolic.Global(start.Val + offset)
	}
	return start, stride, start.Kind == symbolic.KindLoad, stride > 0
}
