package elfx

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

// symSize is the size of an Elf64_Sym.
const symSize = 24

// hiddenVersion marks, in .gnu.version, a version that is not the default.
const hiddenVersion = 0x8000

// Symbol is an entry of a symbol table.
type Symbol struct {
	Name    string
	Version string // "GOMP_4.0"; empty without one
	Value   uint64 // virtual address in the file, or offset in the TLS block
	Size    uint64
	Type    elf.SymType
	Bind    elf.SymBind
	Section elf.SectionIndex // SHN_UNDEF if it is defined elsewhere
}

// Defined reports whether the file itself defines the symbol.
func (s *Symbol) Defined() bool { return s.Section != elf.SHN_UNDEF }

// Symbols returns the entries of .symtab without the first, empty one. A file without a .symtab is
// ErrNoSection.
func (f *File) Symbols() ([]Symbol, error) {
	t, err := f.symtab()
	if err != nil {
		return nil, err
	}
	return f.decodeAll(t)
}

// DynamicSymbols returns the entries of the dynamic symbol table without the first, empty one.
// Without section headers it uses PT_DYNAMIC. A file without a dynamic symbol table is
// ErrNoSection.
func (f *File) DynamicSymbols() ([]Symbol, error) {
	t, err := f.dynsym()
	if err != nil {
		return nil, err
	}
	return f.decodeAll(t)
}

// decodeAll returns all entries of a symbol table.
func (f *File) decodeAll(t *symbolTable) ([]Symbol, error) {
	if err := f.memory.Take("symbols", uint64(len(t.strtab))+t.len()*uint64(unsafe.Sizeof(Symbol{}))); err != nil {
		return nil, err
	}
	return t.decodeEntries(), nil
}

// Release frees a list of symbols. Their names stay valid.
func (f *File) Release(list []Symbol) {
	f.memory.Give(uint64(len(list)) * uint64(unsafe.Sizeof(Symbol{})))
}

// symbolTable is an undecoded symbol table.
type symbolTable struct {
	raw      []byte
	strtab   []byte
	versions []byte // .gnu.version, or nil
	names    map[uint16]string
}

// len counts the entries, with the empty one at index 0.
func (t *symbolTable) len() uint64 { return uint64(len(t.raw)) / symSize }

// isWanted reports whether entry i defines a symbol that can be looked up.
func (t *symbolTable) isWanted(i uint64) bool {
	b := t.raw[i*symSize : (i+1)*symSize]
	typ := elf.ST_TYPE(b[4])
	return b[6]|b[7] != 0 && typ != elf.STT_SECTION && typ != elf.STT_FILE
}

// isLocal reports whether entry i is a local symbol.
func (t *symbolTable) isLocal(i uint64) bool { return elf.ST_BIND(t.raw[i*symSize+4]) == elf.STB_LOCAL }

// name returns the name of entry i, as a part of the string table.
func (t *symbolTable) name(i uint64) []byte {
	return cString(t.strtab, uint64(binary.LittleEndian.Uint32(t.raw[i*symSize:])))
}

// entryAt decodes entry i without its name.
func (t *symbolTable) entryAt(i uint64) Symbol {
	b := t.raw[i*symSize:]
	s := Symbol{
		Type:    elf.ST_TYPE(b[4]),
		Bind:    elf.ST_BIND(b[4]),
		Section: elf.SectionIndex(binary.LittleEndian.Uint16(b[6:])),
		Value:   binary.LittleEndian.Uint64(b[8:]),
		Size:    binary.LittleEndian.Uint64(b[16:]),
	}
	if v, ok := t.version(i); ok {
		s.Version = t.names[v&^hiddenVersion]
	}
	return s
}

// version returns the entry of .gnu.version for entry i.
func (t *symbolTable) version(i uint64) (uint16, bool) {
	if 2*i+2 > uint64(len(t.versions)) {
		return 0, false
	}
	return binary.LittleEndian.Uint16(t.versions[2*i:]), true
}

// decodeEntries decodes the table.
func (t *symbolTable) decodeEntries() []Symbol {
	if t.len() < 2 {
		return nil
	}
	strtab := string(t.strtab) // one copy that all names share
	list := make([]Symbol, t.len()-1)
	left := maxNames
	for i := range list {
		n := uint64(i) + 1
		list[i] = t.entryAt(n)
		if left <= 0 {
			continue
		}
		off := binary.LittleEndian.Uint32(t.raw[n*symSize:])
		if size := len(t.name(n)); size > 0 {
			list[i].Name = strtab[off : int(off)+size]
			left -= size
		}
	}
	return list
}

