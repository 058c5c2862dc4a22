package symbolize

import (
	"debug/dwarf"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// StaticVariable is a variable with a fixed address.
type StaticVariable struct {
	Name      string
	Low, High uint64 // its memory, [Low, High)
	// Lock and NoLock report, by debug information, that a lock starts at the address that was asked for, and that none
	// does. Both are false without debug information, and in a union.
	Lock, NoLock bool
	// Integer is the size in bytes of the integers of an array in Fortran, where locks are integers; 0 for other types.
	Integer uint64
}

// StaticAt returns the static variable around addr, whose size the symbol table has. ok is false if the variable or its
// size is unknown. free reports that no static variable is at addr: the table of symbols is complete, and has none.
func (s *Symbolizer) StaticAt(addr uint64) (v StaticVariable, ok, free bool) {
	_ = s.withModule(addr, func(m *module, a uint64) (err error) {
		defer elfx.Recover("variables", &err)
		sym, found := m.dataSymbolAt(a)
		if !found {
			free = !m.isStripped()
			return nil
		}
		if ok = sym.sized; !ok {
			return nil
		}
		bias := m.mod.Bias
		v = StaticVariable{Name: Demangle(sym.name), Low: sym.low + bias, High: sym.high + bias}
		for in := range m.variablesIn(sym) {
			ts := m.vars.typesIn(in.lang)
			if size, sized := ts.sizeInBytes(in.typ); !sized || a < in.addr || a-in.addr >= size {
				continue
			}
			if !in.member {
				v.Name = in.name
			}
			if !in.member {
				v.Integer = ts.integersOf(in.typ)
			}
			lock, known := ts.lockAt(in.typ, a-in.addr, 0)
			v.Lock, v.NoLock = v.Lock || known && lock, v.NoLock || known && !lock
		}
		if v.Lock && v.NoLock {
			v.Lock, v.NoLock = false, false
		}
		return nil
	})
	return v, ok, free
}

// lockAt reports whether a lock starts n bytes after the start of a value of the type at off. It is unknown in unions,
// and in Fortran, where locks are integers.
func (ts types) lockAt(off dwarf.Offset, n uint64, depth int) (lock, known bool) {
	e, in, lock := ts.resolvePlain(off)
	switch {
	case e == nil || depth > maxTypeDepth || ts.lang.fortran:
		return false, false
	case lock:
		return n == 0, true
	}
	switch e.Tag {
	case dwarf.TagBaseType, dwarf.TagEnumerationType, dwarf.TagPointerType:
		return false, true
	case dwarf.TagStructType, dwarf.TagClassType:
		for _, f := range in {
			at, ok := f.Val(dwarf.AttrDataMemberLoc).(int64)
			if f.Tag != dwarf.TagMember && f.Tag != dwarf.TagInheritance || !ok || at < 0 || n < uint64(at) {
				continue
			}
			if size, ok := ts.sizeInBytes(typeOf(f)); ok && n-uint64(at) < size {
				return ts.lockAt(typeOf(f), n-uint64(at), depth+1)
			}
		}
	case dwarf.TagArrayType:
		if size, ok := ts.sizeInBytes(typeOf(e)); ok && !isStrided(e) {
			return ts.lockAt(typeOf(e), n%size, depth+1)
		}
	}
	return false, false
}

// integersOf returns the size in bytes of the elements of an array of integers in Fortran, 0 for other types.
func (ts types) integersOf(off dwarf.Offset) uint64 {
	if !ts.lang.fortran {
		return 0
	}
	e, _, _ := ts.resolvePlain(off)
	if e == nil || e.Tag != dwarf.TagArrayType || isStrided(e) {
		return 0
	}
	if e, _, _ = ts.resolvePlain(typeOf(e)); e == nil || e.Tag != dwarf.TagBaseType {
		return 0
	}
	encoding, _ := e.Val(dwarf.AttrEncoding).(int64)
	size, _ := e.Val(dwarf.AttrByteSize).(int64)
	const signed = 5 // DW_ATE_signed
	if encoding != signed || size < 0 {
		return 0
	}
	return uint64(size)
}
