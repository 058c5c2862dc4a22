package symbolize

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/scanner"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// Kinds of errors of expressions.
var (
	ErrSyntax     = errors.New("syntax error")
	ErrName       = errors.New("unknown name")
	ErrRange      = errors.New("out of range")
	ErrUnreadable = errors.New("unreadable memory")
	ErrType       = errors.New("wrong type")
)

// maxExpression bounds the length of an expression, and with it the depth of its parts.
const maxExpression = 1 << 10

// maxRequested bounds the elements of one request.
const maxRequested = 1000

// Request is an expression, and the elements of its value that are wanted: Count from number First on; Count 0 stands
// for the first 100.
type Request struct {
	Expression   string
	First, Count int
}

// Evaluate returns the value of an expression in a frame: names of variables of its function and of global variables,
// members, elements, pointers, casts to known types, sizeof, arithmetic and comparisons; object@n is the n objects from
// one on; in Fortran members by %, and elements by subscripts in parentheses. inlined selects the function: 0 is the
// real one, 1 the first one that is inlined there. Errors are ErrSyntax, ErrName, ErrRange, ErrUnreadable or ErrType.
func (s *Symbolizer) Evaluate(f Activation, inlined int, q Request, read func(addr uint64, p []byte) error) (
	v Value, err error) {
	expression := q.Expression
	if len(expression) > maxExpression {
		return v, fmt.Errorf("%w: longer than %d characters", ErrSyntax, maxExpression)
	}
	entry := s.entryOf(f, read)
	ev := &evaluation{names: map[string]*dwarf.Entry{}}
	l := s.walkLocals(f, (*module).variableInfo, func(l *locals) {
		l.visit = func(e *dwarf.Entry, in scope) {
			if name, _ := l.vs.nameAndType(e); in.inlined == inlined && name != "" {
				ev.names[l.types.fold(name)] = e // that of an inner block comes last
			}
		}
	})
	if l == nil {
		return v, fmt.Errorf("%w: there is no debug information for this code", ErrName)
	}
	failed := s.withModule(f.PC, func(m *module, _ uint64) (damaged error) {
		defer elfx.Recover("variables", &damaged)
		l.read, l.entry = read, entry
		ev.m, ev.l, ev.d = m, l, &decoder{types: l.types, read: read, in: l, left: maxValues,
			first: int64(max(q.First, 0)), most: int64(min(max(q.Count, 0), maxRequested))}
		v, err = ev.evaluate(expression)
		return nil
	})
	if failed != nil {
		return v, failed
	}
	return v, err
}

// fold returns a name as the language compares it.
func (ts types) fold(name string) string {
	if ts.lang.fortran {
		return strings.ToLower(name)
	}
	return name
}

// operand is a part of an expression: an object of the program, or a number.
type operand struct {
	typ     dwarf.Offset // of an object; 0 for a number
	at      place
	pointee dwarf.Offset // of an address that & made, or a cast to a pointer
	pointer bool
	real    bool
	integer int64
	float   float64
	count   int64 // of the objects of an artificial array (object@count); 0 for other operands
}

// evaluation evaluates one expression.
type evaluation struct {
	m     *module
	l     *locals
	d     *decoder
	names map[string]*dwarf.Entry
	scan  scanner.Scanner
	tok   rune
	text  string
}

// evaluate returns the value of an expression.
func (ev *evaluation) evaluate(expression string) (v Value, err error) {
	ev.scan.Init(strings.NewReader(expression))
	ev.scan.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats | scanner.ScanChars |
		scanner.ScanStrings
	ev.scan.Error = func(*scanner.Scanner, string) {}
	ev.next()
	x, err := ev.binary(0)
	if err != nil {
		return v, err
	}
	if ev.tok != scanner.EOF {
		return v, fmt.Errorf("%w at %q", ErrSyntax, ev.text)
	}
	v.Name = expression
	switch {
	case x.count > 0:
		size, _ := ev.d.sizeInBytes(x.typ)
		v.Type = ev.d.declare(x.typ, fmt.Sprintf("[%d]", x.count), 0)
		ev.d.fillElements(&v, sequence{typ: x.typ, count: x.count, name: indexed,
			at: func(i int64) (place, bool) { return x.at.advance(uint64(i) * size), true }}, 0, 0)
	case x.typ != 0:
		v.Type = ev.d.typeName(x.typ, 0)
		var first [1]byte
		if x.at.data == nil && ev.d.read(x.at.addr, first[:]) != nil {
			return v, fmt.Errorf("%w at %#x", ErrUnreadable, x.at.addr)
		}
		if ev.d.fill(&v, x.typ, x.at, 0, 0); v.Missing == missingMemory {
			return v, fmt.Errorf("%w at %#x", ErrUnreadable, x.at.addr)
		}
	case x.pointer:
		v.Type = ev.d.declare(x.pointee, "*", 0)
		v.Text = fmt.Sprintf("0x%x", uint64(x.integer))
	case x.real:
		v.Type, v.Text = "double", strconv.FormatFloat(x.float, 'g', -1, 64)
	default:
		v.Type, v.Text = "long", strconv.FormatInt(x.integer, 10)
	}
	return v, nil
}

