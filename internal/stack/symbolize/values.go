package symbolize

import (
	"cmp"
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
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
	// Count is the number of elements of an array or a container; 0 for other values.
	Count int64
}

// Reasons why a variable has no value.
const (
	missingOptimized = "optimized out"
	missingPlace     = "its place is described in a way that is not read"
	missingPointer   = "synthetic pointer"
	missingThread    = "thread-local, and its block is not known"
	missingType      = "its type is not known"
	missingMemory    = "not readable"
	missingShape     = "an array whose bounds are kept at run time"
)

// Values returns the variables of the functions of a frame, from debug information: those of the
// function itself first, then of each function that is inlined there, the innermost last. read
// reads memory of the target.
func (s *Symbolizer) Values(f Activation, read func(addr uint64, p []byte) error) (out [][]Value) {
	entry := s.entryOf(f, read)
	var dropped []map[dwarf.Offset]Value // parameters that were not visited yet, by depth of inlining
	s.walkLocals(f, (*module).variableInfo, func(l *locals) {
		l.read, l.entry = read, entry
		d := decoder{types: l.types, read: read, in: l, left: maxValues}
		reach := func(in scope) {
			for len(out) <= in.inlined {
				out, dropped = append(out, nil), append(dropped, nil)
			}
		}
		l.enter = func(e *dwarf.Entry, in scope) {
			reach(in)
			dropped[in.inlined] = l.abstractParameters(e, &d)
		}
		l.visit = func(e *dwarf.Entry, in scope) {
			reach(in)
			if off, ok := originOf(e); ok {
				delete(dropped[in.inlined], off)
			}
			if v, ok := l.makeValue(e, &d); ok {
				out[in.inlined] = append(out[in.inlined], v)
			}
		}
	})
	for depth, parameters := range dropped {
		lost := make([]Value, 0, len(parameters))
		for _, off := range slices.Sorted(maps.Keys(parameters)) {
			lost = append(lost, parameters[off])
		}
		out[depth] = append(lost, out[depth]...)
	}
	return out
}

// abstractParameters returns the parameters of the function that e is a copy of, by entry. The compiler may have
// dropped some of them from the copy: these are optimized out.
func (l *locals) abstractParameters(e *dwarf.Entry, d *decoder) map[dwarf.Offset]Value {
	off, ok := originOf(e)
	if !ok {
		return nil
	}
	out := map[dwarf.Offset]Value{}
	_, in := l.types.readEntry(off)
	for _, p := range in {
		if p.Tag != dwarf.TagFormalParameter || p.Val(dwarf.AttrConstValue) != nil {
			continue
		}
		if v, ok := l.namedValue(p, d); ok {
			v.Missing = cmp.Or(v.Missing, missingOptimized)
			out[p.Offset] = v
		}
	}
	return out
}

// maxGlobals bounds the global variables of a file that are shown, and maxGlobalValues the parts of each.
const (
	maxGlobals      = 200
	maxGlobalValues = 100
)

// Globals returns the variables of the source file of the code at pc that are in no function, by name, with their
// values. unit identifies the file.
func (s *Symbolizer) Globals(f Activation, read func(addr uint64, p []byte) error) (unit string, out []Value) {
	_ = s.withModule(f.PC, func(m *module, pc uint64) (err error) {
		defer elfx.Recover("variables", &err)
		vs := m.variableInfo()
		if vs.data == nil {
			return nil
		}
		r := vs.data.Reader()
		e, err := r.SeekPC(pc)
		if err != nil {
			return err
		}
		unit = fmt.Sprint(m.mod.Bias, " ", e.Offset)
		l := &locals{vs: vs, bias: m.mod.Bias, frame: Activation{PC: f.PC}, pc: pc, read: read, unit: e,
			tls: m.storageOf(f), types: vs.typesIn(languageOf(e))}
		d := decoder{types: l.types, read: read, in: l, left: maxValues}
		seen := map[dwarf.Offset]bool{}
		l.walkGlobals(r, 0, func(e *dwarf.Entry) {
			if off, ok := originOf(e); ok {
				seen[off] = true
			}
			if loc := l.attribute(e, dwarf.AttrLocation); loc == nil && l.attribute(e, dwarf.AttrConstValue) == nil ||
				seen[e.Offset] || len(out) == maxGlobals {
				return
			}
			d.left = maxGlobalValues
			if v, ok := l.makeValue(e, &d); ok && !strings.HasPrefix(v.Name, "__") {
				out = append(out, v)
			}
		})
		return nil
	})
	slices.SortStableFunc(out, func(a, b Value) int { return cmp.Compare(a.Name, b.Name) })
	return unit, out
}

