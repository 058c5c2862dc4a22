package symbolize

import (
	"debug/elf"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// nearSymbols returns functions around a file address from the module's own file.
func (m *module) nearSymbols(addr uint64) *symbols {
	f := m.ownFile()
	if f == nil {
		return &symbols{}
	}
	return m.near.symbolsAt(addr, symbolsAround(f, addr, m.codeFilter(f)),
		func() *symbols { return allNear(m, f) })
}

// symbolsAround returns a function that finds the symbols around a file address in .symtab, if there is
// one.
func symbolsAround(f *elfx.File, addr uint64, keep func(*elfx.Symbol) (uint8, bool)) func() (*symbols, bool) {
	return func() (*symbols, bool) {
		list, few := f.StaticAround(addr, symbolFilter(keep))
		return newSymbols(f.Sections(), keep, table{f, list, SourceSymtab}), few
	}
}

// allNear returns all functions in the module's own file: those of .symtab or, if it is stripped,
// of .dynsym and .gnu_debugdata.
func allNear(m *module, f *elfx.File) *symbols {
	// .symtab repeats .dynsym; the other two complement each other.
	var tables []table
	if list, err := f.Symbols(); err == nil {
		tables = append(tables, table{f, list, SourceSymtab})
	} else {
		list, _ := f.DynamicSymbols()
		tables = append(tables, table{f, list, SourceDynsym})
		inner, err := miniDebug(m.finder.memory, f)
		if err != nil {
			m.warn("%s: %v", m.mod.Path, err)
		}
		if inner != nil {
			list, _ := inner.Symbols()
			tables = append(tables, table{inner, list, SourceMiniDebug})
		}
	}
	return m.indexSymbols(f.Sections(), m.codeFilter(f), tables...)
}

// codeFilter returns the filter that accepts functions of f, the module's own file.
func (m *module) codeFilter(f *elfx.File) func(*elfx.Symbol) (rank uint8, ok bool) {
	if m.isCode == nil {
		m.isCode = codeSymbol(f.Sections())
	}
	return m.isCode
}

// farSymbols returns the functions in the separate debug file.
func (m *module) farSymbols() *symbols {
	if m.far != nil {
		return m.far
	}
	m.far = &symbols{}
	if f := m.debugFile(true); f != nil {
		list, _ := f.Symbols()
		m.far = m.indexSymbols(f.Sections(), codeSymbol(f.Sections()), table{f, list, SourceSymtab})
	}
	return m.far
}

// isStripped reports whether the module's own file has no full symbol table.
func (m *module) isStripped() bool {
	f := m.ownFile()
	return f == nil || !hasSection(f, ".symtab")
}

// codeSymbolAt returns the symbol of the function at a file address. It searches the debug file
// only if the module's own symbols do not cover the address.
func (m *module) codeSymbolAt(addr uint64) (*symbol, bool) {
	if s, ok := m.learned.findSymbol(addr); ok {
		return s, true
	}
	near := m.nearSymbols(addr)
	if s, ok := near.sized.Find(addr); ok {
		return s.Value, true
	}
	if m.isStripped() {
		if s, ok := m.farSymbols().find(addr); ok {
			return s, true
		}
		// An unsized exported symbol of a stripped file would also cover the hidden functions after
		// it.
		if s, ok := near.unsized.Find(addr); ok && s.Value.low == addr {
			return s.Value, true
		}
		return nil, false
	}
	return near.find(addr)
}

// dataSymbol returns the variable at a file address.
func (m *module) dataSymbol(addr uint64) (Symbol, bool) {
	s, ok := m.dataSymbolAt(addr)
	if !ok {
		return Symbol{}, false
	}
	return Symbol{Name: s.name, Module: m.mod, Offset: addr - s.low}, true
}

func (m *module) dataSymbolAt(addr uint64) (*symbol, bool) {
	some := func() (*symbols, bool) { return nil, false }
	if f := m.ownFile(); f != nil && !m.isStripped() {
		some = symbolsAround(f, addr, dataSymbol)
	}
	return m.data.symbolsAt(addr, some, func() *symbols { return allData(m) }).find(addr)
}

// allData returns the variables in the module's file and its debug file.
func allData(m *module) *symbols {
	var tables []table
	var sections []elf.SectionHeader
	if f := m.ownFile(); f != nil {
		sections = f.Sections()
		list, err := f.Symbols()
		if err != nil {
			list, _ = f.DynamicSymbols()
		}
		tables = append(tables, table{f, list, SourceSymtab})
	}
	if m.isStripped() {
		if f := m.debugFile(true); f != nil {
			list, _ := f.Symbols()
			tables = append(tables, table{f, list, SourceSymtab})
		}
	}
	return m.indexSymbols(sections, dataSymbol, tables...)
}

// lookupSymbol returns the target address of a symbol, of the exported ones or of all; it takes the lock.
func (m *module) lookupSymbol(name string, exported, network bool) (uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.learned.byName[name]; ok {
		return s.low + m.mod.Bias, true
	}
	if f := m.ownFile(); f != nil {
		s, ok := f.LookupDynamic(name)
		if ok = ok && s.Bind != elf.STB_LOCAL; !ok && !exported {
			s, ok = f.Lookup(name)
		}
		if ok {
			return m.symbolAddress(s)
		}
	}
	// A full symbol table has every symbol of the debug file.
	if exported || !m.isStripped() {
		return 0, false
	}
	if f := m.debugFile(network); f != nil {
		if s, ok := f.Lookup(name); ok {
			return m.symbolAddress(s)
		}
	}
	return 0, false
}

// symbolAddress returns the target address of a symbol; ok is false for thread-local variables.
func (m *module) symbolAddress(s elfx.Symbol) (uint64, bool) {
	switch {
	case s.Type == elf.STT_TLS || !s.Defined():
		return 0, false
	case s.Section == elf.SHN_ABS:
		return s.Value, true
	}
	return s.Value + m.mod.Bias, true
}

// slotCost is the memory of one cached relocation, in bytes.
const slotCost = 64

// slotSymbol returns the symbol that the relocation at a file address binds.
func (m *module) slotSymbol(addr uint64) (string, bool) {
	if m.slots == nil {
		m.slots = map[uint64]string{}
		if f := m.ownFile(); f != nil {
			list, _ := f.Relocations()
			for _, r := range list {
				if r.Symbol != "" && bindsSlot(f.Arch(), r.Type) &&
					m.finder.memory.Take("relocations", slotCost) == nil {
					name, _, _ := strings.Cut(r.Symbol, "@")
					m.slots[r.Offset] = name
				}
			}
		}
	}
	name, ok := m.slots[addr]
	return name, ok
}

// bindsSlot reports whether a relocation puts the address of a symbol into a slot of the GOT.
func bindsSlot(a callbacks.Arch, typ uint32) bool {
	return slices.Contains(slotTypes[a], typ)
}

var slotTypes = map[callbacks.Arch][]uint32{
	callbacks.ArchX86_64:  {uint32(elf.R_X86_64_JMP_SLOT), uint32(elf.R_X86_64_GLOB_DAT)},
	callbacks.ArchAArch64: {uint32(elf.R_AARCH64_JUMP_SLOT), uint32(elf.R_AARCH64_GLOB_DAT)},
}
