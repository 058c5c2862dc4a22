package symbolize

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/elfx"
)

const (
	// maxVariableInfo bounds the debug information that is searched for a
	// variable, in bytes: reading more takes seconds.
	maxVariableInfo = 64 << 20
	// maxTypeDepth bounds structures in structures.
	maxTypeDepth = 32
	// maxPointers bounds the pointer variables of one module.
	maxPointers = 1 << 14
)

// lockTypes are the types that people know a lock by; what is in them is the
// runtime's.
var lockTypes = map[string]bool{
	"omp_lock_t": true, "omp_nest_lock_t": true, "kmp_critical_name": true, "pthread_mutex_t": true, "pthread_cond_t": true,
}

// Variable names the data at addr as the program would: "accts[1].lock", or just
// the variable. It is not ok if debug information does not tell.
func (s *Symbolizer) Variable(addr uint64) (name string, ok bool) {
	_ = s.locked(addr, func(m *module, a uint64) error {
		sym, found := m.dataSymbolAt(a)
		if !found {
			return nil
		}
		if t := m.typeOf(sym); t != nil {
			if p, _, found := memberAt(t, a-sym.low, 0); found {
				name, ok = baseName(sym.name)+p, true
			}
		}
		return nil
	})
	return name, ok
}

// Pointee names the lock that lies off bytes behind where the pointer variable at
// addr leads to: "table[1].fork". It is not ok if debug information does not tell
// that there is a lock.
func (s *Symbolizer) Pointee(addr, off uint64) (name string, ok bool) {
	_ = s.locked(addr, func(m *module, a uint64) error {
		sym, found := m.dataSymbolAt(a)
		if !found || sym.low != a {
			return nil
		}
		p, isPointer := plain(m.typeOf(sym)).(*dwarf.PtrType)
		if !isPointer || p.Type == nil || p.Type.Size() < 1 {
			return nil
		}
		size := uint64(p.Type.Size())
		if path, lock, found := memberAt(p.Type, off%size, 0); found && lock {
			name, ok = fmt.Sprintf("%s[%d]%s", baseName(sym.name), off/size, path), true
		}
		return nil
	})
	return name, ok
}

// Pointers lists the addresses of the variables of the module that addr lies in
// which may be pointers, by their size.
func (s *Symbolizer) Pointers(mod *callbacks.Module) []uint64 {
	var out []uint64
	_ = s.locked(mod.Low.Offset, func(m *module, _ uint64) error {
		f := m.elf()
		if f == nil {
			return nil
		}
		list, _ := f.Symbols()
		for i := range list {
			if sym := &list[i]; sym.Type == elf.STT_OBJECT && sym.Size == 8 && sym.Defined() && len(out) < maxPointers {
				out = append(out, sym.Value+m.mod.Bias)
			}
		}
		return nil
	})
	return out
}

// baseName is a variable's name without what compilers add to that of a static one
// in a function: a number behind it, or the function before it.
func baseName(symbol string) string {
	if i := strings.LastIndexByte(symbol, '.'); i > 0 && strings.Trim(symbol[i+1:], "0123456789") == "" {
		symbol = symbol[:i]
	}
	return symbol[strings.LastIndexByte(symbol, '.')+1:]
}

// memberAt names what lies off bytes into a value of type t, and tells whether it
// is a lock. Unions, and values within plain ones, have no one name.
func memberAt(t dwarf.Type, off uint64, depth int) (path string, lock, ok bool) {
	if depth > maxTypeDepth {
		return "", false, false
	}
	if n, named := t.(*dwarf.TypedefType); named && lockTypes[n.Name] {
		return "", true, off == 0
	}
	switch t := plain(t).(type) {
	case *dwarf.StructType:
		return fieldAt(t, off, depth)
	case *dwarf.ArrayType:
		size := t.Type.Size()
		if size < 1 || t.Count > 0 && off >= uint64(t.Count*size) {
			return "", false, false
		}
		path, lock, ok = memberAt(t.Type, off%uint64(size), depth+1)
		return fmt.Sprintf("[%d]%s", off/uint64(size), path), lock, ok
	case nil:
		return "", false, false
	}
	return "", false, off == 0
}

