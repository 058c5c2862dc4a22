package symbolize

import (
	"cmp"
	"debug/dwarf"
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/dwarfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// maxVariableInfo bounds the debug information that is searched for a variable, in bytes: reading
// more takes seconds.
const maxVariableInfo = 64 << 20

// VariableName names the data at addr in the program's notation: "accts[1].lock", or just the variable;
// in Fortran "accts(2)%lock". ok is false without the debug information, or if there are several
// names.
func (s *Symbolizer) VariableName(addr uint64) (name string, ok bool) {
	_ = s.withModule(addr, func(m *module, a uint64) (err error) {
		defer elfx.Recover("variables", &err)
		name, ok = m.variableAt(a)
		return nil
	})
	return name, ok
}

// variableAt names the data at a file address.
func (m *module) variableAt(a uint64) (name string, ok bool) {
	sym, found := m.dataSymbolAt(a)
	if !found {
		return "", false
	}
	for v := range m.variablesIn(sym) {
		ts := m.vars.typesIn(v.lang)
		size, sized := ts.sizeInBytes(v.typ)
		if e, _, _ := ts.resolvePlain(v.typ); !sized && e != nil && isDeclared(e) {
			size, sized = sym.high-v.addr, sym.sized
		}
		if !sized || a < v.addr || a-v.addr >= size {
			continue
		}
		p, named := ts.partAt(v.typ, a-v.addr, 0)
		if !named || ok && name != v.name+p.path {
			return "", false
		}
		name, ok = v.name+p.path, true
	}
	return name, ok
}

// variable is a variable of the debug information.
type variable struct {
	name   string
	typ    dwarf.Offset
	addr   uint64 // in the file
	lang   language
	member bool // of a common block, which is one symbol
}

// variables are the static variables of a module, and the debug information for other variables.
type variables struct {
	file           *elfx.File           // with the debug information
	data           *dwarf.Data          // may be nil
	addrs          []byte               // .debug_addr
	locs, loclists []byte               // .debug_loc, .debug_loclists
	info           []byte               // .debug_info
	versions       map[dwarf.Offset]int // of units, by the offset of their first entry; nil if not read yet
	listed         bool                 // list is filled in
	list           []variable           // by address
	split          string               // the split file with the variables of a unit
	bodies         map[dwarf.Offset]*body
	kept           int                     // entries of bodies
	names          map[dwarf.Offset]string // display names of functions
}

// typesIn returns the types of units in lang.
func (vs *variables) typesIn(lang language) types { return types{vs.data, lang} }

// variablesIn returns the variables of a symbol: one, or the members of a common block. A variable
// of another size is not the symbol's.
func (m *module) variablesIn(sym *symbol) func(yield func(variable) bool) {
	return func(yield func(variable) bool) {
		list := m.variables().list
		i, _ := slices.BinarySearchFunc(list, sym.low,
			func(v variable, low uint64) int { return cmp.Compare(v.addr, low) })
		for ; i < len(list) && list[i].addr < sym.high; i++ {
			v := list[i]
			if !v.member && v.addr != sym.low {
				continue
			}
			if size, ok := m.vars.typesIn(v.lang).sizeInBytes(v.typ); sym.sized && ok &&
				(size > sym.high-v.addr || !v.member && size != sym.high-sym.low) {
				continue
			}
			if !yield(v) {
				return
			}
		}
	}
}

// variables reads the static variables of the module's debug information, including those in
// functions, at most once.
func (m *module) variables() *variables {
	vs := m.variableInfo()
	if vs.data == nil || vs.listed {
		return vs
	}
	vs.listed = true
	_ = vs.read(m.dwarfOf(vs.file), m.finder.memory)
	slices.SortStableFunc(vs.list, func(a, b variable) int { return cmp.Compare(a.addr, b.addr) })
	return vs
}

// variableInfo returns the sections that are needed to read the module's variables.
func (m *module) variableInfo() *variables {
	if m.vars != nil {
		return m.vars
	}
	m.vars = &variables{}
	file := m.ownFile()
	if file == nil || !hasSection(file, ".debug_info") {
		file = m.debugFile(false)
	}
	if file == nil {
		return m.vars
	}
	info, _, err := file.Section(".debug_info")
	if err != nil || len(info) > maxVariableInfo {
		return m.vars
	}
	data, err := file.DWARF()
	if err != nil {
		return m.vars
	}
	m.vars.file, m.vars.data, m.vars.info = file, data, info
	for name, to := range map[string]*[]byte{".debug_addr": &m.vars.addrs, ".debug_loc": &m.vars.locs,
		".debug_loclists": &m.vars.loclists} {
		*to, _, _ = file.Section(name)
	}
	return m.vars
}

// read reads the static variables. units is the same debug information: most of its entries are skipped.
func (vs *variables) read(units *dwarfx.Data, l *budget.Ledger) (err error) {
	defer elfx.Recover("variables", &err)
	r := vs.data.Reader()
	for u := range units.Units {
		e, err := entryAt(r, u.Entry())
		if e == nil || err != nil {
			return err
		}
		if e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagSkeletonUnit {
			continue
		}
		unit := newUnit(e)
		vs.split = cmp.Or(vs.split, splitFileName(e))
		complete := u.Variables(func(v dwarfx.Variable) bool {
			if v.Operation != opAddr && v.Operation != opAddrx {
				return true
			}
			if e, err = entryAt(r, v.Entry); e != nil && err == nil {
				err = vs.addVariable(e, unit, v.Common, l)
			}
			return e != nil && err == nil
		})
		if e == nil || err != nil || !complete {
			return err
		}
	}
	return nil
}

// entryAt reads the entry at an offset.
func entryAt(r *dwarf.Reader, off uint64) (*dwarf.Entry, error) {
	r.Seek(dwarf.Offset(off))
	return r.Next()
}

// unitInfo is the common data of a compilation unit's entries.
type unitInfo struct {
	language
	addrBase int64 // of its part of .debug_addr
}

func newUnit(e *dwarf.Entry) unitInfo {
	base, _ := e.Val(dwarf.AttrAddrBase).(int64)
	return unitInfo{languageOf(e), base}
}

// attrGNUDwoName is DW_AT_dwo_name before DWARF 5.
const attrGNUDwoName = 0x2130

// splitFileName returns the file into which the compiler put all of a unit except its lines (-gsplit-dwarf), or
// "".
func splitFileName(unit *dwarf.Entry) string {
	name, _ := unit.Val(dwarf.AttrDwoName).(string)
	if name == "" {
		name, _ = unit.Val(attrGNUDwoName).(string)
	}
	return name
}

// addVariable adds a variable with a fixed address.
func (vs *variables) addVariable(e *dwarf.Entry, unit unitInfo, common bool, l *budget.Ledger) error {
	loc, _ := e.Val(dwarf.AttrLocation).([]byte)
	addr, ok := vs.fixedAddress(loc, unit)
	if !ok {
		return nil
	}
	if name, typ := vs.nameAndType(e); name != "" && typ != 0 {
		if err := l.Take("variables", uint64(len(name))+2*uint64(unsafe.Sizeof(variable{}))); err != nil {
			return err
		}
		vs.list = append(vs.list, variable{name, typ, addr, unit.language, common})
	}
	return nil
}

// nameAndType returns the name and the type of a variable. They may be in a declaration that the variable
// completes.
func (vs *variables) nameAndType(e *dwarf.Entry) (name string, typ dwarf.Offset) {
	for range maxTypeDepth {
		if s, _ := e.Val(dwarf.AttrName).(string); name == "" {
			name = s
		}
		typ = cmp.Or(typ, typeOf(e))
		off, ok := originOf(e)
		if !ok || name != "" && typ != 0 {
			break
		}
		if e, _ = vs.typesIn(language{}).readEntry(off); e == nil {
			break
		}
	}
	return name, typ
}

// originOf returns the entry that e completes, or is a copy of.
func originOf(e *dwarf.Entry) (off dwarf.Offset, ok bool) {
	if off, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
		off, ok = e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	}
	return off, ok
}

