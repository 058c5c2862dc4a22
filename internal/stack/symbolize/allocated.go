package symbolize

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// AllocatedName names the data at addr by the allocatable Fortran array that contains it, among the
// variables of a module: "locks(3)". Such an array has no gaps. word reads 8 bytes of the target.
// ok is false if no array contains addr.
func (s *Symbolizer) AllocatedName(mod *callbacks.Module, addr uint64, word func(uint64) (uint64, bool)) (name string,
	ok bool) {
	_ = s.withModule(mod.Low.Offset, func(m *module, _ uint64) (err error) {
		defer elfx.Recover("variables", &err)
		for _, v := range m.variables().list {
			if !v.lang.fortran {
				continue
			}
			a := allocatedArray{types: m.vars.typesIn(v.lang), lies: v.addr + m.mod.Bias, word: word}
			if path, found := a.elementName(v.typ, addr); found {
				name, ok = v.name+path, true
				return nil
			}
		}
		return nil
	})
	return name, ok
}

// allocatedArray is an array with the address of its descriptor.
type allocatedArray struct {
	types
	lies uint64
	word func(uint64) (uint64, bool)
}

// elementName returns the name of the element at addr of a one-dimensional array.
func (a allocatedArray) elementName(typ dwarf.Offset, addr uint64) (path string, ok bool) {
	e, in, _ := a.resolvePlain(typ)
	if e == nil || e.Tag != dwarf.TagArrayType || len(in) != 1 || e.Val(dwarf.AttrAllocated) == nil {
		return "", false
	}
	base, ok1 := a.readValue(e.Val(dwarf.AttrDataLocation))
	size, ok2 := a.sizeInBytes(typeOf(e))
	low, ok3 := a.readValue(in[0].Val(dwarf.AttrLowerBound))
	count, ok4 := a.readValue(in[0].Val(dwarf.AttrCount))
	if high, ok := a.readValue(in[0].Val(dwarf.AttrUpperBound)); ok {
		count, ok4 = high-low+1, true
	}
	if !ok1 || !ok2 || !ok3 || !ok4 || base == 0 || addr < base || count > maxSize/size || addr-base >= count*size {
		return "", false
	}
	p, ok := a.partAt(typeOf(e), (addr-base)%size, 0)
	return fmt.Sprintf("(%d)%s", int64(low+(addr-base)/size), p.path), ok
}

// readValue returns a constant, or reads a number at a fixed offset in the descriptor.
func (a allocatedArray) readValue(v any) (uint64, bool) {
	const pushObject, deref = 0x97, 0x06
	switch v := v.(type) {
	case int64:
		return uint64(v), true
	case []byte:
		if len(v) == 2 && v[0] == pushObject && v[1] == deref {
			return a.word(a.lies)
		}
		if len(v) < 4 || v[0] != pushObject || v[1] != opPlusConst {
			return 0, false
		}
		if off, n := binary.Uvarint(v[2:]); n > 0 && len(v) == 3+n && v[2+n] == deref {
			return a.word(a.lies + off)
		}
	}
	return 0, false
}
