package symbolize

import (
	"bytes"
	"cmp"
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// decoder decodes bytes to values by their types.
type decoder struct {
	types
	read func(addr uint64, p []byte) error
	in   *locals // evaluates bounds that are known at run time only; may be nil
	left int     // remaining number of values
	// first and most select the elements of the first sequence that is read; most 0: maxElements.
	first, most int64
}

// readBytes returns the first n bytes at a place; why is the reason if they are missing.
func (d *decoder) readBytes(p place, n uint64) (b []byte, why string) {
	if p.data != nil {
		if n > uint64(len(p.data)) {
			return p.data, missingOptimized
		}
		for i := uint64(0); i < n && p.lost != nil; i++ {
			if why := p.lost[p.from+i]; why != "" {
				return p.data[:n], why
			}
		}
		return p.data[:n], ""
	}
	if n > maxValues*maxString {
		return nil, missingMemory
	}
	if b = make([]byte, n); d.read(p.addr, b) != nil {
		return b, missingMemory
	}
	return b, ""
}

// fill sets v to the value of a type at a place.
func (d *decoder) fill(v *Value, typ dwarf.Offset, p place, depth, pointers int) {
	v.Address = p.addr
	if d.left--; d.left < 0 || depth > maxValueDepth {
		v.Cut = true
		return
	}
	e, in, _ := d.resolvePlain(typ)
	if e == nil {
		v.Missing = missingType
		return
	}
	switch e.Tag {
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		if !d.fillObject(v, e, in, p, depth, pointers) {
			d.fillMembers(v, in, p, depth, pointers)
		}
	case dwarf.TagArrayType:
		d.fillArray(v, e, in, p, depth, pointers)
	case dwarf.TagStringType:
		d.fillString(v, e, p)
	case dwarf.TagPointerType:
		d.fillPointer(v, e, p, depth, pointers)
	case dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		b, why := d.readBytes(p, 8)
		if why != "" {
			v.Missing = why
			return
		}
		d.fill(v, typeOf(e), place{addr: binary.LittleEndian.Uint64(b)}, depth+1, pointers)
	default:
		d.fillScalar(v, e, in, p)
	}
}

// fillScalar sets v to the value of a plain type.
func (d *decoder) fillScalar(v *Value, e *dwarf.Entry, in []*dwarf.Entry, p place) {
	size, ok := e.Val(dwarf.AttrByteSize).(int64)
	if !ok || size < 1 || size > 32 {
		v.Missing = missingType
		return
	}
	b, why := d.readBytes(p, uint64(size))
	if why != "" {
		v.Missing = why
		return
	}
	if e.Tag == dwarf.TagEnumerationType {
		v.Text = enumeratorName(in, parseInteger(b, true))
		return
	}
	encoding, _ := e.Val(dwarf.AttrEncoding).(int64)
	if v.Text = plainText(b, encoding); v.Text == "" {
		v.Missing = missingType
	}
}

// Encodings of plain types (DW_ATE_…).
const (
	ateAddress, ateBoolean, ateComplex, ateFloat           = 0x01, 0x02, 0x03, 0x04
	ateSigned, ateSignedChar, ateUnsigned, ateUnsignedChar = 0x05, 0x06, 0x07, 0x08
	ateUTF                                                 = 0x10
)

// plainText formats a plain value; it returns "" for an unknown encoding.
func plainText(b []byte, encoding int64) string {
	switch encoding {
	case ateBoolean:
		return strconv.FormatBool(parseInteger(b, false) != 0)
	case ateFloat:
		return formatFloat(b)
	case ateComplex:
		half := len(b) / 2
		return "(" + formatFloat(b[:half]) + ", " + formatFloat(b[half:]) + ")"
	case ateSigned:
		return strconv.FormatInt(parseInteger(b, true), 10)
	case ateUnsigned:
		return strconv.FormatUint(uint64(parseInteger(b, false)), 10)
	case ateSignedChar, ateUnsignedChar, ateUTF:
		n := parseInteger(b, encoding == ateSignedChar)
		return fmt.Sprintf("%d %q", n, rune(n))
	case ateAddress:
		return "0x" + strconv.FormatUint(uint64(parseInteger(b, false)), 16)
	}
	return ""
}

// parseInteger returns a little-endian number of up to 8 bytes.
func parseInteger(b []byte, signed bool) int64 {
	var w [8]byte
	n := copy(w[:], b)
	v := binary.LittleEndian.Uint64(w[:])
	if unused := 64 - 8*n; signed && n > 0 {
		return int64(v<<unused) >> unused
	}
	return int64(v)
}

// formatFloat formats a number of 4, 8, or 10 bytes (in 16).
func formatFloat(b []byte) string {
	switch len(b) {
	case 4:
		return strconv.FormatFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 'g', -1, 32)
	case 8:
		return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64)
	case 16: // x87: 64 bits of mantissa, 15 of exponent, a sign
		const bias, bits = 16383, 63
		sign := binary.LittleEndian.Uint16(b[8:])
		f := math.Ldexp(float64(binary.LittleEndian.Uint64(b)), int(sign&0x7fff)-bias-bits)
		if sign>>15 != 0 {
			f = -f
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return ""
}

// enumeratorName returns the name of a value, with the value.
func enumeratorName(in []*dwarf.Entry, n int64) string {
	for _, e := range in {
		if v, ok := e.Val(dwarf.AttrConstValue).(int64); ok && v == n && e.Tag == dwarf.TagEnumerator {
			name, _ := e.Val(dwarf.AttrName).(string)
			return fmt.Sprintf("%s (%d)", name, n)
		}
	}
	return strconv.FormatInt(n, 10)
}

// isPart reports whether an entry of a structure is a member or a base class that each object has: before DWARF 5,
// static members are members, too.
func isPart(f *dwarf.Entry) bool {
	static, _ := f.Val(dwarf.AttrExternal).(bool)
	return f.Tag == dwarf.TagMember && !static || f.Tag == dwarf.TagInheritance
}

// fillMembers adds the members to v, including those of base classes.
func (d *decoder) fillMembers(v *Value, in []*dwarf.Entry, p place, depth, pointers int) {
	for _, f := range in {
		if !isPart(f) {
			continue
		}
		at, _ := f.Val(dwarf.AttrDataMemberLoc).(int64)
		name, _ := f.Val(dwarf.AttrName).(string)
		if f.Tag == dwarf.TagInheritance {
			name = "(" + d.typeName(typeOf(f), 0) + ")"
		}
		m := Value{Name: cmp.Or(name, "(unnamed)"), Type: d.typeName(typeOf(f), 0)}
		if bits, ok := f.Val(dwarf.AttrBitSize).(int64); ok {
			d.fillBitField(&m, f, bits, p)
		} else if at < 0 {
			m.Missing = missingPlace
		} else {
			d.fill(&m, typeOf(f), p.advance(uint64(at)), depth+1, pointers)
		}
		if v.Parts = append(v.Parts, m); d.left < 0 {
			v.Cut = true
			return
		}
	}
}

// fillBitField sets v to the value of some bits of a structure.
func (d *decoder) fillBitField(v *Value, f *dwarf.Entry, bits int64, p place) {
	at, ok := d.firstBit(f, bits)
	if !ok || at < 0 || bits < 1 || bits+at%8 > 64 {
		v.Missing = missingPlace
		return
	}
	b, why := d.readBytes(p.advance(uint64(at/8)), uint64(at%8+bits+7)/8)
	if why != "" {
		v.Missing = why
		return
	}
	n := uint64(parseInteger(b, false)) >> (at % 8) << (64 - bits)
	if d.isSigned(typeOf(f)) {
		v.Text = strconv.FormatInt(int64(n)>>(64-bits), 10)
		return
	}
	v.Text = strconv.FormatUint(n>>(64-bits), 10)
}

// firstBit returns the number of the first bit of a bit field in its structure.
func (d *decoder) firstBit(f *dwarf.Entry, bits int64) (int64, bool) {
	if at, ok := f.Val(dwarf.AttrDataBitOffset).(int64); ok {
		return at, true
	}
	// DWARF 4 and later give the bit offset. Earlier versions give the distance from the highest
	// bit of the memory unit that contains the field.
	at, ok := f.Val(dwarf.AttrDataMemberLoc).(int64)
	down, ok1 := f.Val(dwarf.AttrBitOffset).(int64)
	unit, ok2 := d.sizeInBytes(typeOf(f))
	if size, own := f.Val(dwarf.AttrByteSize).(int64); own {
		unit, ok2 = uint64(size), true
	}
	return 8*(at+int64(unit)) - down - bits, ok && ok1 && ok2
}

// isCharacter reports whether a type is a character type.
func (d *decoder) isCharacter(typ dwarf.Offset) bool {
	e, _, _ := d.resolvePlain(typ)
	if e == nil {
		return false
	}
	encoding, _ := e.Val(dwarf.AttrEncoding).(int64)
	return encoding == ateSignedChar || encoding == ateUnsignedChar
}

// quoteText returns the text up to its NUL, with … if it is not terminated.
func quoteText(b []byte) string {
	text, _, ends := bytes.Cut(b, []byte{0})
	s := strconv.Quote(string(text))
	if !ends && len(b) == maxString {
		s += "…"
	}
	return s
}

// fillPointer sets v to the address, and adds the value at that address.
func (d *decoder) fillPointer(v *Value, e *dwarf.Entry, p place, depth, pointers int) {
	b, why := d.readBytes(p, 8)
	if why != "" {
		v.Missing = why
		return
	}
	d.fillPointee(v, typeOf(e), binary.LittleEndian.Uint64(b), depth, pointers)
}

// fillPointee sets v to an address, and adds the object of a type at that address.
func (d *decoder) fillPointee(v *Value, typ dwarf.Offset, to uint64, depth, pointers int) {
	v.Text = "0x" + strconv.FormatUint(to, 16)
	target, _, _ := d.resolvePlain(typ)
	if to == 0 || target == nil || pointers >= maxPointerDepth {
		return
	}
	if d.isCharacter(typ) {
		if text, ok := d.readText(to); ok {
			v.Text += " " + text
		}
		return
	}
	if _, sized := d.sizeInBytes(typ); !sized {
		return
	}
	m := Value{Name: "*" + v.Name, Type: d.typeName(typ, 0)}
	if d.fill(&m, typ, place{addr: to}, depth+1, pointers+1); m.Missing == "" {
		v.Parts = []Value{m}
	}
}

// readText returns the text at an address, as far as it can be read.
func (d *decoder) readText(at uint64) (string, bool) {
	for n := maxString; n > 0; n /= 2 {
		b := make([]byte, n)
		if d.read(at, b) == nil {
			return quoteText(b), true
		}
	}
	return "", false
}

// typeName returns the display name of a type as its language declares it, such as "int (*)[5]".
func (d *decoder) typeName(off dwarf.Offset, depth int) string { return d.declare(off, "", depth) }

// maxParameters is the number of a function type's parameters that a type's name shows.
const maxParameters = 8

// declare returns the declaration of what has a type: declarator is the part of it around the name, such as "*" of a
// pointer to the type, or empty.
func (d *decoder) declare(off dwarf.Offset, declarator string, depth int) string {
	if off == 0 {
		return join("void", declarator)
	}
	e, in := d.readEntry(off)
	if e == nil || depth > maxTypeDepth {
		return join("?", declarator)
	}
	inner := func(declarator string) string { return d.declare(typeOf(e), declarator, depth+1) }
	switch e.Tag {
	case dwarf.TagPointerType:
		return inner("*" + declarator)
	case dwarf.TagReferenceType:
		return inner("&" + declarator)
	case dwarf.TagRvalueReferenceType:
		return inner("&&" + declarator)
	case dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		word := qualifiers[e.Tag]
		if d.isPointer(typeOf(e), depth+1) {
			return inner(" " + join(word, declarator))
		}
		return word + " " + inner(declarator)
	case dwarf.TagStringType:
		return join("character", declarator)
	case dwarf.TagSubroutineType:
		return inner(enclose(declarator) + "(" + d.parameters(e, in, depth) + ")")
	case dwarf.TagArrayType:
		var counts []string
		for _, n := range d.dimensionsOf(in) {
			count := strconv.FormatInt(n.count, 10)
			if n.count == 0 { // known at run time only
				count = ""
			}
			counts = append(counts, count)
		}
		return inner(enclose(declarator) + "[" + strings.Join(counts, "][") + "]")
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	return join(cmp.Or(name, unnamed[e.Tag], "(unnamed)"), declarator)
}

// qualifiers has the words of qualified types.
var qualifiers = map[dwarf.Tag]string{dwarf.TagConstType: "const", dwarf.TagVolatileType: "volatile",
	dwarf.TagRestrictType: "restrict", dwarf.TagAtomicType: "_Atomic"}

// unnamed has the names of types without one.
var unnamed = map[dwarf.Tag]string{dwarf.TagStructType: "struct {...}", dwarf.TagUnionType: "union {...}",
	dwarf.TagEnumerationType: "enum {...}", dwarf.TagClassType: "class {...}"}

// join joins a type and a declarator.
func join(name, declarator string) string {
	if declarator == "" || declarator[0] == ' ' {
		return name + declarator
	}
	return name + " " + declarator
}

// enclose puts a declarator in parentheses if it binds less than an array's or a function's.
func enclose(declarator string) string {
	if declarator == "" || declarator[0] == '[' || declarator[0] == '(' {
		return declarator
	}
	return "(" + strings.TrimPrefix(declarator, " ") + ")"
}

// isPointer reports whether a type is a pointer, perhaps a qualified one: its qualifiers follow the star.
func (d *decoder) isPointer(off dwarf.Offset, depth int) bool {
	for ; off != 0 && depth <= maxTypeDepth; depth++ {
		e, _ := d.readEntry(off)
		switch {
		case e == nil:
			return false
		case e.Tag == dwarf.TagPointerType:
			return true
		case qualifiers[e.Tag] == "":
			return false
		}
		off = typeOf(e)
	}
	return false
}

// parameters returns the types of the parameters of a function type, e.
func (d *decoder) parameters(e *dwarf.Entry, in []*dwarf.Entry, depth int) string {
	var names []string
	for _, f := range in {
		if len(names) == maxParameters || f.Tag == dwarf.TagUnspecifiedParameters {
			names = append(names, "...")
			break
		}
		if f.Tag == dwarf.TagFormalParameter {
			names = append(names, d.typeName(typeOf(f), depth+1))
		}
	}
	if prototyped, _ := e.Val(dwarf.AttrPrototyped).(bool); prototyped && len(names) == 0 {
		return "void"
	}
	return strings.Join(names, ", ")
}
