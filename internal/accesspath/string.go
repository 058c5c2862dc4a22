package accesspath

import (
	"fmt"
	"strings"
)

// The operators in the text of an expression, by operator.
var operatorNames = [...]string{"+", "-", "*", "&", "|", "^", "<<", ">>", ">>>"}

// String is the expression in one canonical form: a load is "load4(address)",
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
	switch e.kind {
	case kindUnknown:
		b.WriteString("unknown")
	case kindConst:
		fmt.Fprintf(b, "%d", int64(e.val))
	case kindGlobal:
		fmt.Fprintf(b, "global %#x", e.val)
	case kindTLSBase:
		b.WriteString("tp")
	case kindTLSVar:
		fmt.Fprintf(b, "tls %#x", e.val)
	case kindTLSDesc:
		fmt.Fprintf(b, "tlsdesc %#x", e.val)
	case kindArg:
		fmt.Fprintf(b, "arg%d", e.val)
	case kindStack:
		fmt.Fprintf(b, "stack%+d", int64(e.val))
	case kindLoad:
		e.wrap(b, "load")
	case kindExtend:
		e.wrap(b, "ext")
	case kindBinary:
		e.writeBinary(b)
	case kindCompare:
		e.writeOperands(b, " "+e.cond.String()+" ")
	case kindCall:
		b.WriteString("call " + e.callee.String())
	}
}

// wrap writes a load or an extension: "load4s(…)".
func (e *Expr) wrap(b *strings.Builder, name string) {
	fmt.Fprintf(b, "%s%d", name, e.size)
	if e.signed {
		b.WriteByte('s')
	}
	b.WriteByte('(')
	e.a.write(b)
	b.WriteByte(')')
}

func (e *Expr) writeBinary(b *strings.Builder) {
	switch {
	case e.op == opAdd && e.b.kind == kindConst && int64(e.b.val) < 0:
		e.a.write(b)
		fmt.Fprintf(b, "%d", int64(e.b.val))
	case e.op == opAdd:
		e.a.write(b)
		b.WriteByte('+')
		e.b.write(b)
	case e.op == opMul && e.a.kind != kindBinary:
		e.a.write(b)
		b.WriteByte('*')
		e.b.write(b)
	case e.op == opAnd && e.b.kind == kindConst:
		b.WriteByte('(')
		e.a.write(b)
		fmt.Fprintf(b, "&%#x)", e.b.val)
	default:
		e.writeOperands(b, operatorNames[e.op])
	}
}

func (e *Expr) writeOperands(b *strings.Builder, between string) {
	b.WriteByte('(')
	e.a.write(b)
	b.WriteString(between)
	e.b.write(b)
	b.WriteByte(')')
}

// String is "a == b".
func (c Cond) String() string {
	if c.Op == CondUnknown {
		return "unknown"
	}
	return fmt.Sprintf("%v %v %v", c.A, c.Op, c.B)
}

// String is the target's name and what is known of its address: "name()",
// "0x39360()", or "*0x121fe8()" through a pointer.
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

// String is "*(address) = value".
func (s Store) String() string { return fmt.Sprintf("*%d(%v) = %v", s.Size, s.Address, s.Value) }

// String is how the path ended, in a word or two.
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