// next reads the next word.
func (ev *evaluation) next() {
	ev.tok = ev.scan.Scan()
	ev.text = ev.scan.TokenText()
	pair := ""
	switch next := ev.scan.Peek(); {
	case ev.tok == '-' && next == '>', ev.tok == ':' && next == ':', ev.tok == '&' && next == '&',
		ev.tok == '|' && next == '|', strings.ContainsRune("=!<>", ev.tok) && next == '=',
		(ev.tok == '<' || ev.tok == '>') && next == ev.tok:
		pair = string(next)
		ev.scan.Next()
	}
	ev.text += pair
}

// accept reads a word if it is next.
func (ev *evaluation) accept(word string) bool {
	if ev.text != word || ev.tok == scanner.EOF {
		return false
	}
	ev.next()
	return true
}

// expect reads a word that must be next.
func (ev *evaluation) expect(word string) error {
	if !ev.accept(word) {
		return fmt.Errorf("%w: %q is expected, not %q", ErrSyntax, word, ev.text)
	}
	return nil
}

// levels are the operators with two operands by precedence, the loosest first.
var levels = [][]string{{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"<<", ">>"},
	{"+", "-"}, {"*", "/", "%"}, {"@"}}

// binary reads operands that operators of a level, or of those that bind tighter, join.
func (ev *evaluation) binary(level int) (operand, error) {
	if level == len(levels) {
		return ev.unary()
	}
	x, err := ev.binary(level + 1)
	for err == nil {
		op := ""
		for _, o := range levels[level] {
			if ev.text == o && ev.tok != scanner.EOF && !(o == "%" && ev.d.lang.fortran) {
				op = o
			}
		}
		if op == "" {
			return x, nil
		}
		ev.next()
		var y operand
		if y, err = ev.binary(level + 1); err == nil {
			x, err = ev.apply(op, x, y)
		}
	}
	return x, err
}

// apply returns the result of an operator.
func (ev *evaluation) apply(op string, x, y operand) (operand, error) {
	if op == "@" {
		return ev.repeat(x, y)
	}
	x, err := ev.load(x)
	if err != nil {
		return x, err
	}
	if y, err = ev.load(y); err != nil {
		return x, err
	}
	if x.pointer && !y.pointer && !y.real && (op == "+" || op == "-") {
		size, ok := ev.d.sizeInBytes(x.pointee)
		if !ok {
			return x, fmt.Errorf("%w: the size of the object is not known", ErrType)
		}
		if by := y.integer * int64(size); op == "+" {
			x.integer += by
		} else {
			x.integer -= by
		}
		return x, nil
	}
	if x.real || y.real {
		return applyReal(op, x.asFloat(), y.asFloat())
	}
	return applyInteger(op, x.integer, y.integer)
}

// repeat returns the objects from an object on, as many as a number.
func (ev *evaluation) repeat(x, n operand) (operand, error) {
	n, err := ev.load(n)
	switch _, sized := ev.d.sizeInBytes(x.typ); {
	case err != nil:
		return x, err
	case x.typ == 0 || x.at.data != nil || x.count > 0 || !sized:
		return x, fmt.Errorf("%w: @ needs an object in memory", ErrType)
	case n.pointer || n.real:
		return x, fmt.Errorf("%w: the number after @ is an integer", ErrType)
	case n.integer < 1 || n.integer > maxCount:
		return x, fmt.Errorf("%w: %d objects", ErrRange, n.integer)
	}
	x.count = n.integer
	return x, nil
}

