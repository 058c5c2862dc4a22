package symbolize

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"
)

// Bounds on types of debug information, which may be damaged.
const (
	// maxTypeDepth bounds structures in structures.
	maxTypeDepth = 32
	// maxDimensions bounds those of an array; Fortran allows 15.
	maxDimensions = 16
	// maxChildren bounds the members of a structure.
	maxChildren = 1 << 14
	// maxSize bounds the size of an array in bytes, and its bounds.
	maxSize = 1 << 40
)

// lockTypes are the well-known types of locks; their members are internal to the library.
var lockTypes = map[string]bool{
	"omp_lock_t": true, "omp_nest_lock_t": true, "kmp_critical_name": true, "pthread_mutex_t": true,
	"pthread_cond_t": true, "pthread_rwlock_t": true, "pthread_barrier_t": true, "sem_t": true,
}

// language is a unit's notation for parts of variables, and the attributes that its compiler omits.
type language struct {
	fortran bool
	// unbound means that an array without a lower bound may have any: flang does not record bounds
	// other than 1.
	unbound bool
}

// languageOf returns the language of a compilation unit.
func languageOf(unit *dwarf.Entry) language {
	l := language{}
	switch n, _ := unit.Val(dwarf.AttrLanguage).(int64); n {
	case 0x07, 0x08, 0x0e, 0x22, 0x23, 0x2d: // DW_LANG_Fortran77, 90, 95, 03, 08, 18
		l.fortran = true
	}
	producer, _ := unit.Val(dwarf.AttrProducer).(string)
	l.unbound = l.fortran && strings.Contains(strings.ToLower(producer), "flang")
	return l
}

// clangTask is the structure that code of clang allocates for a task, the parameter of the function that the runtime
// calls. Its first word points to the structure of pointers to the shared variables.
const clangTask = "kmp_task_t_with_privates"

// part is the data at some offset in a value.
type part struct {
	path string // suffix of the value's name: [1].lock, (3)%lock
	lock bool   // its type is one of lockTypes, or unknown
}

// types reads types of a module's debug information in the notation of lang.
type types struct {
	data *dwarf.Data
	lang language
}

// readEntry reads the entry at off and its children.
func (ts types) readEntry(off dwarf.Offset) (e *dwarf.Entry, in []*dwarf.Entry) {
	r := ts.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil || e == nil || !e.Children {
		return e, nil
	}
	for len(in) < maxChildren {
		c, err := r.Next()
		if err != nil || c == nil || c.Tag == 0 {
			break
		}
		in = append(in, c)
		r.SkipChildren()
	}
	return e, in
}

// typeOf returns the offset of the type of e, or 0.
func typeOf(e *dwarf.Entry) dwarf.Offset {
	off, _ := e.Val(dwarf.AttrType).(dwarf.Offset)
	return off
}