// walkGlobals passes the variables of a unit that are in no function to visit.
func (l *locals) walkGlobals(r *dwarf.Reader, depth int, visit func(e *dwarf.Entry)) {
	for {
		e, err := r.Next()
		if e == nil || err != nil || e.Tag == 0 || e.Tag == dwarf.TagCompileUnit {
			return
		}
		inner := e.Tag == dwarf.TagNamespace || e.Tag == dwarf.TagModule || e.Tag == dwarf.TagCommonDwarfBlock
		switch {
		case e.Children && inner && depth < maxTypeDepth:
			l.walkGlobals(r, depth+1, visit)
			continue
		case e.Tag == dwarf.TagVariable:
			visit(e)
		}
		r.SkipChildren()
	}
}

// namedValue returns the name and the type of variable e; false for compiler-internal variables.
func (l *locals) namedValue(e *dwarf.Entry, d *decoder) (Value, bool) {
	name, typ := l.vs.nameAndType(e)
	artificial, _ := e.Val(dwarf.AttrArtificial).(bool)
	if name == "" || name[0] == '.' || artificial && (name[0] == '_' || strings.Contains(name, ".")) {
		return Value{}, false
	}
	v := Value{Name: name, Argument: e.Tag == dwarf.TagFormalParameter}
	if typ == 0 {
		v.Missing = missingType
		return v, true
	}
	v.Type = d.typeName(typ, 0)
	return v, true
}

// makeValue returns the value of variable e; false for compiler-internal variables.
func (l *locals) makeValue(e *dwarf.Entry, d *decoder) (Value, bool) {
	v, ok := l.namedValue(e, d)
	if !ok || v.Missing != "" {
		return v, ok
	}
	_, typ := l.vs.nameAndType(e)
	if p, ok := l.constantOf(e); ok {
		d.fill(&v, typ, p, 0, 0)
		return v, true
	}
	p, why := l.placeOf(e, typ)
	if v.Missing = why; why == "" {
		d.fill(&v, typ, p, 0, 0)
	}
	return v, true
}

// constantOf returns the constant that a variable always is.
func (l *locals) constantOf(e *dwarf.Entry) (p place, ok bool) {
	switch n := l.attribute(e, dwarf.AttrConstValue).(type) {
	case int64:
		return place{data: binary.LittleEndian.AppendUint64(nil, uint64(n))}, true
	case uint64:
		return place{data: binary.LittleEndian.AppendUint64(nil, n)}, true
	case []byte:
		return place{data: n}, true
	case string:
		return place{data: append([]byte(n), 0)}, true
	}
	return place{}, false
}

// attribute returns an attribute of a variable, or of the entry that it completes or is a copy of.
func (l *locals) attribute(e *dwarf.Entry, name dwarf.Attr) any {
	for range maxTypeDepth {
		if v := e.Val(name); v != nil {
			return v
		}
		off, ok := originOf(e)
		if !ok {
			break
		}
		if e, _ = l.types.readEntry(off); e == nil {
			break
		}
	}
	return nil
}

// placeOf returns the place of a variable of a type; why is the reason if it has none.
func (l *locals) placeOf(e *dwarf.Entry, typ dwarf.Offset) (p place, why string) {
	loc := l.vs.locationIn(l.attribute(e, dwarf.AttrLocation), l.unit, l.pc)
	if len(loc) == 0 {
		return place{}, missingOptimized
	}
	size, _ := l.types.sizeInBytes(typ)
	return l.locate(loc, size, 0)
}

// place is the location of a value: an address or, with data, its bytes.
type place struct {
	addr uint64
	data []byte
	lost map[uint64]string // by index in data: why a byte is missing; nil if none is
	from uint64            // index of data[0] in lost
}

// advance returns the place n bytes later.
func (p place) advance(n uint64) place {
	if p.data == nil {
		return place{addr: p.addr + n}
	}
	n = min(n, uint64(len(p.data)))
	return place{data: p.data[n:], lost: p.lost, from: p.from + n}
}