func (x operand) asFloat() float64 {
	if x.real {
		return x.float
	}
	return float64(x.integer)
}

// truth returns the number of a condition.
func truth(b bool) operand {
	if b {
		return operand{integer: 1}
	}
	return operand{}
}

// compared returns the result of a comparison of two numbers.
func compared[T int64 | float64](op string, a, b T) (x operand, ok bool) {
	switch op {
	case "==":
		return truth(a == b), true
	case "!=":
		return truth(a != b), true
	case "<":
		return truth(a < b), true
	case ">":
		return truth(a > b), true
	case "<=":
		return truth(a <= b), true
	case ">=":
		return truth(a >= b), true
	case "&&":
		return truth(a != 0 && b != 0), true
	case "||":
		return truth(a != 0 || b != 0), true
	}
	return x, false
}

func applyReal(op string, a, b float64) (x operand, err error) {
	if x, ok := compared(op, a, b); ok {
		return x, nil
	}
	x.real = true
	switch op {
	case "+":
		x.float = a + b
	case "-":
		x.float = a - b
	case "*":
		x.float = a * b
	case "/":
		x.float = a / b
	default:
		return x, fmt.Errorf("%w: %s needs integers", ErrType, op)
	}
	return x, nil
}

func applyInteger(op string, a, b int64) (x operand, err error) {
	if x, ok := compared(op, a, b); ok {
		return x, nil
	}
	switch op {
	case "+":
		x.integer = a + b
	case "-":
		x.integer = a - b
	case "*":
		x.integer = a * b
	case "/", "%":
		if b == 0 {
			return x, fmt.Errorf("%w: division by zero", ErrRange)
		}
		if x.integer = a % b; op == "/" {
			x.integer = a / b
		}
	case "<<", ">>":
		if b < 0 || b > 63 {
			return x, fmt.Errorf("%w: a shift by %d", ErrRange, b)
		}
		if x.integer = a << b; op == ">>" {
			x.integer = a >> b
		}
	case "&":
		x.integer = a & b
	case "|":
		x.integer = a | b
	case "^":
		x.integer = a ^ b
	}
	return x, nil
}

// load returns the number in an object of a plain type, an enumeration or a pointer; an array is its address.
func (ev *evaluation) load(x operand) (operand, error) {
	if x.typ == 0 {
		return x, nil
	}
	if x.count > 0 {
		return operand{pointer: true, pointee: x.typ, integer: int64(x.at.addr)}, nil
	}
	x, e, in, err := ev.referenced(x, false)
	if err != nil {
		return x, err
	}
	if e == nil {
		return x, fmt.Errorf("%w: it is not known", ErrType)
	}
	if o, ok := ev.d.objectAt(e, in, x.at); ok {
		if to, ok := o.pointer(); ok {
			return operand{pointer: true, pointee: to.typ, integer: int64(to.to)}, nil
		}
		if typ, p, empty, ok := o.wrapped(); ok && !empty {
			return ev.load(operand{typ: typ, at: p})
		}
	}
	switch e.Tag {
	case dwarf.TagArrayType:
		s, why := ev.d.shapeOf(e, in, x.at)
		if why != "" || s.at.data != nil {
			return x, fmt.Errorf("%w: the array is %s", ErrType, why)
		}
		return operand{pointer: true, pointee: typeOf(e), integer: int64(s.at.addr)}, nil
	case dwarf.TagBaseType, dwarf.TagEnumerationType, dwarf.TagPointerType:
	default:
		return x, fmt.Errorf("%w: %s is no number", ErrType, ev.d.typeName(x.typ, 0))
	}
	size, ok := ev.d.sizeInBytes(x.typ)
	if !ok || size > 16 {
		return x, fmt.Errorf("%w: its size is not known", ErrType)
	}
	b, err := ev.bytes(x.at, size)
	if err != nil {
		return x, err
	}
	encoding, _ := e.Val(dwarf.AttrEncoding).(int64)
	switch {
	case e.Tag == dwarf.TagPointerType:
		return operand{pointer: true, pointee: typeOf(e), integer: parseInteger(b, false)}, nil
	case encoding == ateFloat:
		f, err := strconv.ParseFloat(formatFloat(b), 64)
		return operand{real: true, float: f}, err
	case size > 8:
		return x, fmt.Errorf("%w: %s is too wide", ErrType, ev.d.typeName(x.typ, 0))
	}
	signed := encoding == ateSigned || encoding == ateSignedChar || e.Tag == dwarf.TagEnumerationType
	return operand{integer: parseInteger(b, signed)}, nil
}

