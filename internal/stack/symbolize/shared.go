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

// SharedAddresses returns the addresses of the shared variables of a construct that clang outlined into the function
// of a frame. It returns nil without such a function.
func (s *Symbolizer) SharedAddresses(f Activation, read func(addr uint64, p []byte) error) (out []uint64) {
	word := func(addr uint64) (uint64, bool) {
		var b [8]byte
		err := read(addr, b[:])
		return binary.LittleEndian.Uint64(b[:]), err == nil
	}
	s.walkLocals(f, (*module).variableInfo, func(l *locals) {
		l.word = word
		l.visit = func(e *dwarf.Entry, _ scope) {
			name, typ := l.vs.nameAndType(e)
			if name != clangContext || out != nil {
				return
			}
			at, isValue, ok := l.evaluate(l.vs.locationAt(e, l.unit, l.pc))
			if ok && !isValue {
				at, ok = word(at)
			}
			size := l.types.pointeeSize(typ)
			if !ok || size%8 != 0 {
				return
			}
			for i := range min(size/8, maxShared) {
				if shared, ok := word(at + 8*i); ok {
					out = append(out, shared)
				}
			}
		}
	})
	return out
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
