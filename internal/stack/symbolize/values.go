package symbolize

import (
	"debug/dwarf"
	"encoding/binary"
)

// Bounds on the values of one frame.
const (
	// maxValues bounds the variables of a frame with all their parts.
	maxValues = 4000
	// maxElements bounds the elements of an array that are read.
	maxElements = 100
	// maxValueDepth bounds nested parts; maxPointers bounds the pointers followed in sequence.
	maxValueDepth   = 8
	maxPointerDepth = 2
	// maxString bounds the characters of a string.
	maxString = 200
)

// Value is a variable of a function in a frame, or a part of one.
type Value struct {
	Name string
	Type string
	// Text is the displayed value; empty for a value that only has parts.
	Text string
	// Address is the value's address; 0 if it is in a register or nowhere.
	Address uint64
	// Argument means that it is one of the function's parameters.
	Argument bool
	// Missing explains why there is no value; empty if there is one.
	Missing string
	// Parts are members, elements, or the target of a pointer; Cut means that there are more.
	Parts []Value
	Cut   bool
}

// Reasons why a variable has no value.
const (
	missingOptimized = "optimized out"
	missingPlace     = "its place is told in a way that is not read"
	missingType      = "its type is not known"
	missingMemory    = "not readable"
	missingShape     = "an array whose bounds are kept at run time"
)

// Values returns the variables of the functions of a frame, from debug information: those of the
// function itself first, then of each function that is inlined there, the innermost last. read
// reads memory of the target.
func (s *Symbolizer) Values(f Activation, read func(addr uint64, p []byte) error) (out [][]Value) {
	s.walkLocals(f, (*module).variableInfo, func(l *locals) {
		l.word = func(addr uint64) (uint64, bool) {
			var b [8]byte
			err := read(addr, b[:])
			return binary.LittleEndian.Uint64(b[:]), err == nil
		}
		d := decoder{types: l.types, read: read, left: maxValues}
		l.visit = func(e *dwarf.Entry, in scope) {
			for len(out) <= in.inlined {
				out = append(out, nil)
			}
			if v, ok := l.makeValue(e, &d); ok {
				out[in.inlined] = append(out[in.inlined], v)
			}
		}
	})
	return out
}

// makeValue returns the value of variable e; false for compiler-internal variables.
func (l *locals) makeValue(e *dwarf.Entry, d *decoder) (Value, bool) {
	name, typ := l.vs.nameAndType(e)
	artificial, _ := e.Val(dwarf.AttrArtificial).(bool)
	if name == "" || artificial && name != "this" || name[0] == '.' {
		return Value{}, false
	}
	v := Value{Name: name, Argument: e.Tag == dwarf.TagFormalParameter}
	if typ == 0 {
		v.Missing = missingType
		return v, true
	}
	v.Type = d.typeName(typ, 0)
	if constant := e.Val(dwarf.AttrConstValue); constant != nil {
		if n, ok := constant.(int64); ok {
			d.fill(&v, typ, place{data: binary.LittleEndian.AppendUint64(nil, uint64(n))}, 0, 0)
			return v, true
		}
	}
	loc := l.vs.locationAt(e, l.unit, l.pc)
	if len(loc) == 0 {
		v.Missing = missingOptimized
		return v, true
	}
	if at, ok := l.vs.fixedAddress(loc, newUnit(l.unit)); ok {
		d.fill(&v, typ, place{addr: at + l.bias}, 0, 0)
		return v, true
	}
	n, isValue, ok := l.evaluate(loc)
	switch {
	case !ok:
		v.Missing = missingPlace
	case isValue:
		d.fill(&v, typ, place{data: binary.LittleEndian.AppendUint64(nil, n)}, 0, 0)
	default:
		d.fill(&v, typ, place{addr: n}, 0, 0)
	}
	return v, true
}

// place is the location of a value: an address or, with data, a register.
type place struct {
	addr uint64
	data []byte
}

// advance returns the place n bytes later.
func (p place) advance(n uint64) place {
	if p.data == nil {
		return place{addr: p.addr + n}
	}
	return place{data: p.data[min(n, uint64(len(p.data))):]}
}