// Operations of location expressions of variables with a fixed address.
const (
	opAddr, opAddrx = 0x03, 0xa1
	opPlusConst     = 0x23
)

// fixedAddress returns the address that a location expression gives at every pc.
func (vs *variables) fixedAddress(loc []byte, unit unitInfo) (addr uint64, ok bool) {
	if len(loc) < 2 {
		return 0, false
	}
	switch op, rest := loc[0], loc[1:]; op {
	case opAddr:
		if len(rest) < 8 {
			return 0, false
		}
		addr, loc = binary.LittleEndian.Uint64(rest), rest[8:]
	case opAddrx: // the number of an address in a table
		i, n := binary.Uvarint(rest)
		if addr, ok = vs.indexedAddress(unit, i); n < 1 || !ok {
			return 0, false
		}
		loc = rest[n:]
	default:
		return 0, false
	}
	if len(loc) > 1 && loc[0] == opPlusConst {
		add, n := binary.Uvarint(loc[1:])
		if n < 1 {
			return 0, false
		}
		addr, loc = addr+add, loc[1+n:]
	}
	return addr, len(loc) == 0
}

// indexedAddress returns number i of a unit's addresses in .debug_addr.
func (vs *variables) indexedAddress(unit unitInfo, i uint64) (addr uint64, ok bool) {
	at := sliceFrom(vs.addrs, uint64(unit.addrBase)+8*i)
	if i > maxTable || len(at) < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(at), true
}