// referenced returns the object to which references lead, itself if it is none, with the entry of its plain type and
// the entries in it; the entry is nil if the type is unknown, or damaged. With pointers, pointers count as references.
func (ev *evaluation) referenced(x operand, pointers bool) (_ operand, e *dwarf.Entry, in []*dwarf.Entry, err error) {
	for range maxTypeDepth {
		e, in, _ = ev.d.resolvePlain(x.typ)
		if e == nil || e.Tag != dwarf.TagReferenceType && e.Tag != dwarf.TagRvalueReferenceType &&
			!(pointers && e.Tag == dwarf.TagPointerType) {
			return x, e, in, nil
		}
		b, err := ev.bytes(x.at, 8)
		if err != nil {
			return x, nil, nil, err
		}
		x = operand{typ: typeOf(e), at: place{addr: binary.LittleEndian.Uint64(b)}}
	}
	return x, nil, nil, nil
}

// bytes returns the bytes at a place.
func (ev *evaluation) bytes(p place, n uint64) ([]byte, error) {
	b, why := ev.d.readBytes(p, n)
	switch why {
	case "":
		return b, nil
	case missingMemory:
		return nil, fmt.Errorf("%w at %#x", ErrUnreadable, p.addr)
	}
	return nil, fmt.Errorf("%w: the value is %s", ErrUnreadable, why)
}

// unary reads an operand with the operators before it.
func (ev *evaluation) unary() (x operand, err error) {
	op := ev.text
	switch {
	case ev.tok == scanner.EOF:
		return x, fmt.Errorf("%w: the expression ends early", ErrSyntax)
	case ev.tok == scanner.Ident && op == "sizeof" && !ev.d.lang.fortran:
		ev.next()
		return ev.sizeof()
	case op == "(":
		return ev.parenthesized()
	case !strings.Contains("*&-+!~", op):
		return ev.postfix()
	}
	ev.next()
	if x, err = ev.unary(); err != nil {
		return x, err
	}
	if op == "&" {
		if x.typ == 0 || x.at.data != nil {
			return x, fmt.Errorf("%w: it has no address", ErrType)
		}
		return operand{pointer: true, pointee: x.typ, integer: int64(x.at.addr)}, nil
	}
	if x, err = ev.load(x); err != nil {
		return x, err
	}
	switch {
	case op == "*":
		return ev.follow(x)
	case op == "!":
		return truth(x.asFloat() == 0), nil
	case op == "-" && x.real:
		return operand{real: true, float: -x.float}, nil
	case op == "-":
		return operand{integer: -x.integer}, nil
	case op == "~":
		return operand{integer: ^x.integer}, nil
	}
	return x, nil
}

// follow returns the object that a pointer points to.
func (ev *evaluation) follow(x operand) (operand, error) {
	if !x.pointer || x.pointee == 0 {
		return x, fmt.Errorf("%w: it is no pointer to an object", ErrType)
	}
	return operand{typ: x.pointee, at: place{addr: uint64(x.integer)}}, nil
}

// sizeof reads the operand of sizeof.
func (ev *evaluation) sizeof() (operand, error) {
	if ev.text == "(" {
		was, tok, text := ev.scan, ev.tok, ev.text
		ev.next()
		if typ, stars, ok := ev.typeName(); ok && ev.accept(")") {
			size, known := ev.d.sizeInBytes(typ)
			if stars > 0 {
				size, known = 8, true
			}
			if !known {
				return operand{}, fmt.Errorf("%w: the size is not known", ErrType)
			}
			return operand{integer: int64(size)}, nil
		}
		ev.scan, ev.tok, ev.text = was, tok, text
	}
	x, err := ev.unary()
	if err != nil {
		return x, err
	}
	size, ok := uint64(8), true
	if x.typ != 0 {
		size, ok = ev.d.sizeInBytes(x.typ)
	}
	if !ok {
		return x, fmt.Errorf("%w: the size is not known", ErrType)
	}
	return operand{integer: int64(size)}, nil
}

