package symbolize

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// Bounds on the search for objects that pointers lead to.
const (
	// maxPointees bounds the objects, and maxPointees times pointeeReads the bytes that are read for them.
	maxPointees = 1 << 14
	// pointeeReads is the number of bytes read at once.
	pointeeReads = 64 << 10
	// maxFollowed bounds the pointers between a variable and an object: table[3]->lock has two.
	maxFollowed = 2
	// maxTypePointers bounds the pointers in a value of one type.
	maxTypePointers = 1 << 12
)

// PointerReader reads the target for names of data that pointers lead to.
type PointerReader struct {
	Read func(addr uint64, p []byte) error
	// End returns the end of the heap block with an array of elements of a size that starts at addr; 0 if there is
	// none.
	End func(addr, size uint64) uint64
}

// Pointees are objects to which pointers in variables of a program lead: directly, through members (a std::vector's
// elements), or through another such object. Each is an array of elements, or a single object.
type Pointees struct {
	reader  PointerReader
	list    []pointee
	seen    map[pointeeKey]bool
	inTypes *typePointers
}

// typePointers has the pointers in values of types. They stay the same, so they outlive the Pointees of one look.
type typePointers struct {
	mu    sync.Mutex
	known map[typeKey][]pointer
	size  int // pointers in known
}

// maxKeptPointers bounds the pointers in types that are kept, of about 60 bytes each.
const maxKeptPointers = 1 << 16

// of returns the pointers in a value of a type.
func (tp *typePointers) of(ts types, typ dwarf.Offset) []pointer {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	key := typeKey{ts.data, typ}
	out, known := tp.known[key]
	if known {
		return out
	}
	out = slices.Clip(ts.pointersIn(nil, typ, 0, "", 0))
	if tp.size+1+len(out) <= maxKeptPointers {
		if tp.known == nil {
			tp.known = map[typeKey][]pointer{}
		}
		tp.known[key] = out
		tp.size += 1 + len(out)
	}
	return out
}

// pointee is an object to which a pointer leads.
type pointee struct {
	types
	typ       dwarf.Offset // of an element
	size      uint64       // of an element
	low, high uint64
	limit     uint64 // end of its block, which may have room for further elements
	counted   bool   // its container has the number of elements
	single    bool   // it is no array
	ref       bool   // the pointer is a reference
	from      int    // the pointee that contains the pointer; -1 for a variable
	index     uint64 // the element of from
	path      string // of the pointer in the element; the name of the variable with its member
	function  string // of a local variable
	followed  int    // pointers followed
}

// pointeeKey identifies a pointee.
type pointeeKey struct {
	addr uint64
	typeKey
}

// typeKey identifies a type.
type typeKey struct {
	data *dwarf.Data
	typ  dwarf.Offset
}

// pointer is a pointer in a value.
type pointer struct {
	off  uint64
	path string
	to   dwarf.Offset // the type of its target
	size uint64       // of the target
	ref  bool
	end  uint64 // offset of the pointer past the end of the elements, if it is not that of p
}

// NewPointees returns no objects.
func (s *Symbolizer) NewPointees(r PointerReader) *Pointees {
	return &Pointees{reader: r, seen: map[pointeeKey]bool{}, inTypes: &s.inTypes}
}

// AddPointeesOf adds the objects to which pointers in the static variables of a module lead.
func (s *Symbolizer) AddPointeesOf(mod *callbacks.Module, to *Pointees) {
	_ = s.withModule(mod.Low.Offset, func(m *module, _ uint64) (err error) {
		defer elfx.Recover("variables", &err)
		first := len(to.list)
		for _, v := range m.variables().list {
			at := v.addr + m.mod.Bias
			to.addFrom(m.vars.typesIn(v.lang), v.typ, at, nil, pointee{from: -1, path: v.name})
		}
		to.expand(first)
		return nil
	})
}