func fieldAt(t *dwarf.StructType, off uint64, depth int) (path string, lock, ok bool) {
	if t.Kind == "union" {
		return "", false, false
	}
	for _, f := range t.Field {
		at, size := uint64(f.ByteOffset), f.Type.Size()
		if f.ByteOffset < 0 || size < 1 || off < at || off-at >= uint64(size) {
			continue
		}
		path, lock, ok = memberAt(f.Type, off-at, depth+1)
		if f.Name != "" {
			path = "." + f.Name + path
		}
		return path, lock, ok
	}
	return "", false, false
}

// plain is a type without the names and qualifiers around it.
func plain(t dwarf.Type) dwarf.Type {
	for range maxTypeDepth {
		switch q := t.(type) {
		case *dwarf.TypedefType:
			t = q.Type
		case *dwarf.QualType:
			t = q.Type
		default:
			return t
		}
	}
	return nil
}

// variable is a variable of the debug information.
type variable struct {
	offset  dwarf.Offset // of its type
	addr    uint64       // where it lies
	placed  bool         // the entry itself has addr
	fortran bool
}

// variables are the static variables of a module by name.
type variables struct {
	data *dwarf.Data
	by   map[string][]variable
}

// typeOf is the type of the variable that a symbol names; nil if it is not known,
// or not of one variable alone.
func (m *module) typeOf(sym *symbol) (t dwarf.Type) {
	var err error
	defer elfx.Recover("types", &err)
	if m.vars == nil {
		m.vars = &variables{by: map[string][]variable{}}
		m.readVariables()
	}
	found := 0
	for _, v := range m.vars.by[baseName(sym.name)] {
		if v.fortran || v.placed && v.addr != sym.low {
			continue
		}
		typ, err := m.vars.data.Type(v.offset)
		if err != nil || sym.sized && uint64(typ.Size()) != sym.high-sym.low {
			continue
		}
		if found++; t == nil {
			t = typ
		}
	}
	if found != 1 {
		return nil
	}
	return t
}

// readVariables reads the static variables of the module's debug information, those
// in functions too.
func (m *module) readVariables() {
	var err error
	defer elfx.Recover("variables", &err)
	file := m.elf()
	if file == nil || !hasSection(file, ".debug_info") {
		file = m.debugFile(false)
	}
	if file == nil {
		return
	}
	info, _, err := file.Section(".debug_info")
	if err != nil || len(info) > maxVariableInfo {
		return
	}
	data, err := file.DWARF()
	if err != nil {
		return
	}
	m.vars.data = data
	r, fortran := data.Reader(), false
	for {
		e, err := r.Next()
		if e == nil || err != nil {
			return
		}
		switch e.Tag {
		case dwarf.TagCompileUnit:
			lang, _ := e.Val(dwarf.AttrLanguage).(int64)
			fortran = isFortran(lang)
		case dwarf.TagVariable:
			m.vars.add(e, fortran)
		case dwarf.TagSubprogram, dwarf.TagLexDwarfBlock, dwarf.TagNamespace, 0:
		default:
			r.SkipChildren()
		}
	}
}

// isFortran tells the languages in which arrays begin at another number than 0.
func isFortran(lang int64) bool {
	switch lang {
	case 0x07, 0x08, 0x0e, 0x22, 0x23, 0x2d: // DW_LANG_Fortran77, 90, 95, 03, 08, 18
		return true
	}
	return false
}

// add takes a variable that has a fixed place.
func (vs *variables) add(e *dwarf.Entry, fortran bool) {
	const opAddr, opAddrx = 0x03, 0xa1
	name, _ := e.Val(dwarf.AttrName).(string)
	offset, typed := e.Val(dwarf.AttrType).(dwarf.Offset)
	loc, _ := e.Val(dwarf.AttrLocation).([]byte)
	if name == "" || !typed || len(loc) == 0 {
		return
	}
	v := variable{offset: offset, fortran: fortran}
	switch {
	case loc[0] == opAddr && len(loc) == 9:
		v.addr, v.placed = binary.LittleEndian.Uint64(loc[1:]), true
	case loc[0] != opAddrx: // whose number is that of an address in a table
		return
	}
	vs.by[name] = append(vs.by[name], v)
}