// parenthesized reads a cast, or an expression in parentheses with what follows it.
func (ev *evaluation) parenthesized() (x operand, err error) {
	ev.next()
	if ev.tok == scanner.Ident {
		if _, variable := ev.names[ev.d.fold(ev.text)]; !variable {
			if typ, stars, ok := ev.typeName(); ok {
				if err := ev.expect(")"); err != nil {
					return x, err
				}
				if x, err = ev.unary(); err != nil {
					return x, err
				}
				return ev.cast(x, typ, stars)
			}
		}
	}
	if x, err = ev.binary(0); err != nil {
		return x, err
	}
	if err := ev.expect(")"); err != nil {
		return x, err
	}
	return ev.suffixes(x)
}

// cast converts an operand to a type, or to a pointer to it.
func (ev *evaluation) cast(x operand, typ dwarf.Offset, stars int) (operand, error) {
	x, err := ev.load(x)
	if err != nil {
		return x, err
	}
	switch e, _, _ := ev.d.resolvePlain(typ); {
	case stars == 1:
		return operand{pointer: true, pointee: typ, integer: x.integer}, nil
	case stars > 1 || e == nil:
		return x, fmt.Errorf("%w: a cast to a pointer to a pointer", ErrType)
	case e.Tag == dwarf.TagBaseType:
		encoding, _ := e.Val(dwarf.AttrEncoding).(int64)
		if encoding == ateFloat {
			return operand{real: true, float: x.asFloat()}, nil
		}
		n, size := x.integer, int64(8)
		if x.real {
			n = int64(x.float)
		}
		size, _ = e.Val(dwarf.AttrByteSize).(int64)
		b := binary.LittleEndian.AppendUint64(nil, uint64(n))
		signed := encoding == ateSigned || encoding == ateSignedChar
		return operand{integer: parseInteger(b[:min(max(size, 1), 8)], signed)}, nil
	}
	return x, fmt.Errorf("%w: a cast needs a plain type or a pointer", ErrType)
}

// typeName reads the name of a type of the unit, with its stars. It reads nothing if there is no such type.
func (ev *evaluation) typeName() (typ dwarf.Offset, stars int, ok bool) {
	was, tok, text := ev.scan, ev.tok, ev.text
	var words []string
	for ev.tok == scanner.Ident {
		if w := ev.text; w != "struct" && w != "union" && w != "enum" && w != "const" && w != "volatile" {
			words = append(words, w)
		}
		ev.next()
	}
	name := strings.Join(words, " ")
	if typ = ev.findType(name); typ == 0 {
		ev.scan, ev.tok, ev.text = was, tok, text
		return 0, 0, false
	}
	for ev.accept("*") {
		stars++
	}
	return typ, stars, true
}

// longNames are the names of plain types in debug information by those that programs use.
var longNames = map[string]string{"long": "long int", "unsigned": "unsigned int", "unsigned long": "long unsigned int",
	"short": "short int", "long long": "long long int", "unsigned char": "unsigned char",
	"unsigned short": "short unsigned int"}

// maxTypes bounds the entries of a unit that are searched for a type.
const maxTypes = 1 << 18

// findType returns a type of the unit by its name; 0 if there is none.
func (ev *evaluation) findType(name string) dwarf.Offset {
	if name == "" {
		return 0
	}
	r := ev.l.vs.data.Reader()
	r.Seek(ev.l.unit.Offset)
	if _, err := r.Next(); err != nil {
		return 0
	}
	for range maxTypes {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 || e.Tag == dwarf.TagCompileUnit {
			return 0
		}
		switch e.Tag {
		case dwarf.TagBaseType, dwarf.TagTypedef, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType,
			dwarf.TagEnumerationType:
			declared, _ := e.Val(dwarf.AttrName).(string)
			_, incomplete := e.Val(dwarf.AttrDeclaration).(bool)
			if !incomplete && declared != "" && (declared == name || declared == longNames[name]) {
				return e.Offset
			}
		}
		r.SkipChildren()
	}
	return 0
}

