package symbolic

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// operatorNames are the operators in the text of an expression.
var operatorNames = [...]string{"+", "-", "*", "&", "|", "^", "<<", ">>", ">>>", "/", "%", "/u ", "%u "}

// String returns the expression in one canonical form: a load is "load4(address)",
// "load4s" if it sign-extends; numbers are decimal, except addresses and masks.
func (e *Expr) String() string {
	var b strings.Builder
	e.write(&b)
	return b.String()
}

func (e *Expr) write(b *strings.Builder) {
	if e == nil {
		b.WriteString("nothing")
		return
	}
	switch e.Kind {
	case KindUnknown:
		b.WriteString("unknown")
	case KindConst:
		fmt.Fprintf(b, "%d", int64(e.Val))
	case KindGlobal:
		fmt.Fprintf(b, "global %#x", e.Val)
	case KindTLSBase:
		b.WriteString("tp")
	case KindTLSVar:
		fmt.Fprintf(b, "tls %#x", e.Val)
	case KindTLSDesc:
		fmt.Fprintf(b, "tlsdesc %#x", e.Val)
	case KindArg:
		fmt.Fprintf(b, "arg%d", e.Val)
	case KindStack:
		fmt.Fprintf(b, "stack%+d", int64(e.Val))
	case KindLoad:
		e.wrap(b, "load")
	case KindExtend:
		e.wrap(b, "ext")
	case KindBinary:
		e.writeBinary(b)
	case kindCompare:
		e.writeOperands(b, " "+e.cond.String()+" ")
	case KindCall:
		b.WriteString("call " + e.Callee.String())
	}
}

// wrap writes a load or an extension: "load4s(…)".
func (e *Expr) wrap(b *strings.Builder, name string) {
	fmt.Fprintf(b, "%s%d", name, e.Size)
	if e.Signed {
		b.WriteByte('s')
	}
	b.WriteByte('(')
	e.A.write(b)
	b.WriteByte(')')
}

func (e *Expr) writeBinary(b *strings.Builder) {
	switch {
	case e.Op == lift.OpAdd && e.B.Kind == KindConst && int64(e.B.Val) < 0:
		e.A.write(b)
		fmt.Fprintf(b, "%d", int64(e.B.Val))
	case e.Op == lift.OpAdd:
		e.A.write(b)
		b.WriteByte('+')
		e.B.write(b)
	case e.Op == lift.OpMul && e.A.Kind != KindBinary:
		e.A.write(b)
		b.WriteByte('*')
		e.B.write(b)
	case e.Op == lift.OpAnd && e.B.Kind == KindConst:
		b.WriteByte('(')
		e.A.write(b)
		fmt.Fprintf(b, "&%#x)", e.B.Val)
	default:
		e.writeOperands(b, operatorNames[e.Op])
	}
}

func (e *Expr) writeOperands(b *strings.Builder, between string) {
	b.WriteByte('(')
	e.A.write(b)
	b.WriteString(between)
	e.B.write(b)
	b.WriteByte(')')
}

// String returns the condition as "a == b".
func (c Cond) String() string {
	if c.Op == lift.CondUnknown {
		return "unknown"
	}
	return fmt.Sprintf("%v %v %v", c.A, c.Op, c.B)
}

// String returns the target's name or the known part of its address: "name()", "0x39360()", or "*0x121fe8()"
// through a pointer.
func (t Target) String() string {
	switch {
	case t.Name != "":
		return t.Name + "()"
	case t.Entry != 0:
		return fmt.Sprintf("%#x()", t.Entry)
	case t.Slot != 0:
		return fmt.Sprintf("*%#x()", t.Slot)
	}
	return "unknown()"
}

// String returns the store as "*(address) = value".
func (s Store) String() string { return fmt.Sprintf("*%d(%v) = %v", s.Size, s.Address, s.Value) }

// String returns the end of the path in a word or two.
func (e End) String() string {
	switch e {
	case EndReturn:
		return "returned"
	case EndStop:
		return "does not return"
	case EndLoop:
		return "loops"
	case EndLimit:
		return "limit reached"
	}
	return "unknown code"
}