// findSymbols reads .symtab.
func (f *File) findSymbols() (*symbolTable, error) { return f.sectionSymbols(elf.SHT_SYMTAB) }

// sectionSymbols reads the symbol table in the first section of type typ.
func (c *contents) sectionSymbols(typ elf.SectionType) (*symbolTable, error) {
	for i := range c.sections {
		s := &c.sections[i]
		if s.Type != typ {
			continue
		}
		raw, err := c.rawSection(s)
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", s.Name, err)
		}
		if int64(s.Link) >= int64(len(c.sections)) {
			return nil, fmt.Errorf("%w: section %s has its strings in section %d", ErrDamaged, s.Name, s.Link)
		}
		strtab, err := c.rawSection(&c.sections[s.Link])
		if err != nil {
			return nil, fmt.Errorf("strings of section %s: %w", s.Name, err)
		}
		return &symbolTable{raw: raw, strtab: strtab}, nil
	}
	return nil, fmt.Errorf("%w: %v", ErrNoSection, typ)
}

// findDynamicSymbols finds the table. It prefers the section, as its length is certain.
func (f *File) findDynamicSymbols() (*symbolTable, error) {
	t, err := f.sectionSymbols(elf.SHT_DYNSYM)
	if errors.Is(err, ErrNoSection) {
		t, err = f.segmentSymbols()
	}
	if err != nil {
		return nil, err
	}
	if addr, ok := f.Dynamic(elf.DT_VERSYM); ok {
		t.versions, _ = f.dataFrom(addr, 2*t.len())
		t.names = map[uint16]string{}
		f.versionDefinitions(t.names)
		f.versionNeeds(t.names)
	}
	return t, nil
}

// segmentSymbols finds the table through PT_DYNAMIC; a hash table has its length.
func (f *File) segmentSymbols() (*symbolTable, error) {
	addr, ok := f.Dynamic(elf.DT_SYMTAB)
	if !ok {
		return nil, fmt.Errorf("%w: dynamic symbols", ErrNoSection)
	}
	n, err := f.hashLen()
	if err != nil {
		return nil, fmt.Errorf("number of dynamic symbols: %w", err)
	}
	raw, err := f.dataFrom(addr, n*symSize)
	if err != nil {
		return nil, fmt.Errorf("dynamic symbols: %w", err)
	}
	return &symbolTable{raw: raw, strtab: f.dynamic().strtab}, nil
}

// maxVersions bounds the versions of a library. glibc has about 50.
const maxVersions = 1 << 12

// versionDefinitions adds the names of the versions that the file defines
// (Elf64_Verdef, each with its Elf64_Verdaux).
func (f *File) versionDefinitions(names map[uint16]string) {
	addr, ok := f.Dynamic(elf.DT_VERDEF)
	for n := 0; ok && n < maxVersions; n++ {
		def, err := f.DataAt(addr, 20)
		if err != nil {
			return
		}
		le := binary.LittleEndian
		if aux, err := f.DataAt(addr+uint64(le.Uint32(def[12:])), 8); err == nil {
			names[le.Uint16(def[4:])] = f.dynamic().name(uint64(le.Uint32(aux)))
		}
		next := le.Uint32(def[16:])
		addr, ok = addr+uint64(next), next != 0
	}
}

// versionNeeds adds the names of the versions that the file requires from others (Elf64_Verneed, each with
// several Elf64_Vernaux).
func (f *File) versionNeeds(names map[uint16]string) {
	addr, ok := f.Dynamic(elf.DT_VERNEED)
	for n := 0; ok && n < maxVersions; {
		need, err := f.DataAt(addr, 16)
		if err != nil {
			return
		}
		le := binary.LittleEndian
		aux := addr + uint64(le.Uint32(need[8:]))
		for range le.Uint16(need[2:]) {
			a, err := f.DataAt(aux, 16)
			if n++; err != nil || n > maxVersions {
				break
			}
			names[le.Uint16(a[6:])] = f.dynamic().name(uint64(le.Uint32(a[8:])))
			aux += uint64(le.Uint32(a[12:]))
		}
		next := le.Uint32(need[12:])
		addr, ok = addr+uint64(next), next != 0
		n++
	}
}