// postfix reads a name or a number, and what follows it.
func (ev *evaluation) postfix() (x operand, err error) {
	switch text := ev.text; ev.tok {
	case scanner.Int:
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return x, fmt.Errorf("%w: %s", ErrSyntax, text)
		}
		x.integer = int64(n)
	case scanner.Float:
		if x.float, err = strconv.ParseFloat(text, 64); err != nil {
			return x, fmt.Errorf("%w: %s", ErrSyntax, text)
		}
		x.real = true
	case scanner.Char:
		c, _, _, err := strconv.UnquoteChar(strings.Trim(text, "'"), '\'')
		if err != nil {
			return x, fmt.Errorf("%w: %s", ErrSyntax, text)
		}
		x.integer = int64(c)
	case scanner.Ident:
		return ev.named()
	default:
		return x, fmt.Errorf("%w at %q", ErrSyntax, text)
	}
	ev.next()
	return x, nil
}

// named reads a variable, and what follows its name.
func (ev *evaluation) named() (x operand, err error) {
	name := ev.text
	ev.next()
	for ev.accept("::") {
		name = ev.text
		ev.next()
	}
	e := ev.names[ev.d.fold(name)]
	if e == nil {
		e = ev.globalNamed(name)
	}
	switch {
	case e != nil:
		x, err = ev.variable(name, e)
	case name == "true" || name == "false":
		return truth(name == "true"), nil
	default:
		x, err = ev.static(name)
	}
	if err != nil {
		return x, err
	}
	return ev.suffixes(x)
}

// globalNamed returns a variable of the unit that is in no function; nil if there is none.
func (ev *evaluation) globalNamed(name string) (found *dwarf.Entry) {
	r := ev.l.vs.data.Reader()
	r.Seek(ev.l.unit.Offset)
	if _, err := r.Next(); err != nil {
		return nil
	}
	ev.l.walkGlobals(r, 0, func(e *dwarf.Entry) {
		declared, _ := ev.l.vs.nameAndType(e)
		if found == nil && ev.d.fold(declared) == ev.d.fold(name) && ev.l.attribute(e, dwarf.AttrLocation) != nil {
			found = e
		}
	})
	return found
}

// variable returns the object of a variable.
func (ev *evaluation) variable(name string, e *dwarf.Entry) (x operand, err error) {
	_, typ := ev.l.vs.nameAndType(e)
	if typ == 0 {
		return x, fmt.Errorf("%w: that of %s is not known", ErrType, name)
	}
	if p, ok := ev.l.constantOf(e); ok {
		return operand{typ: typ, at: p}, nil
	}
	p, why := ev.l.placeOf(e, typ)
	if why != "" {
		return x, fmt.Errorf("%w: %s is %s", ErrUnreadable, name, why)
	}
	return operand{typ: typ, at: p}, nil
}

// static returns the object of a variable of another unit of the module.
func (ev *evaluation) static(name string) (x operand, err error) {
	found := false
	for _, v := range ev.m.variables().list {
		if ev.d.fold(v.name) != ev.d.fold(name) {
			continue
		}
		if found && x.at.addr != v.addr+ev.m.mod.Bias {
			return x, fmt.Errorf("%w: there are several variables %s", ErrName, name)
		}
		x, found = operand{typ: v.typ, at: place{addr: v.addr + ev.m.mod.Bias}}, true
	}
	if !found {
		return x, fmt.Errorf("%w: %s", ErrName, name)
	}
	return x, nil
}

// suffixes reads members and elements after an operand.
func (ev *evaluation) suffixes(x operand) (operand, error) {
	for {
		var err error
		switch {
		case ev.accept("."), ev.d.lang.fortran && ev.accept("%"):
			x, err = ev.member(x)
		case ev.accept("->"):
			if x, err = ev.load(x); err == nil {
				if x, err = ev.follow(x); err == nil {
					x, err = ev.member(x)
				}
			}
		case ev.accept("["):
			x, err = ev.element(x, "]")
		case ev.d.lang.fortran && x.typ != 0 && ev.accept("("):
			x, err = ev.element(x, ")")
		default:
			return x, nil
		}
		if err != nil {
			return x, err
		}
	}
}

