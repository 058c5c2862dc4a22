package symbolize

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// Allocated names the data at addr by the allocatable array of Fortran that it lies
// in, among the variables of a module: "locks(3)". Such an array has no gaps. word
// reads 8 bytes of the target. It is not ok if addr lies in none.
func (s *Symbolizer) Allocated(mod *callbacks.Module, addr uint64, word func(uint64) (uint64, bool)) (name string,
	ok bool) {
	_ = s.locked(mod.Low.Offset, func(m *module, _ uint64) (err error) {
		defer elfx.Recover("variables", &err)
		for _, v := range m.variables().list {
			if !v.lang.fortran {
				continue
			}
			a := allocated{types: m.vars.types(v.lang), lies: v.addr + m.mod.Bias, word: word}
			if path, found := a.element(v.typ, addr); found {
				name, ok = v.name+path, true
				return nil
			}
		}
		return nil
	})
	return name, ok
}

// allocated is an array whose descriptor lies at an address.
type allocated struct {
	types
	lies uint64
	word func(uint64) (uint64, bool)
}

// element names the element of an array of one dimension that lies at addr.
func (a allocated) element(typ dwarf.Offset, addr uint64) (path string, ok bool) {
	e, in, _ := a.plain(typ)
	if e == nil || e.Tag != dwarf.TagArrayType || len(in) != 1 || e.Val(dwarf.AttrAllocated) == nil {
		return "", false
	}
	base, ok1 := a.value(e.Val(dwarf.AttrDataLocation))
	size, ok2 := a.size(typeOf(e))
	low, ok3 := a.value(in[0].Val(dwarf.AttrLowerBound))
	count, ok4 := a.value(in[0].Val(dwarf.AttrCount))
	if high, ok := a.value(in[0].Val(dwarf.AttrUpperBound)); ok {
		count, ok4 = high-low+1, true
	}
	if !ok1 || !ok2 || !ok3 || !ok4 || base == 0 || addr < base || count > maxSize/size || addr-base >= count*size {
		return "", false
	}
	p, ok := a.at(typeOf(e), (addr-base)%size, 0)
	return fmt.Sprintf("(%d)%s", int64(low+(addr-base)/size), p.path), ok
}

// value is a number, or what lies at a fixed place in the descriptor.
func (a allocated) value(v any) (uint64, bool) {
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
