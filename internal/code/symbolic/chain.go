package symbolic

import "github.com/ompd-inspect/ompd-inspect/internal/code/lift"

// RootKind is the kind of a Root.
type RootKind uint8

// The kinds of roots.
const (
	RootGlobal  RootKind = iota // a variable at Root.Address
	RootTLS                     // the thread pointer: offsets are relative to it (local-exec)
	RootTLSSlot                 // the thread pointer plus the word at Root.Address, or plus the descriptor's offset
	RootTLSVar                  // the thread-local variable with its module and offset words at Root.Address
	RootArg                     // integer argument number Root.Arg
	RootCall                    // the result of Root.Call
)

// Root is the start of a pointer chain.
type Root struct {
	Kind    RootKind
	Address uint64
	Arg     int
	Call    *Call
}

// Step is one dereference: it reads Size bytes at Offset from the current address of the chain, sign-extended if
// Signed. Index is a variable part of the address, such as an array index; nil if there is no such part.
type Step struct {
	Offset uint64
	Size   uint8
	Signed bool
	Index  *Expr
}

// IsPointer reports whether the step reads a pointer at the current address itself.
func (s Step) IsPointer() bool { return s.Offset == 0 && s.Size == 8 && s.Index == nil }

// Chain is a value as written by the programmer: root->field->field.
type Chain struct {
	Root  Root
	Steps []Step // at least one
	// Mask contains the relevant bits of the last load; 0 if all are relevant.
	Mask uint64
}

// Last returns the last step, which reads the value itself.
func (c Chain) Last() Step { return c.Steps[len(c.Steps)-1] }

// Chain returns e as a pointer chain that ends in a load, if it is one. Extensions, masks, right shifts and
// comparisons with 0 around the last load are ignored, except that they determine its relevant bits.
func (e *Expr) Chain() (Chain, bool) {
	e, _, mask := e.core()
	if e.Kind != KindLoad {
		return Chain{}, false
	}
	c, ok := e.pointers()
	if mask &= lift.Width(e.Size); mask != lift.Width(e.Size) {
		c.Mask = mask
	}
	return c, ok
}

// core returns the load within e, the number of bits by which e is shifted relative to it, and the bits of the
// load that e depends on.
func (e *Expr) core() (inner *Expr, shift, mask uint64) {
	switch {
	case e.Kind == KindExtend:
		inner, shift, mask = e.A.core()
		return inner, shift, mask & (lift.Width(e.Size) << (shift & 63))
	case e.Kind == kindCompare && e.B.IsConst(0):
		return e.A.core()
	case e.isBinary(lift.OpAnd) && e.B.Kind == KindConst:
		inner, shift, mask = e.A.core()
		return inner, shift, mask & (e.B.Val << (shift & 63))
	case e.isBinary(lift.OpShr) && e.B.Kind == KindConst:
		inner, shift, mask = e.A.core()
		shift += e.B.Val
		return inner, shift, mask & (^uint64(0) << (shift & 63))
	}
	return e, 0, ^uint64(0)
}

// pointers splits a load into a root and steps.
func (e *Expr) pointers() (Chain, bool) {
	var c Chain
	step := Step{Size: e.Size, Signed: e.Signed}
	terms, offset := e.A.terms(nil)
	step.Offset = offset
	i := baseOf(terms)
	if i < 0 {
		return c, false
	}
	base := terms[i]
	rest := append(terms[:i:i], terms[i+1:]...)
	if base.Kind == KindLoad {
		inner, ok := base.pointers()
		if !ok {
			return c, false
		}
		c = inner
	} else {
		c.Root, rest = rootOf(base, rest)
	}
	for _, t := range rest {
		if step.Index != nil {
			t = Add(step.Index, t)
		}
		step.Index = t
	}
	c.Steps = append(c.Steps, step)
	return c, true
}

// terms splits a sum into its variable terms and its constant.
func (e *Expr) terms(list []*Expr) ([]*Expr, uint64) {
	switch {
	case e.Kind == KindConst:
		return list, e.Val
	case e.isBinary(lift.OpAdd):
		list, ca := e.A.terms(list)
		list, cb := e.B.terms(list)
		return list, ca + cb
	}
	return append(list, e), 0
}

// PointerFrom returns the address of the word from which the pointer in e was loaded, if e is an address at a distance
// from a pointer. It is not ok if another part of e may be the pointer.
func (e *Expr) PointerFrom() (from *Expr, ok bool) {
	terms, _ := e.terms(nil)
	for _, t := range terms {
		switch {
		case t.Kind == KindExtend, t.isBinary(lift.OpMul), t.isBinary(lift.OpShl), t.Kind == KindLoad && t.Size < 8:
			// an index
		case t.Kind == KindLoad && from == nil:
			from = t.A
		default:
			return nil, false
		}
	}
	return from, from != nil
}

// baseOf returns the index of the term that is the pointer, or -1. A loaded word that is added to the thread
// pointer or a global is an offset, not a pointer.
func baseOf(terms []*Expr) int {
	best := -1
	for i, t := range terms {
		switch t.Kind {
		case KindGlobal, KindTLSBase, KindTLSVar:
			return i
		case KindArg, KindCall:
			if best < 0 {
				best = i
			}
		case KindLoad:
			if t.Size == 8 && (best < 0 || terms[best].Kind != KindLoad) {
				best = i
			}
		}
	}
	return best
}

// rootOf returns the root for a term, and the remaining terms.
func rootOf(base *Expr, rest []*Expr) (Root, []*Expr) {
	switch base.Kind {
	case KindTLSVar:
		return Root{Kind: RootTLSVar, Address: base.Val}, rest
	case KindArg:
		return Root{Kind: RootArg, Arg: int(base.Val)}, rest
	case KindCall:
		return Root{Kind: RootCall, Call: base.Callee}, rest
	case KindGlobal:
		return Root{Kind: RootGlobal, Address: base.Val}, rest
	}
	for i, t := range rest {
		slot := t.Val
		if t.Kind == KindLoad && t.Size == 8 && t.A.Kind == KindGlobal {
			slot = t.A.Val
		} else if t.Kind != KindTLSDesc {
			continue
		}
		return Root{Kind: RootTLSSlot, Address: slot}, append(rest[:i:i], rest[i+1:]...)
	}
	return Root{Kind: RootTLS}, rest
}

// Cell returns the cell that the store writes, as the load that would read it.
func (s Store) Cell() *Expr { return Load(s.Address, s.Size, false) }

// OfArg reports whether e depends on exactly one argument and constants, and returns the argument's number.
func (e *Expr) OfArg() (arg int, ok bool) {
	arg = -1
	ok = e.onlyArg(&arg) && arg >= 0
	return arg, ok
}

// onlyArg collects the arguments in e; false if there are several, or other parts.
func (e *Expr) onlyArg(arg *int) bool {
	switch e.Kind {
	case KindConst:
		return true
	case KindArg:
		same := *arg < 0 || *arg == int(e.Val)
		*arg = int(e.Val)
		return same
	case KindExtend:
		return e.A.onlyArg(arg)
	case KindBinary:
		return e.A.onlyArg(arg) && e.B.onlyArg(arg)
	}
	return false
}