// member reads the name of a member of a structure.
func (ev *evaluation) member(x operand) (operand, error) {
	name := ev.text
	if ev.tok != scanner.Ident {
		return x, fmt.Errorf("%w: a member is expected, not %q", ErrSyntax, name)
	}
	ev.next()
	if x.typ == 0 {
		return x, fmt.Errorf("%w: it has no members", ErrType)
	}
	x, e, in, err := ev.referenced(x, ev.d.lang.fortran)
	if err != nil {
		return x, err
	}
	if e == nil || e.Tag != dwarf.TagStructType && e.Tag != dwarf.TagClassType && e.Tag != dwarf.TagUnionType {
		return x, fmt.Errorf("%w: %s has no members", ErrType, ev.d.typeName(x.typ, 0))
	}
	f, within, ok := ev.d.memberOf(in, x.at, name, 0)
	if ok && f.Val(dwarf.AttrBitSize) != nil {
		if bits, ok := ev.bitField(f, within); ok {
			return bits, nil
		}
		return x, fmt.Errorf("%w: the bits of %s", ErrUnreadable, name)
	}
	if !ok {
		return x, fmt.Errorf("%w: %s has no member %s", ErrName, ev.d.typeName(x.typ, 0), name)
	}
	off, _ := f.Val(dwarf.AttrDataMemberLoc).(int64)
	return operand{typ: typeOf(f), at: within.advance(uint64(off))}, nil
}

// memberOf finds a member of a structure, of its base classes and of its members without a name, with the place of the
// structure that it belongs to.
func (d *decoder) memberOf(in []*dwarf.Entry, at place, name string, depth int) (
	f *dwarf.Entry, within place, ok bool) {
	for _, f := range in {
		off, placed := f.Val(dwarf.AttrDataMemberLoc).(int64)
		declared, _ := f.Val(dwarf.AttrName).(string)
		switch {
		case off < 0 || depth > maxTypeDepth || !isPart(f):
			continue
		case f.Tag == dwarf.TagMember && declared != "" && d.fold(declared) == d.fold(name):
			return f, at, true
		case f.Tag == dwarf.TagMember && declared != "" || !placed && f.Tag == dwarf.TagInheritance:
			continue
		}
		_, inner, _ := d.resolvePlain(typeOf(f))
		if f, within, ok := d.memberOf(inner, at.advance(uint64(off)), name, depth+1); ok {
			return f, within, true
		}
	}
	return nil, at, false
}

// bitField returns the number in a bit field.
func (ev *evaluation) bitField(f *dwarf.Entry, at place) (x operand, ok bool) {
	var v Value
	bits, _ := f.Val(dwarf.AttrBitSize).(int64)
	ev.d.fillBitField(&v, f, bits, at)
	n, err := strconv.ParseInt(v.Text, 10, 64)
	return operand{integer: n}, err == nil
}

// element reads subscripts up to a closing word.
func (ev *evaluation) element(x operand, end string) (operand, error) {
	if x.typ != 0 && x.count == 0 {
		plain, e, in, err := ev.referenced(x, false)
		if err != nil {
			return x, err
		}
		x = plain
		if o, ok := ev.d.objectAt(e, in, x.at); ok {
			if found, is, err := ev.containerElement(o, end); is {
				return found, err
			}
		}
	}
	var subscripts []int64
	for {
		i, err := ev.subscript()
		if err != nil {
			return x, err
		}
		subscripts = append(subscripts, i)
		if ev.accept(end) {
			break
		}
		if err := ev.expect(","); err != nil {
			return x, err
		}
	}
	if x.typ != 0 && x.count == 0 {
		if e, in, _ := ev.d.resolvePlain(x.typ); e != nil && e.Tag == dwarf.TagArrayType {
			for end == "]" && ev.accept("[") { // a[i][j]
				i, err := ev.subscript()
				if err == nil {
					err = ev.expect("]")
				}
				if err != nil {
					return x, err
				}
				subscripts = append(subscripts, i)
			}
			return ev.arrayElement(x, e, in, subscripts)
		}
	}
	x, err := ev.load(x)
	if err != nil {
		return x, err
	}
	size, ok := ev.d.sizeInBytes(x.pointee)
	if !x.pointer || !ok || len(subscripts) != 1 {
		return x, fmt.Errorf("%w: it has no elements", ErrType)
	}
	x.integer += subscripts[0] * int64(size)
	return ev.follow(x)
}

