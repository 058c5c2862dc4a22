package symbolize

import (
	"debug/dwarf"
	"encoding/binary"
	"slices"
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
// debug information has their addresses, GCC's also their names. It returns nil without such a function. With
// optimization, clang's may have no location for the context of a task; the task itself points to it.
func (s *Symbolizer) SharedVariables(f Activation, read func(addr uint64, p []byte) error) (out []Shared) {
	word := func(addr uint64) (uint64, bool) {
		var b [8]byte
		err := read(addr, b[:])
		return binary.LittleEndian.Uint64(b[:]), err == nil
	}
	var task, size uint64 // a task, and the size of its context
	entry, ofTask, located := s.entryOf(f, read), false, false
	l := s.walkLocals(f, (*module).variableInfo, func(l *locals) {
		l.word, l.read, l.entry = word, read, entry
		home := isC(l.unit)
		l.enter = func(e *dwarf.Entry, in scope) {
			if in.inlined == 1 { // the construct, in the function that the runtime calls
				size = l.contextSize(e)
			}
		}
		l.visit = func(e *dwarf.Entry, in scope) {
			name, typ := l.vs.nameAndType(e)
			switch {
			case len(out) >= maxShared:
			case name == clangContext:
				// Deeper inlined functions are of constructs in this one.
				if at, ok := l.valueOf(e); ok && (in.inlined == 0 || in.inlined == 1 && ofTask) {
					out, located = append(out, sharedAt(at, l.types.pointeeSize(typ), home, word)...), true
				}
			case in.inlined == 0 && l.types.isPointerTo(typ, clangTask):
				ofTask = true
				task, _ = l.valueOf(e)
			case in.inlined == 0 && e.Tag == dwarf.TagVariable:
				if addr, ok := l.pointedTo(e, typ); ok {
					out = append(out, Shared{name, addr, home})
				}
			}
		}
	})
	if at, ok := word(task); ok && !located {
		out = append(out, sharedAt(at, size, isC(l.unit), word)...)
	}
	return out
}

// contextSize returns the size of the context of an inlined function that clang outlined from a construct, 0 for
// another function.
func (l *locals) contextSize(e *dwarf.Entry) uint64 {
	off, ok := originOf(e)
	if !ok {
		return 0
	}
	_, in := l.types.readEntry(off)
	i := slices.IndexFunc(in, func(p *dwarf.Entry) bool {
		name, _ := p.Val(dwarf.AttrName).(string)
		return p.Tag == dwarf.TagFormalParameter && name == clangContext
	})
	if i < 0 {
		return 0
	}
	return l.types.pointeeSize(typeOf(in[i]))
}

// valueOf returns the value of a variable of eight bytes.
func (l *locals) valueOf(e *dwarf.Entry) (value uint64, ok bool) {
	value, isValue, ok := l.evaluate(l.vs.locationAt(e, l.unit, l.pc))
	if ok && !isValue {
		value, ok = l.word(value)
	}
	return value, ok
}

// sharedAt returns the variables to which the words of a structure point.
func sharedAt(at, size uint64, home bool, word func(uint64) (uint64, bool)) (out []Shared) {
	if size%8 != 0 {
		return nil
	}
	for i := range min(size/8, maxShared) {
		if w, ok := word(at + 8*i); ok {
			out = append(out, Shared{Address: w, Home: home})
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
