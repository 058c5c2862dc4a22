package symbolize

import (
	"debug/dwarf"
	"encoding/binary"
)

// clangContext is the parameter of functions that clang outlines from constructs. It points to a structure of pointers
// to the shared variables; the debug information has the size of the structure and no members.
const clangContext = "__context"

// maxShared bounds the shared variables of a construct.
const maxShared = 64

// Shared is a variable that a construct shares with the code around it: the outlined function has a pointer to it.
type Shared struct {
	Name    string // empty: unknown
	Address uint64
	// Home means that the address is that of the variable itself: the language has no references.
	Home bool
}

// SharedVariables returns the shared variables of a construct that was outlined into the function of a frame. clang's
// debug information has their addresses, GCC's also their names. It returns nil without such a function.
func (s *Symbolizer) SharedVariables(f Activation, read func(addr uint64, p []byte) error) (out []Shared) {
	word := func(addr uint64) (uint64, bool) {
		var b [8]byte
		err := read(addr, b[:])
		return binary.LittleEndian.Uint64(b[:]), err == nil
	}
	entry, context := s.entryOf(f, read), false
	s.walkLocals(f, (*module).variableInfo, func(l *locals) {
		l.word, l.read, l.entry = word, read, entry
		home := isC(l.unit)
		l.visit = func(e *dwarf.Entry, in scope) {
			name, typ := l.vs.nameAndType(e)
			switch {
			case len(out) >= maxShared:
			case name == clangContext && !context:
				context = true
				for _, shared := range l.wordsOf(e, typ, word) {
					out = append(out, Shared{Address: shared, Home: home})
				}
			case in.inlined == 0 && e.Tag == dwarf.TagVariable:
				if addr, ok := l.pointedTo(e, typ); ok {
					out = append(out, Shared{name, addr, home})
				}
			}
		}
	})
	return out
}

// wordsOf returns the words of the structure that a variable points to.
func (l *locals) wordsOf(e *dwarf.Entry, typ dwarf.Offset, word func(uint64) (uint64, bool)) (out []uint64) {
	at, isValue, ok := l.evaluate(l.vs.locationAt(e, l.unit, l.pc))
	if ok && !isValue {
		at, ok = word(at)
	}
	size := l.types.pointeeSize(typ)
	if !ok || size%8 != 0 {
		return nil
	}
	for i := range min(size/8, maxShared) {
		if w, ok := word(at + 8*i); ok {
			out = append(out, w)
		}
	}
	return out
}

// pointedTo returns the address of a variable that the function finds through a pointer. Arrays of variable length are
// left out: those of the function itself have pointers, too.
func (l *locals) pointedTo(e *dwarf.Entry, typ dwarf.Offset) (addr uint64, ok bool) {
	loc := l.vs.locationIn(l.attribute(e, dwarf.AttrLocation), l.unit, l.pc)
	size, ok := l.types.sizeInBytes(typ)
	if !ok || len(loc) == 0 || loc[len(loc)-1] != opDeref {
		return 0, false
	}
	p, why := l.locate(loc, size, 0)
	return p.addr, why == "" && p.data == nil && p.addr != 0
}

// isC reports whether a compilation unit is of the language C.
func isC(unit *dwarf.Entry) bool {
	switch n, _ := unit.Val(dwarf.AttrLanguage).(int64); n {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x3e: // DW_LANG_C89, C, C99, C11, C17, C23
		return true
	}
	return false
}

// pointeeSize returns the size of the type that a pointer type, perhaps a qualified one, points to; 0 if unknown.
func (t types) pointeeSize(typ dwarf.Offset) uint64 {
	for range maxTypeDepth {
		e, _ := t.readEntry(typ)
		if e == nil {
			return 0
		}
		typ = typeOf(e)
		if e.Tag == dwarf.TagPointerType {
			size, _ := t.sizeInBytes(typ)
			return size
		}
	}
	return 0
}