// resolvePlain returns a type without typedefs and qualifiers; lock reports whether one of the names is
// that of a lock. It returns nil if the type is unknown.
func (ts types) resolvePlain(off dwarf.Offset) (e *dwarf.Entry, in []*dwarf.Entry, lock bool) {
	for range maxTypeDepth {
		if e, in = ts.readEntry(off); e == nil {
			return nil, nil, false
		}
		switch e.Tag {
		case dwarf.TagTypedef:
			name, _ := e.Val(dwarf.AttrName).(string)
			lock = lock || lockTypes[name]
		case dwarf.TagStructType: // the argument of a template has no typedef
			name, _ := e.Val(dwarf.AttrName).(string)
			return e, in, lock || lockTypes[name]
		case dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		default:
			return e, in, lock
		}
		if off = typeOf(e); off == 0 {
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// isPointerTo reports whether a type, perhaps a qualified one, is a pointer to a structure of a name.
func (ts types) isPointerTo(typ dwarf.Offset, name string) bool {
	e, _, _ := ts.resolvePlain(typ)
	if e == nil || e.Tag != dwarf.TagPointerType {
		return false
	}
	if e, _, _ = ts.resolvePlain(typeOf(e)); e == nil || e.Tag != dwarf.TagStructType {
		return false
	}
	is, _ := e.Val(dwarf.AttrName).(string)
	return is == name
}

// sizeInBytes returns the size of a type in bytes; false if it is not fixed.
func (ts types) sizeInBytes(off dwarf.Offset) (n uint64, ok bool) { return ts.sizeOf(off, 0) }

func (ts types) sizeOf(off dwarf.Offset, depth int) (n uint64, ok bool) {
	e, in, _ := ts.resolvePlain(off)
	if e == nil || depth > maxTypeDepth {
		return 0, false
	}
	if size, ok := e.Val(dwarf.AttrByteSize).(int64); ok {
		return uint64(size), size > 0
	}
	switch e.Tag {
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		return 8, true
	case dwarf.TagArrayType:
		n, ok = ts.sizeOf(typeOf(e), depth+1)
		for _, d := range ts.dimensionsOf(in) {
			if d.count < 1 || n > maxSize/uint64(d.count) {
				return 0, false
			}
			n *= uint64(d.count)
		}
		return n, ok
	}
	return 0, false
}

// isSigned reports whether a type is a signed integer type.
func (ts types) isSigned(off dwarf.Offset) bool {
	e, _, _ := ts.resolvePlain(off)
	if e == nil {
		return false
	}
	const signed = 0x05 // DW_ATE_signed
	encoding, _ := e.Val(dwarf.AttrEncoding).(int64)
	return encoding == signed
}

// dimension is a dimension of an array.
type dimension struct {
	low   int64
	count int64 // 0 if unknown
	bound bool  // low is known
}

// dimensionsOf returns the dimensions in an array's entry, in order.
func (ts types) dimensionsOf(in []*dwarf.Entry) []dimension {
	var out []dimension
	for _, e := range in {
		if e.Tag != dwarf.TagSubrangeType || len(out) == maxDimensions {
			continue
		}
		d := dimension{bound: !ts.lang.unbound}
		if ts.lang.fortran {
			d.low = 1
		}
		if f := e.AttrField(dwarf.AttrLowerBound); f != nil {
			d.low, d.bound = f.Val.(int64)
		}
		if n, ok := e.Val(dwarf.AttrCount).(int64); ok {
			d.count = n
		} else if high, ok := e.Val(dwarf.AttrUpperBound).(int64); ok && high < maxSize && d.low > -maxSize {
			d.count = high - d.low + 1
		}
		out = append(out, d)
	}
	return out
}

// partAt returns the part of a value of the type at off that is n bytes after its start. Parts of
// unions, and of plain values, have no unique name.
func (ts types) partAt(off dwarf.Offset, n uint64, depth int) (part, bool) {
	e, in, lock := ts.resolvePlain(off)
	switch {
	case e == nil || depth > maxTypeDepth:
		return part{}, false
	case lock:
		return part{lock: true}, n == 0
	case isDeclared(e):
		return part{lock: n == 0}, true
	case e.Tag == dwarf.TagStructType || e.Tag == dwarf.TagClassType:
		return ts.memberAt(in, n, depth)
	case e.Tag == dwarf.TagArrayType:
		return ts.elementAt(e, in, n, depth)
	}
	return part{}, n == 0 && e.Tag != dwarf.TagUnionType
}

// memberAt returns the part of a structure that is n bytes after its start. An empty base class has the offset of a
// member, and no part.
func (ts types) memberAt(in []*dwarf.Entry, n uint64, depth int) (part, bool) {
	for _, f := range in {
		at, ok := f.Val(dwarf.AttrDataMemberLoc).(int64)
		if f.Tag != dwarf.TagMember && f.Tag != dwarf.TagInheritance || !ok || at < 0 || n < uint64(at) {
			continue
		}
		if size, ok := ts.sizeOfMember(in, f); !ok || n-uint64(at) >= size {
			continue
		}
		p, ok := ts.partAt(typeOf(f), n-uint64(at), depth+1)
		if !ok && f.Tag == dwarf.TagInheritance {
			continue
		}
		if name, _ := f.Val(dwarf.AttrName).(string); name != "" && f.Tag == dwarf.TagMember {
			p.path = ts.memberPath(name) + p.path
		}
		return p, ok
	}
	return part{}, false
}

// isDeclared reports whether e is a class that the debug information only declares. Clang describes no class whose
// constructor is compiled elsewhere, as that of std::condition_variable in the C++ library.
func isDeclared(e *dwarf.Entry) bool {
	declared, _ := e.Val(dwarf.AttrDeclaration).(bool)
	return declared && (e.Tag == dwarf.TagStructType || e.Tag == dwarf.TagClassType)
}

// sizeOfMember returns the size of a member f of a structure. A member whose class is only declared ends before the
// next one; the last one has no known end.
func (ts types) sizeOfMember(members []*dwarf.Entry, f *dwarf.Entry) (n uint64, ok bool) {
	if n, ok = ts.sizeInBytes(typeOf(f)); ok {
		return n, true
	}
	if e, _, _ := ts.resolvePlain(typeOf(f)); e == nil || !isDeclared(e) {
		return 0, false
	}
	at, _ := f.Val(dwarf.AttrDataMemberLoc).(int64)
	next := int64(maxSize)
	for _, m := range members {
		if to, ok := m.Val(dwarf.AttrDataMemberLoc).(int64); ok && to > at {
			next = min(next, to)
		}
	}
	return uint64(next - at), true
}

// memberPath returns the suffix of a value's name for a member.
func (ts types) memberPath(name string) string {
	if ts.lang.fortran {
		return "%" + name
	}
	return "." + name
}

// elementAt returns the part of an array that is n bytes after its start.
func (ts types) elementAt(e *dwarf.Entry, in []*dwarf.Entry, n uint64, depth int) (part, bool) {
	size, ok := ts.sizeInBytes(typeOf(e))
	dims := ts.dimensionsOf(in)
	if !ok || isStrided(e) || len(dims) == 0 {
		return part{}, false
	}
	index, ok := formatSubscripts(dims, n/size, ts.lang)
	if !ok {
		return part{}, false
	}
	p, ok := ts.partAt(typeOf(e), n%size, depth+1)
	p.path = index + p.path
	return p, ok
}

// isStrided reports whether the elements of an array may have gaps between them.
func isStrided(e *dwarf.Entry) bool {
	return e.Val(dwarf.AttrStrideSize) != nil || e.Val(dwarf.AttrStride) != nil || e.Val(dwarf.AttrDataLocation) != nil
}

// formatSubscripts formats the subscripts of element number i of an array: in Fortran the first changes
// fastest, otherwise the last.
func formatSubscripts(dims []dimension, i uint64, lang language) (string, bool) {
	order := slices.Clone(dims)
	if !lang.fortran {
		slices.Reverse(order)
	}
	var out []string
	for k, d := range order {
		at := i
		switch {
		case !d.bound:
			return "", false
		case k < len(order)-1 && d.count < 1: // only the slowest may be unknown
			return "", false
		case k < len(order)-1:
			at, i = i%uint64(d.count), i/uint64(d.count)
		case d.count > 0 && i >= uint64(d.count):
			return "", false
		}
		out = append(out, fmt.Sprint(d.low+int64(at)))
	}
	if lang.fortran {
		return "(" + strings.Join(out, ",") + ")", true
	}
	slices.Reverse(out)
	return "[" + strings.Join(out, "][") + "]", true
}