// AddLocalPointees adds the objects to which pointers in local variables of the functions of a frame lead.
func (s *Symbolizer) AddLocalPointees(f Activation, to *Pointees) {
	first := len(to.list)
	s.walkLocals(f, (*module).variables, func(l *locals) {
		l.word = func(addr uint64) (uint64, bool) {
			var b [8]byte
			err := to.reader.Read(addr, b[:])
			return binary.LittleEndian.Uint64(b[:]), err == nil
		}
		l.visit = func(e *dwarf.Entry, in scope) {
			name, typ := l.vs.nameAndType(e)
			if name == "" || name[0] == '.' || typ == 0 || len(to.pointersOf(l.types, typ)) == 0 {
				return
			}
			loc := l.vs.locationAt(e, l.unit, l.pc)
			if _, fixed := l.vs.fixedAddress(loc, newUnit(l.unit)); fixed || len(loc) == 0 {
				return // a static variable
			}
			v, isValue, ok := l.evaluate(loc)
			if !ok {
				return
			}
			var value []byte
			if isValue {
				value = binary.LittleEndian.AppendUint64(nil, v)
			}
			to.addFrom(l.types, typ, v, value, pointee{from: -1, path: name, function: l.nameOf(in.function)})
		}
	})
	func() {
		var err error
		defer elfx.Recover("variables", &err)
		to.expand(first)
	}()
}

// Complete ends the search. The target is not read any more, and may be closed.
func (ps *Pointees) Complete() { ps.reader, ps.seen = PointerReader{}, nil }

// expand adds the objects to which pointers in the pointees from index first on lead.
func (ps *Pointees) expand(first int) {
	for i := first; i < len(ps.list); i++ {
		e := ps.list[i]
		if e.followed >= maxFollowed || len(ps.pointersOf(e.types, e.typ)) == 0 {
			continue
		}
		count := (e.high - e.low) / e.size
		atOnce := max(1, pointeeReads/e.size)
		for k := uint64(0); k < count && len(ps.list) < maxPointees; k += atOnce {
			data := make([]byte, min(atOnce, count-k)*e.size)
			if e.size > pointeeReads || ps.reader.Read(e.low+k*e.size, data) != nil {
				break
			}
			for n := uint64(0); n*e.size < uint64(len(data)); n++ {
				at := e.low + (k+n)*e.size
				ps.addFrom(e.types, e.typ, at, data[n*e.size:], pointee{from: i, index: k + n, function: e.function,
					followed: e.followed})
			}
		}
	}
}

// addFrom adds the objects to which pointers in a value of a type at an address lead. data is the value, nil to read
// it. base describes the value.
func (ps *Pointees) addFrom(ts types, typ dwarf.Offset, at uint64, data []byte, base pointee) {
	for _, p := range ps.pointersOf(ts, typ) {
		var word [8]byte
		switch {
		case len(ps.list) >= maxPointees:
			return
		case data == nil:
			if ps.reader.Read(at+p.off, word[:]) != nil {
				return
			}
		case p.off+uint64(len(word)) > uint64(len(data)):
			continue
		default:
			copy(word[:], data[p.off:])
		}
		low := binary.LittleEndian.Uint64(word[:])
		finish, counted := ps.finishOf(p, at, data)
		key := pointeeKey{low, typeKey{ts.data, p.to}}
		if low == 0 || low+p.size < low || ps.seen[key] {
			continue
		}
		ps.seen[key] = true
		e := base
		e.types, e.typ, e.size, e.low, e.high = ts, p.to, p.size, low, low+p.size
		e.limit, e.counted = e.high, false
		e.ref, e.single, e.followed = p.ref, true, base.followed+1
		e.path += p.path
		end := ps.reader.End(low, p.size)
		if !p.ref && end >= low+2*p.size {
			e.high, e.limit, e.single = end, end, false
		}
		if counted && finish > low && finish <= end && (finish-low)%p.size == 0 {
			e.high, e.limit, e.counted, e.single = finish, end, true, false
		}
		ps.list = append(ps.list, e)
	}
}

// finishOf returns the pointer past the end of the elements that pointer p leads to, if p is a member of a container
// that has one. The container is in a value at an address. data is the value, nil to read it.
func (ps *Pointees) finishOf(p pointer, at uint64, data []byte) (finish uint64, ok bool) {
	var word [8]byte
	switch {
	case p.end == p.off:
		return 0, false
	case data == nil:
		ok = ps.reader.Read(at+p.end, word[:]) == nil
	case p.end+uint64(len(word)) <= uint64(len(data)):
		ok = copy(word[:], data[p.end:]) == len(word)
	}
	return binary.LittleEndian.Uint64(word[:]), ok
}

