package accesspath

// OfArgs tells whether e is made of nothing but numbers, addresses, the function's
// arguments and memory that is found from these.
func (e *Expr) OfArgs() bool {
	switch {
	case e == nil:
		return true
	case e.kind == kindConst, e.kind == kindGlobal, e.kind == kindArg:
		return true
	case e.kind == kindLoad, e.kind == kindExtend, e.kind == kindBinary:
		return e.a.OfArgs() && e.b.OfArgs()
	}
	return false
}

// With is e, an expression of a function's arguments, with those of a call of it
// in their place. It is nil if the call has too few.
func (e *Expr) With(args []*Expr) *Expr {
	switch e.kind {
	case kindArg:
		if e.val < uint64(len(args)) {
			return args[e.val]
		}
		return nil
	case kindLoad:
		if a := e.a.With(args); a != nil {
			return load(a, e.size, e.signed)
		}
		return nil
	case kindExtend:
		if a := e.a.With(args); a != nil {
			return extend(a, e.size, e.signed)
		}
		return nil
	case kindBinary:
		a, b := e.a.With(args), e.b.With(args)
		if a == nil || b == nil {
			return nil
		}
		return binary(e.op, a, b)
	}
	return e
}

// Number is the number that e is, if it is one that does not depend on anything.
func (e *Expr) Number() (uint64, bool) { return e.val, e.kind == kindConst }

// Address is the address that e is, if it is one that does not depend on
// anything.
func (e *Expr) Address() (uint64, bool) {
	return e.val, e.kind == kindConst || e.kind == kindGlobal
}