// containerElement reads the subscript of an element of a container of C++: its number or, for a map, its key; is
// reports whether the object is one.
func (ev *evaluation) containerElement(o object, end string) (x operand, is bool, err error) {
	if _, isText := o.text(); isText {
		from, n, _ := o.characters()
		s, ok := o.span(argument(o.in, "_CharT"), from, from+n)
		if !ok {
			return x, false, nil
		}
		x, err = ev.numberedElement(s, end)
		return x, true, err
	}
	s, ok := o.sequence()
	switch {
	case !ok:
		return x, false, nil
	case !s.keyed:
		x, err = ev.numberedElement(s, end)
	default:
		x, err = ev.keyedElement(s, end)
	}
	return x, true, err
}

// numberedElement reads the number of an element of a sequence.
func (ev *evaluation) numberedElement(s sequence, end string) (x operand, err error) {
	i, err := ev.subscript()
	if err == nil {
		err = ev.expect(end)
	}
	if err != nil {
		return x, err
	}
	if i < 0 || i >= s.count {
		return x, fmt.Errorf("%w: subscript %d is not in 0 to %d", ErrRange, i, s.count-1)
	}
	at, ok := s.at(i)
	if !ok {
		return x, fmt.Errorf("%w: element %d cannot be found", ErrUnreadable, i)
	}
	return operand{typ: s.typ, at: at}, nil
}

// keyedElement reads the key of an element of a map: a number, or a text in quotes.
func (ev *evaluation) keyedElement(s sequence, end string) (x operand, err error) {
	key := ev.text
	if ev.tok == scanner.String {
		ev.next()
	} else {
		n, err := ev.subscript()
		if err != nil {
			return x, err
		}
		key = strconv.FormatInt(n, 10)
	}
	if err := ev.expect(end); err != nil {
		return x, err
	}
	for i := range min(s.count, maxNodes) {
		at, ok := s.at(i)
		if !ok {
			break
		}
		var m Value
		ev.d.left = maxValues
		if ev.d.fill(&m, s.typ, at, 0, maxPointerDepth); keyed(m).Name != "["+key+"]" {
			continue
		}
		x = operand{typ: s.typ, at: at}
		for _, name := range []string{"__cc_", "__cc", "second"} {
			_, in, _ := ev.d.resolvePlain(x.typ)
			if f, within, ok := ev.d.memberOf(in, x.at, name, 0); ok {
				off, _ := f.Val(dwarf.AttrDataMemberLoc).(int64)
				x = operand{typ: typeOf(f), at: within.advance(uint64(off))}
			}
		}
		return x, nil
	}
	return x, fmt.Errorf("%w: there is no key %s", ErrRange, key)
}

// subscript reads an expression with an integer value.
func (ev *evaluation) subscript() (int64, error) {
	i, err := ev.binary(0)
	if err == nil {
		i, err = ev.load(i)
	}
	if err == nil && i.real {
		err = fmt.Errorf("%w: a subscript is an integer", ErrType)
	}
	return i.integer, err
}

// arrayElement returns an element of an array.
func (ev *evaluation) arrayElement(x operand, e *dwarf.Entry, in []*dwarf.Entry, subscripts []int64) (operand, error) {
	s, why := ev.d.shapeOf(e, in, x.at)
	if why != "" {
		return x, fmt.Errorf("%w: the array is %s", ErrUnreadable, why)
	}
	if len(subscripts) < len(s.dims) {
		return x, fmt.Errorf("%w: the array has %d dimensions", ErrType, len(s.dims))
	}
	off := int64(0)
	for k, d := range s.dims {
		i := subscripts[k] - d.low
		if i < 0 || i >= d.count {
			return x, fmt.Errorf("%w: subscript %d is not in %d to %d", ErrRange, subscripts[k], d.low, d.low+d.count-1)
		}
		off += i * s.strides[k]
	}
	at := place{addr: s.at.addr + uint64(off)}
	if s.at.data != nil {
		if off < 0 {
			return x, fmt.Errorf("%w: a negative stride", ErrRange)
		}
		at = s.at.advance(uint64(off))
	}
	out := operand{typ: typeOf(e), at: at}
	for _, i := range subscripts[len(s.dims):] {
		p, err := ev.load(out)
		if err != nil {
			return x, err
		}
		size, ok := ev.d.sizeInBytes(p.pointee)
		if !p.pointer || !ok {
			return x, fmt.Errorf("%w: too many subscripts", ErrType)
		}
		p.integer += i * int64(size)
		if out, err = ev.follow(p); err != nil {
			return x, err
		}
	}
	return out, nil
}
