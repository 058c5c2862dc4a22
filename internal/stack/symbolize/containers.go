package symbolize

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Bounds on one container. A damaged list may be a circle, and a damaged length any number.
const (
	// maxNodes bounds the nodes of a list or a tree that are visited to find one element.
	maxNodes = 1 << 14
	// maxCount bounds the elements that a container may claim to have.
	maxCount = 1 << 40
)

// sequence is a list of elements: those of an array, or of a container of C++.
type sequence struct {
	typ   dwarf.Offset // of an element
	count int64
	// at returns the place of element i; ok is false if it cannot be found. Calls with ascending i are cheap.
	at func(i int64) (p place, ok bool)
	// name returns the name of element i, in the notation of its language.
	name func(i int64) string
	// keyed means that the elements are pairs of a key and a value.
	keyed bool
}

// pointed is a smart pointer: the type and the address of its object.
type pointed struct {
	typ dwarf.Offset
	to  uint64
}

// object is a class of a library of C++ at a place.
type object struct {
	d    *decoder
	typ  *dwarf.Entry
	in   []*dwarf.Entry
	at   place
	name string // without the arguments of the template
}

// objectAt returns the class at a place; false for types that are none, and in other languages than C++.
func (d *decoder) objectAt(e *dwarf.Entry, in []*dwarf.Entry, p place) (o object, ok bool) {
	if e == nil || e.Tag != dwarf.TagStructType && e.Tag != dwarf.TagClassType || p.data != nil || d.lang.fortran {
		return o, false
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	name, _, _ = strings.Cut(name, "<")
	return object{d: d, typ: e, in: in, at: p, name: name}, name != ""
}

// part returns the member of an object that a path leads to: names with dots between them. A member of a base class
// counts as one of the object.
func (o object) part(path string) (f *dwarf.Entry, p place, ok bool) {
	in, p := o.in, o.at
	for name := range strings.SplitSeq(path, ".") {
		var within place
		if f, within, ok = o.d.memberOf(in, p, name, 0); !ok {
			return nil, p, false
		}
		at, _ := f.Val(dwarf.AttrDataMemberLoc).(int64)
		p = within.advance(uint64(at))
		_, in, _ = o.d.resolvePlain(typeOf(f))
	}
	return f, p, true
}

// word returns the number of 8 bytes in a member.
func (o object) word(path string) (uint64, bool) {
	_, p, ok := o.part(path)
	if !ok {
		return 0, false
	}
	return o.d.wordAt(p.addr)
}

// wordAt reads the 8 bytes at an address.
func (d *decoder) wordAt(addr uint64) (uint64, bool) {
	var b [8]byte
	err := d.read(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), err == nil
}

// target returns the type of the object that a member, which is a pointer, points to.
func (o object) target(path string) dwarf.Offset {
	f, _, ok := o.part(path)
	if !ok {
		return 0
	}
	e, _, _ := o.d.resolvePlain(typeOf(f))
	if e == nil || e.Tag != dwarf.TagPointerType {
		return 0
	}
	return typeOf(e)
}

// argument returns an argument of the template of a class, by its parameter's name.
func argument(in []*dwarf.Entry, name string) dwarf.Offset {
	for _, e := range in {
		if declared, _ := e.Val(dwarf.AttrName).(string); declared == name && e.Tag == dwarf.TagTemplateTypeParameter {
			return typeOf(e)
		}
	}
	return 0
}

// argumentOf returns an argument of the template of a member's class.
func (o object) argumentOf(path, name string) dwarf.Offset {
	f, _, ok := o.part(path)
	if !ok {
		return 0
	}
	_, in, _ := o.d.resolvePlain(typeOf(f))
	return argument(in, name)
}

// indexed returns the name of an element by its number.
func indexed(i int64) string { return "[" + strconv.FormatInt(i, 10) + "]" }

// sequence returns the elements of a container; ok is false if the object is none that is known, or has no elements
// at its place. The members are those of libstdc++ from GCC 5 on, and of libc++ from LLVM 14 on.
func (o object) sequence() (s sequence, ok bool) {
	switch o.name {
	case "vector":
		return o.vector()
	case "array":
		return o.array()
	case "deque":
		return o.deque()
	case "map", "multimap", "set", "multiset":
		return o.tree()
	case "unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset":
		return o.hashed()
	case "list", "forward_list":
		return o.list()
	}
	return s, false
}

// span returns the elements of a type between two addresses.
func (o object) span(typ dwarf.Offset, from, to uint64) (s sequence, ok bool) {
	size, sized := o.d.sizeInBytes(typ)
	if !sized || to < from || (to-from)%size != 0 || to-from > maxCount {
		return s, false
	}
	return sequence{typ: typ, count: int64((to - from) / size), name: indexed,
		at: func(i int64) (place, bool) { return place{addr: from + uint64(i)*size}, true }}, true
}

// vector returns the elements of a std::vector.
func (o object) vector() (s sequence, ok bool) {
	if s, ok := o.bits(); ok {
		return s, true
	}
	for _, names := range [][2]string{{"_M_impl._M_start", "_M_impl._M_finish"}, {"__begin_", "__end_"}} {
		from, ok1 := o.word(names[0])
		to, ok2 := o.word(names[1])
		if typ := o.target(names[0]); ok1 && ok2 && typ != 0 {
			return o.span(typ, from, to)
		}
	}
	return s, false
}

// bits returns the elements of a std::vector<bool>, which are bits of words.
func (o object) bits() (s sequence, ok bool) {
	const bitsOfWord, bytesOfWord = 64, 8
	var from, skipped, count uint64
	if start, ok1 := o.word("_M_impl._M_start._M_p"); ok1 {
		finish, ok2 := o.word("_M_impl._M_finish._M_p")
		first, ok3 := o.number("_M_impl._M_start._M_offset")
		last, ok4 := o.number("_M_impl._M_finish._M_offset")
		if !ok2 || !ok3 || !ok4 || finish < start || first >= bitsOfWord || last >= bitsOfWord ||
			finish-start > maxCount {
			return s, false
		}
		from, skipped, count = start, first, (finish-start)/bytesOfWord*bitsOfWord+last
		if count < skipped {
			return s, false
		}
		count -= skipped
	} else if start, ok1 := o.word("__begin_"); ok1 {
		if _, _, plain := o.part("__end_"); plain {
			return s, false
		}
		n, ok := o.word("__size_")
		if !ok || n > maxCount {
			return s, false
		}
		from, count = start, n
	} else {
		return s, false
	}
	typ := argument(o.in, "_Tp")
	return sequence{typ: typ, count: int64(count), name: indexed, at: func(i int64) (place, bool) {
		bit := uint64(i) + skipped
		word, ok := o.d.wordAt(from + bit/bitsOfWord*bytesOfWord)
		return place{data: []byte{byte(word >> (bit % bitsOfWord) & 1)}}, ok
	}}, typ != 0
}

// number returns the unsigned number of up to 8 bytes in a member.
func (o object) number(path string) (uint64, bool) {
	f, p, ok := o.part(path)
	if !ok {
		return 0, false
	}
	size, sized := o.d.sizeInBytes(typeOf(f))
	var b [8]byte
	if !sized || size > uint64(len(b)) || o.d.read(p.addr, b[:size]) != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// array returns the elements of a std::array.
func (o object) array() (s sequence, ok bool) {
	for _, name := range []string{"_M_elems", "__elems_"} {
		f, p, ok := o.part(name)
		if !ok {
			continue
		}
		if e, in, _ := o.d.resolvePlain(typeOf(f)); e != nil && e.Tag == dwarf.TagArrayType {
			if shape, why := o.d.shapeOf(e, in, p); why == "" && len(shape.dims) == 1 {
				return o.span(typeOf(e), p.addr, p.addr+shape.size*uint64(shape.count))
			}
		}
	}
	return s, false
}

// blocks returns the elements of libc++'s std::deque: blocks of 4096 bytes, or of 16 large elements, with an array of
// pointers to them.
func (o object) blocks() (s sequence, ok bool) {
	typ := argument(o.in, "_Tp")
	size, sized := o.d.sizeInBytes(typ)
	table, ok1 := o.word("__map_.__begin_")
	skipped, ok2 := o.word("__start_")
	count, ok3 := o.word("__size_.__value_")
	if !ok3 {
		count, ok3 = o.word("__size_")
	}
	if !sized || size == 0 || !ok1 || !ok2 || !ok3 || count > maxCount || skipped > maxCount {
		return s, false
	}
	const blockBytes, largeSize, largeElements = 4096, 256, 16
	each := uint64(largeElements)
	if size < largeSize {
		each = blockBytes / size
	}
	return sequence{typ: typ, count: int64(count), name: indexed, at: func(i int64) (place, bool) {
		n := uint64(i) + skipped
		block, ok := o.d.wordAt(table + n/each*8)
		return place{addr: block + n%each*size}, ok
	}}, true
}

// deque returns the elements of a std::deque. libstdc++ has blocks of 512 bytes, or of one element, with an array of
// pointers to them.
func (o object) deque() (s sequence, ok bool) {
	if s, ok := o.blocks(); ok {
		return s, true
	}
	typ := o.target("_M_impl._M_start._M_cur")
	size, sized := o.d.sizeInBytes(typ)
	var w [6]uint64
	for i, name := range []string{"_M_start._M_cur", "_M_start._M_first", "_M_start._M_node", "_M_finish._M_cur",
		"_M_finish._M_first", "_M_finish._M_node"} {
		if w[i], ok = o.word("_M_impl." + name); !ok {
			return s, false
		}
	}
	const blockBytes = 512
	each := max(int64(blockBytes/max(size, 1)), 1)
	if !sized || w[0] < w[1] || w[3] < w[4] || w[5] < w[2] || (w[5]-w[2])/8 > maxCount/blockBytes {
		return s, false
	}
	skipped := int64((w[0] - w[1]) / size)
	count := int64((w[5]-w[2])/8)*each + int64((w[3]-w[4])/size) - skipped
	return sequence{typ: typ, count: count, name: indexed, at: func(i int64) (place, bool) {
		block, ok := o.d.wordAt(w[2] + uint64((i+skipped)/each)*8)
		return place{addr: block + uint64((i+skipped)%each)*size}, ok
	}}, count >= 0
}

// linked returns the elements in nodes, each of which next leads to: first is the node of the first element, and
// the value of a node is offset bytes after its address.
func linked(typ dwarf.Offset, count int64, first, offset uint64, next func(node uint64) (uint64, bool)) sequence {
	node, number, known := first, int64(0), first != 0
	return sequence{typ: typ, count: count, name: indexed, at: func(i int64) (place, bool) {
		if i < number {
			node, number, known = first, 0, first != 0
		}
		for ; number < i && known && number < maxNodes; number++ {
			node, known = next(node)
			known = known && node != 0
		}
		return place{addr: node + offset}, known && number == i
	}}
}

// followNext returns the word at the start of a node: the next node of a list.
func (o object) followNext(node uint64) (uint64, bool) { return o.d.wordAt(node) }

// afterHeader returns the offset of a value of a type after the members of a node.
func (o object) afterHeader(typ dwarf.Offset, size uint64) uint64 {
	align := o.d.alignOf(typ, 0)
	return (size + align - 1) &^ (align - 1)
}

// list returns the elements of a std::list or a std::forward_list.
func (o object) list() (s sequence, ok bool) {
	typ := argument(o.in, "_Tp")
	if typ == 0 {
		return s, false
	}
	const links, link = 16, 8
	for _, at := range []string{"_M_impl._M_head._M_next", "__before_begin_.__value_.__next_"} {
		first, ok := o.word(at)
		if !ok {
			continue
		}
		s := linked(typ, 0, first, o.afterHeader(typ, link), o.followNext)
		for node := first; ok && node != 0 && s.count < maxNodes; s.count++ { // it has no length
			node, ok = o.d.wordAt(node)
		}
		return s, true
	}
	for _, at := range []string{"_M_impl._M_node", "__end_"} {
		_, header, found := o.part(at)
		if !found {
			continue
		}
		next := header.addr
		if at == "__end_" {
			next += link // libc++ has the previous node first
		}
		first, ok := o.d.wordAt(next)
		follow := func(node uint64) (uint64, bool) { return o.d.wordAt(node + next - header.addr) }
		s := linked(typ, 0, first, o.afterHeader(typ, links), follow)
		for node := first; ok && node != header.addr && node != 0 && s.count < maxNodes; s.count++ {
			node, ok = follow(node)
		}
		return s, ok
	}
	return s, false
}

// hashed returns the elements of an unordered container, in the order of its list.
func (o object) hashed() (s sequence, ok bool) {
	isMap := strings.HasSuffix(o.name, "map")
	if first, ok := o.word("_M_h._M_before_begin._M_nxt"); ok {
		n, counted := o.word("_M_h._M_element_count")
		typ := o.argumentOf("_M_h", "_Value")
		if typ == 0 || !counted || n > maxCount {
			return s, false
		}
		s := linked(typ, int64(n), first, o.afterHeader(typ, 8), o.followNext)
		s.keyed = isMap
		return s, true
	}
	typ := o.argumentOf("__table_", "_Tp")
	first, ok := o.word("__table_.__p1_.__value_.__next_")
	n, counted := o.word("__table_.__p2_.__value_")
	if typ == 0 || !ok || !counted || n > maxCount {
		return s, false
	}
	s = linked(typ, int64(n), first, o.afterHeader(typ, 16), o.followNext)
	s.keyed = isMap
	return s, true
}

// links are the offsets of the pointers in a node of a tree, and the bytes before its value.
type links struct{ left, right, parent, header uint64 }

// tree returns the elements of a std::map, a std::set or one of their kin, in order.
func (o object) tree() (s sequence, ok bool) {
	stdlib := links{left: 16, right: 24, parent: 8, header: 32}
	llvm := links{left: 0, right: 8, parent: 16, header: 25}
	var typ dwarf.Offset
	var first, n uint64
	at := stdlib
	if first, ok = o.word("_M_t._M_impl._M_header._M_left"); ok {
		n, ok = o.word("_M_t._M_impl._M_node_count")
		typ = o.argumentOf("_M_t", "_Val")
	} else if first, ok = o.word("__tree_.__begin_node_"); ok {
		at = llvm
		if n, ok = o.word("__tree_.__pair3_.__value_"); !ok {
			n, ok = o.word("__tree_.__size_")
		}
		typ = o.argumentOf("__tree_", "_Tp")
	}
	if !ok || typ == 0 || n > maxCount {
		return s, false
	}
	s = linked(typ, int64(n), first, o.afterHeader(typ, at.header), func(node uint64) (uint64, bool) {
		return o.d.nextInTree(node, at)
	})
	s.keyed = strings.HasSuffix(o.name, "map")
	return s, true
}

// nextInTree returns the node of a tree after a node, in order.
func (d *decoder) nextInTree(node uint64, at links) (uint64, bool) {
	const maxHeight = 128 // of a balanced tree
	next, ok := d.wordAt(node + at.right)
	if next != 0 {
		for range maxHeight {
			left, more := d.wordAt(next + at.left)
			if left == 0 || !more {
				return next, ok && more
			}
			next = left
		}
		return 0, false
	}
	for range maxHeight {
		parent, more := d.wordAt(node + at.parent)
		right, has := d.wordAt(parent + at.right)
		if !ok || !more || !has || parent == 0 {
			return 0, false
		}
		if right != node {
			return parent, true
		}
		node = parent
	}
	return 0, false
}

// alignOf returns the alignment of a type in bytes.
func (d *decoder) alignOf(typ dwarf.Offset, depth int) uint64 {
	const most = 16 // of a type without an attribute
	e, in, _ := d.resolvePlain(typ)
	if e == nil || depth > maxTypeDepth {
		return 1
	}
	if n, ok := e.Val(dwarf.AttrAlignment).(int64); ok && n > 0 && n&(n-1) == 0 {
		return uint64(n)
	}
	switch e.Tag {
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		align := uint64(1)
		for _, f := range in {
			if isPart(f) {
				align = max(align, d.alignOf(typeOf(f), depth+1))
			}
		}
		return align
	case dwarf.TagArrayType:
		return d.alignOf(typeOf(e), depth+1)
	}
	size, ok := d.sizeInBytes(typ)
	if !ok || size&(size-1) != 0 {
		return 1
	}
	return min(size, most)
}

// pointer returns the object of a smart pointer.
func (o object) pointer() (to pointed, ok bool) {
	path := ""
	switch o.name {
	case "unique_ptr":
		if f, p, found := o.part("__ptr_"); found {
			return o.plainPointer(f, p)
		}
		return o.head()
	case "shared_ptr", "weak_ptr":
		path = "_M_ptr"
		if _, _, found := o.part("__ptr_"); found {
			path = "__ptr_"
		}
	default:
		return to, false
	}
	to.to, ok = o.word(path)
	to.typ = o.target(path)
	return to, ok && to.typ != 0
}

// plainPointer returns the object of the pointer that the first member of libc++'s std::unique_ptr is or has.
func (o object) plainPointer(f *dwarf.Entry, p place) (to pointed, ok bool) {
	to.typ = argument(o.in, "_Tp")
	if e, in, _ := o.d.resolvePlain(to.typ); e != nil && e.Tag == dwarf.TagArrayType && len(in) > 0 {
		to.typ = typeOf(e)
	}
	to.to, ok = o.d.wordAt(p.addr)
	return to, ok && to.typ != 0 && f != nil
}

// head returns the object of libstdc++'s std::unique_ptr: the first element of a tuple, whose base class has the
// number 0.
func (o object) head() (to pointed, ok bool) {
	f, p, ok := o.part("_M_t._M_t")
	if !ok {
		return to, false
	}
	at, typ := p, typeOf(f)
	for range maxTypeDepth {
		_, in, _ := o.d.resolvePlain(typ)
		var next *dwarf.Entry
		for _, f := range in {
			name, _ := f.Val(dwarf.AttrName).(string)
			first := strings.HasPrefix(o.d.typeName(typeOf(f), 0), "_Head_base<0")
			if f.Tag == dwarf.TagInheritance && (next == nil || first) {
				next = f
			}
			if f.Tag == dwarf.TagMember && name == "_M_head_impl" {
				e, _, _ := o.d.resolvePlain(typeOf(f))
				if e == nil || e.Tag != dwarf.TagPointerType {
					return to, false
				}
				off, _ := f.Val(dwarf.AttrDataMemberLoc).(int64)
				to.typ = typeOf(e)
				to.to, ok = o.d.wordAt(at.addr + uint64(off))
				return to, ok && to.typ != 0
			}
		}
		if next == nil {
			return to, false
		}
		off, _ := next.Val(dwarf.AttrDataMemberLoc).(int64)
		at, typ = at.advance(uint64(off)), typeOf(next)
	}
	return to, false
}

// text returns the text of a std::string or a std::string_view; ok is false for other objects, and for characters of
// more than a byte.
func (o object) text() (text string, ok bool) {
	if o.name != "basic_string" && o.name != "basic_string_view" {
		return "", false
	}
	from, n, ok := o.characters()
	if e, _, _ := o.d.resolvePlain(argument(o.in, "_CharT")); e == nil || !ok || n > maxCount {
		return "", false
	} else if size, _ := e.Val(dwarf.AttrByteSize).(int64); size != 1 {
		return "", false
	}
	b := make([]byte, min(n, maxString))
	if o.d.read(from, b) != nil && n > 0 {
		return "", false
	}
	text = strconv.Quote(string(b))
	if n > maxString {
		text += "…"
	}
	return text, true
}

// characters returns the address and the number of the characters of a string. libstdc++ has the address at the start
// of _M_dataplus, whose type may be declared only.
func (o object) characters() (from, n uint64, ok bool) {
	for _, names := range [][2]string{{"_M_dataplus", "_M_string_length"}, {"_M_str", "_M_len"},
		{"__data_", "__size_"}} {
		from, ok1 := o.word(names[0])
		n, ok2 := o.word(names[1])
		if ok1 && ok2 {
			return from, n, true
		}
	}
	// libc++: three words, whose lowest bit says whether they are capacity, length and address, or the characters
	// after a byte with the length.
	const words = 24
	_, p, ok := o.part("__r_")
	if size, _ := o.typ.Val(dwarf.AttrByteSize).(int64); !ok || size != words {
		return 0, 0, false
	}
	first, ok := o.d.wordAt(p.addr)
	if first&1 == 0 {
		return p.addr + 1, first & 0xff >> 1, ok
	}
	n, ok1 := o.d.wordAt(p.addr + 8)
	from, ok2 := o.d.wordAt(p.addr + 16)
	return from, n, ok && ok1 && ok2
}

// maxAlternatives bounds the alternatives of a std::variant.
const maxAlternatives = 256

// alternative returns the type and the place of the value in a std::variant; empty means that it has none.
func (o object) alternative() (typ dwarf.Offset, p place, empty, ok bool) {
	for _, names := range [][4]string{{"_M_index", "_M_u", "_M_rest", "_M_first"},
		{"__impl_.__index", "__impl_.__data", "__tail", "__head"}} {
		f, _, found := o.part(names[0])
		if !found {
			continue
		}
		size, _ := o.d.sizeInBytes(typeOf(f))
		index, readable := o.number(names[0])
		if readable && size > 0 && size < 8 && index == 1<<(8*size)-1 {
			return 0, p, true, true
		}
		if !readable || index >= maxAlternatives {
			return 0, p, false, false
		}
		path := names[1] + strings.Repeat("."+names[2], int(index)) + "." + names[3]
		if f, p, found = o.part(path + ".__value"); found {
			return typeOf(f), p, false, true
		}
		if _, p, found = o.part(path); !found {
			return 0, p, false, false
		}
		typ := o.argumentOf(path, "_Type")
		return typ, p, false, typ != 0
	}
	return 0, p, false, false
}

// wrapped returns the type and the place of the value in a std::atomic, a std::optional or a std::variant; empty means
// that it has none.
func (o object) wrapped() (typ dwarf.Offset, p place, empty, ok bool) {
	var f *dwarf.Entry
	switch o.name {
	case "variant":
		return o.alternative()
	case "atomic":
		for _, name := range []string{"_M_i", "_M_fp", "_M_b._M_p", "_M_base._M_i", "__a_.__a_value"} {
			if f, p, ok = o.part(name); ok {
				return typeOf(f), p, false, true
			}
		}
	case "optional":
		for _, names := range [][2]string{{"_M_payload._M_engaged", "_M_payload._M_payload._M_value"},
			{"__engaged_", "__val_"}} {
			_, at, ok1 := o.part(names[0])
			f, p, ok = o.part(names[1])
			var b [1]byte
			if ok && ok1 && o.d.read(at.addr, b[:]) == nil {
				return typeOf(f), p, b[0] == 0, true
			}
		}
	}
	return 0, p, false, false
}

// fillObject sets v to the value of an object of a library of C++; ok is false if its members are its value.
func (d *decoder) fillObject(v *Value, e *dwarf.Entry, in []*dwarf.Entry, p place, depth, pointers int) (ok bool) {
	o, ok := d.objectAt(e, in, p)
	if !ok {
		return false
	}
	if text, ok := o.text(); ok {
		v.Text = text
		return true
	}
	if s, ok := o.sequence(); ok {
		d.fillElements(v, s, depth, pointers)
		return true
	}
	if typ, at, empty, ok := o.wrapped(); ok {
		if empty {
			v.Text = "no value"
			return true
		}
		d.fill(v, typ, at, depth+1, pointers)
		return true
	}
	to, ok := o.pointer()
	if ok {
		d.fillPointee(v, to.typ, to.to, depth, pointers)
	}
	return ok
}

// fillElements adds the elements of a sequence to v: the requested ones for the value that was asked for, and the
// first ones for its parts.
func (d *decoder) fillElements(v *Value, s sequence, depth, pointers int) {
	first, most := d.first, int64(maxElements)
	if d.most > 0 {
		most = d.most
	}
	d.first, d.most = 0, 0
	if s.count == 0 {
		v.Text = "{}"
	}
	v.Count = s.count
	end := min(s.count, first+most)
	v.Cut = end < s.count
	for i := first; i < end; i++ {
		p, ok := s.at(i)
		if !ok {
			v.Cut = true
			return
		}
		m := Value{Name: s.name(i)}
		if d.fill(&m, s.typ, p, depth+1, pointers); s.keyed {
			m = keyed(m)
		}
		if v.Parts = append(v.Parts, m); d.left < 0 {
			v.Cut = true
			return
		}
	}
}

// keyed returns the value of an element of a map, which is a pair, with the key as its name. An element with a key
// of several parts stays as it is.
func keyed(m Value) Value {
	pair := m
	for len(pair.Parts) == 1 && strings.HasPrefix(pair.Parts[0].Name, "__c") { // a pair in libc++'s value type
		pair = pair.Parts[0]
	}
	if len(pair.Parts) == 0 {
		return m
	}
	n := len(pair.Parts)
	if n < 2 || pair.Parts[n-2].Name != "first" || pair.Parts[n-1].Name != "second" || pair.Parts[n-2].Text == "" {
		return m
	}
	key, value := pair.Parts[n-2].Text, pair.Parts[n-1]
	if !strings.HasPrefix(key, `"`) {
		key, _, _ = strings.Cut(key, " ")
	}
	value.Name = fmt.Sprintf("[%s]", key)
	return value
}