// pointersOf returns the pointers in a value of a type whose targets may contain a lock or further pointers.
func (ps *Pointees) pointersOf(ts types, typ dwarf.Offset) []pointer { return ps.inTypes.of(ts, typ) }

// pointersIn appends the pointers in a part of a value to out. The part has a type, an offset and a path.
func (ts types) pointersIn(out []pointer, typ dwarf.Offset, off uint64, path string, depth int) []pointer {
	e, in, lock := ts.resolvePlain(typ)
	if e == nil || lock || depth > maxTypeDepth || len(out) >= maxTypePointers {
		return out
	}
	switch e.Tag {
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		to := typeOf(e)
		target, _, _ := ts.resolvePlain(to)
		if target == nil || target.Tag == dwarf.TagBaseType || target.Tag == dwarf.TagSubroutineType {
			return out
		}
		if size, ok := ts.sizeInBytes(to); ok {
			out = append(out, pointer{off, path, to, size, e.Tag != dwarf.TagPointerType, off})
		}
	case dwarf.TagStructType, dwarf.TagClassType:
		for _, f := range in {
			at, ok := f.Val(dwarf.AttrDataMemberLoc).(int64)
			if f.Tag != dwarf.TagMember && f.Tag != dwarf.TagInheritance || !ok || at < 0 {
				continue
			}
			inner := path
			name, _ := f.Val(dwarf.AttrName).(string)
			if slices.Contains(endPointers, name) {
				continue
			}
			if name != "" && f.Tag == dwarf.TagMember {
				inner += ts.memberPath(name)
			}
			first := len(out)
			out = ts.pointersIn(out, typeOf(f), off+uint64(at), inner, depth+1)
			if end, ok := endMember(in, name); ok && len(out) == first+1 {
				out[first].end = off + end
			}
		}
	case dwarf.TagArrayType:
		out = ts.pointersInArray(out, e, in, off, path, depth)
	}
	return out
}

// endPointers are members of containers of the C++ libraries that point past the end of elements.
var endPointers = []string{"_M_finish", "_M_end_of_storage", "_M_last", "__end_", "__end_cap_", "__cap_"}

// endMember returns the offset of the pointer past the end of the elements of a std::vector, by the name of the pointer
// to the first one. members are those of its class.
func endMember(members []*dwarf.Entry, start string) (off uint64, ok bool) {
	end := map[string]string{"_M_start": "_M_finish", "__begin_": "__end_"}[start]
	if end == "" {
		return 0, false
	}
	for _, f := range members {
		at, fixed := f.Val(dwarf.AttrDataMemberLoc).(int64)
		if name, _ := f.Val(dwarf.AttrName).(string); name == end && fixed && at >= 0 {
			return uint64(at), true
		}
	}
	return 0, false
}

// pointersInArray appends the pointers in the elements of an array to out.
func (ts types) pointersInArray(out []pointer, e *dwarf.Entry, in []*dwarf.Entry, off uint64, path string, depth int,
) []pointer {
	size, ok := ts.sizeInBytes(typeOf(e))
	dims := ts.dimensionsOf(in)
	count := int64(1)
	for _, d := range dims {
		if d.count < 1 || count > maxTypePointers {
			return out
		}
		count *= d.count
	}
	if !ok || isStrided(e) || len(dims) == 0 || len(ts.pointersIn(nil, typeOf(e), 0, "", depth+1)) == 0 {
		return out
	}
	for i := uint64(0); i < uint64(count) && len(out) < maxTypePointers; i++ {
		index, ok := formatSubscripts(dims, i, ts.lang)
		if !ok {
			return out
		}
		out = ts.pointersIn(out, typeOf(e), off+i*size, path+index, depth+1)
	}
	return out
}

