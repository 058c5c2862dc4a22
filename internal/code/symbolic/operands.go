package symbolic

import "github.com/ompd-inspect/ompd-inspect/internal/code/lift"

// OfArgs reports whether e consists only of numbers, addresses, the function's arguments and memory that is
// found from these.
func (e *Expr) OfArgs() bool {
	switch {
	case e == nil:
		return true
	case e.Kind == KindConst, e.Kind == KindGlobal, e.Kind == KindArg:
		return true
	case e.Kind == KindLoad, e.Kind == KindExtend, e.Kind == KindBinary:
		return e.A.OfArgs() && e.B.OfArgs()
	}
	return false
}

// WithArgs returns e, an expression over a function's arguments, with the arguments of a call in their place. It
// is nil if the call has too few.
func (e *Expr) WithArgs(args []*Expr) *Expr {
	switch e.Kind {
	case KindArg:
		if e.Val < uint64(len(args)) {
			return args[e.Val]
		}
		return nil
	case KindLoad:
		if a := e.A.WithArgs(args); a != nil {
			return Load(a, e.Size, e.Signed)
		}
		return nil
	case KindExtend:
		if a := e.A.WithArgs(args); a != nil {
			return Extend(a, e.Size, e.Signed)
		}
		return nil
	case KindBinary:
		a, b := e.A.WithArgs(args), e.B.WithArgs(args)
		if a == nil || b == nil {
			return nil
		}
		return binary(e.Op, a, b)
	}
	return e
}

// Number returns the value of e if it is a number.
func (e *Expr) Number() (uint64, bool) { return e.Val, e.Kind == KindConst }

// Address returns the value of e if it is a constant address.
func (e *Expr) Address() (uint64, bool) {
	return e.Val, e.Kind == KindConst || e.Kind == KindGlobal
}

// Nameless reports whether e has an unknown part without a name.
func (e *Expr) Nameless() bool {
	return e != nil && (e.Kind == KindUnknown && e.Val == 0 || e.A.Nameless() || e.B.Nameless())
}

// Loads reports whether e reads memory beyond the frame.
func (e *Expr) Loads() bool {
	return e != nil && (e.Kind == KindLoad || e.A.Loads() || e.B.Loads())
}

// Leaves returns the leaves of e.
func (e *Expr) Leaves() []*Expr {
	switch {
	case e == nil:
		return nil
	case e.A == nil:
		return []*Expr{e}
	}
	return append(e.A.Leaves(), e.B.Leaves()...)
}

// Covers reports whether a place of size bytes with the value v also contains e: if v is e, or if e is an
// extension of low bytes that v contains.
func (v *Expr) Covers(e *Expr, size uint8) bool {
	switch {
	case v == nil:
		return false
	case e.Kind == KindExtend && size >= e.Size:
		return lowPart(v, e.Size).Equal(lowPart(e.A, e.Size))
	}
	return size == 8 && v.Equal(e)
}

// Narrow returns the value of e if the place that covers it has the value v.
func (e *Expr) Narrow(v uint64) uint64 {
	if e.Kind == KindExtend {
		return lift.ExtendWord(v, e.Size, e.Signed)
	}
	return v
}