// libraryMembers matches members of classes of the C++ libraries: a program does not know these names. Those of LLVM's
// end in an underscore.
var libraryMembers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\.(_M_\w+|__\w+_)\b)+`)
})

// WithoutLibraryMembers returns the name of data without members of the C++ library's classes.
func WithoutLibraryMembers(name string) string {
	if !strings.Contains(name, "._") {
		return name
	}
	return libraryMembers().ReplaceAllString(name, "")
}

// Name names the lock at addr by a variable from which pointers lead to it: "g.locks[2]", "table[1]->fork". function
// is that of a local variable. ok is false if the debug information has no lock there. The first such object counts.
func (ps *Pointees) Name(addr uint64) (name, function string, ok bool) {
	err := error(nil)
	defer elfx.Recover("variables", &err)
	if ps.isPastArray(addr) {
		return "", "", false
	}
	for i := range ps.list {
		e := &ps.list[i]
		if addr < e.low || addr >= e.high {
			continue
		}
		off := addr - e.low
		p, found := e.partAt(e.typ, off%e.size, 0)
		if !found || !p.lock {
			continue
		}
		if name, ok = ps.elementName(i, off/e.size, p.path); ok {
			return name, e.function, true
		}
	}
	return "", "", false
}

// blockHeader is the size of malloc's data between two blocks, in bytes.
const blockHeader = 8

// isPastArray reports whether addr is in malloc's data after an array: a pointer there marks the end of the array. The
// room in a block after the elements of a container counts, too.
func (ps *Pointees) isPastArray(addr uint64) bool {
	return slices.ContainsFunc(ps.list, func(e pointee) bool {
		return !e.single && addr >= e.high && addr < e.limit+blockHeader
	})
}

// Elements are the elements of a container of the C++ library.
type Elements struct {
	Name      string // of the container
	Function  string // of the local variable that has it; "" for a static one
	Low, High uint64
	Size      uint64 // of an element
}

// ElementsAt returns the elements of the container whose first element is at addr.
func (ps *Pointees) ElementsAt(addr uint64) (out Elements, ok bool) {
	err := error(nil)
	defer elfx.Recover("variables", &err)
	for i := range ps.list {
		e := &ps.list[i]
		if !e.counted || e.low != addr {
			continue
		}
		name, ok := WithoutLibraryMembers(e.path), true
		if e.from >= 0 {
			name, ok = ps.elementName(e.from, e.index, e.path)
		}
		if ok {
			return Elements{name, e.function, e.low, e.high, e.size}, true
		}
	}
	return Elements{}, false
}

// smallestBlock is the size of the smallest block of the heap, in bytes. It may have one element, or several.
const smallestBlock = 24

// blockStep is the difference between the sizes of blocks, in bytes. A block may be larger than malloc was asked for by
// that much: it splits no smaller rest off.
const blockStep = 16

// mayBeOne reports whether a block may have been allocated for one element: the smallest block, or one with less
// room to spare than malloc would have split off. No container of the C++ library is known to have it.
func (e *pointee) mayBeOne() bool {
	room := e.high - e.low
	spare := e.size >= blockStep && room <= (e.size+blockHeader+blockStep-1)/blockStep*blockStep-blockHeader+blockStep
	return (room <= smallestBlock || spare) && WithoutLibraryMembers(e.path) == e.path
}

// elementName names a part of element k of pointee i.
func (ps *Pointees) elementName(i int, k uint64, path string) (name string, ok bool) {
	e := &ps.list[i]
	if strings.HasSuffix(e.path, "._M_map") { // the pieces of a std::deque have no index of their own
		return "", false
	}
	path = WithoutLibraryMembers(path)
	base, ok := WithoutLibraryMembers(e.path), true
	if e.from >= 0 {
		base, ok = ps.elementName(e.from, e.index, e.path)
	}
	member := strings.HasPrefix(path, ".")
	switch {
	case !ok:
		return "", false
	case e.ref, e.lang.fortran && k == 0:
		return base + path, true
	case e.lang.fortran:
		return "", false
	case !e.single && !(k == 0 && e.mayBeOne()):
		return fmt.Sprintf("%s[%d]%s", base, k, path), true
	case member:
		return base + "->" + path[1:], true
	case path != "":
		return "(*" + base + ")" + path, true
	}
	return "*" + base, true
}
