package elfx

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"unsafe"
)

// maxDynamic bounds the entries of a dynamic table. Real ones have some 30 plus
// one for each needed library.
const maxDynamic = 1 << 16

// maxNeeded bounds the number of needed libraries, and maxPath the length of their names, in bytes (PATH_MAX):
// many entries that share a long name would take memory without bound.
const (
	maxNeeded = 1 << 12
	maxPath   = 4096
)

// maxStrings bounds a string table that is found without section headers.
const maxStrings = 1 << 30

// dynamicTable is PT_DYNAMIC. It is empty if that is missing or cannot be read.
type dynamicTable struct {
	entries []elf.Dyn64
	strtab  []byte
	soname  string // empty without one
}

// parseDynamic reads PT_DYNAMIC and finds its strings.
func (f *File) parseDynamic() *dynamicTable {
	t := &dynamicTable{}
	for i := range f.progs {
		p := &f.progs[i]
		if p.Type != elf.PT_DYNAMIC {
			continue
		}
		raw, err := f.bytesAt(p.Off, min(p.Filesz, maxDynamic*16))
		if err != nil {
			return t
		}
		t.entries = dynEntries(raw)
		break
	}
	if addr, ok := t.get(elf.DT_STRTAB); ok {
		size, ok := t.get(elf.DT_STRSZ)
		if !ok {
			size = maxStrings
		}
		t.strtab, _ = f.dataFrom(addr, size)
	}
	if s := t.stringsOf(elf.DT_SONAME); len(s) > 0 {
		t.soname = s[0]
	}
	return t
}

// dynEntries decodes entries up to DT_NULL.
func dynEntries(raw []byte) []elf.Dyn64 {
	var list []elf.Dyn64
	for ; len(raw) >= 16; raw = raw[16:] {
		d := elf.Dyn64{Tag: int64(binary.LittleEndian.Uint64(raw)), Val: binary.LittleEndian.Uint64(raw[8:])}
		if elf.DynTag(d.Tag) == elf.DT_NULL {
			break
		}
		list = append(list, d)
	}
	return list
}

// get returns the value of the first entry with that tag.
func (t *dynamicTable) get(tag elf.DynTag) (uint64, bool) {
	for _, d := range t.entries {
		if elf.DynTag(d.Tag) == tag {
			return d.Val, true
		}
	}
	return 0, false
}

// stringsOf returns the strings that all entries with tag name.
func (t *dynamicTable) stringsOf(tag elf.DynTag) []string {
	var list []string
	for _, d := range t.entries {
		if elf.DynTag(d.Tag) == tag && len(list) < maxNeeded {
			list = append(list, t.name(d.Val))
		}
	}
	return list
}

// name returns the name of a library or a version, at an offset of the strings.
func (t *dynamicTable) name(off uint64) string { return string(boundedCString(t.strtab, off, maxPath)) }

// Dynamic returns the value of the first entry of PT_DYNAMIC with that tag, as in the file, and whether it
// exists.
func (f *File) Dynamic(tag elf.DynTag) (uint64, bool) { return f.dynamic().get(tag) }

// Needed returns the names of the libraries that the file needs, in order.
func (f *File) Needed() []string { return f.dynamic().stringsOf(elf.DT_NEEDED) }

// Soname returns a library's own name; "" without one.
func (f *File) Soname() string { return f.dynamic().soname }

// Reloc is a relocation with its symbol's name.
type Reloc struct {
	Offset uint64 // virtual address that the loader changes
	Type   uint32 // elf.R_X86_64 or elf.R_AARCH64
	Symbol string // empty without one
	Addend int64
}

// Relocations returns the entries of .rela.plt and then .rela.dyn; without section headers, those
// that PT_DYNAMIC names.
func (f *File) Relocations() ([]Reloc, error) {
	syms, _ := f.dynsym()
	var list []Reloc
	found := false
	for _, name := range []string{".rela.plt", ".rela.dyn"} {
		if b, _, err := f.Section(name); err == nil {
			more, err := f.relocs(b, syms)
			if err != nil {
				return list, err
			}
			list, found = append(list, more...), true
		}
	}
	if found {
		return list, nil
	}
	for _, tags := range [][2]elf.DynTag{{elf.DT_JMPREL, elf.DT_PLTRELSZ}, {elf.DT_RELA, elf.DT_RELASZ}} {
		addr, ok := f.Dynamic(tags[0])
		size, sized := f.Dynamic(tags[1])
		if !ok || !sized {
			continue
		}
		b, err := f.dataFrom(addr, size)
		if err != nil {
			return list, fmt.Errorf("relocations: %w", err)
		}
		more, err := f.relocs(b, syms)
		if err != nil {
			return list, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// relocs decodes a table of Elf64_Rela.
func (f *File) relocs(b []byte, syms *symbolTable) ([]Reloc, error) {
	const size = 24
	names := uint64(0)
	if syms != nil {
		names = uint64(len(syms.strtab))
	}
	if err := f.memory.Take("relocations", names+2*uint64(len(b)/size)*uint64(unsafe.Sizeof(Reloc{}))); err != nil {
		return nil, err
	}
	strtab := ""
	if syms != nil {
		strtab = string(syms.strtab) // one copy that all names share
	}
	left := maxNames
	list := make([]Reloc, 0, len(b)/size)
	for ; len(b) >= size; b = b[size:] {
		info := binary.LittleEndian.Uint64(b[8:])
		r := Reloc{
			Offset: binary.LittleEndian.Uint64(b),
			Type:   elf.R_TYPE64(info),
			Addend: int64(binary.LittleEndian.Uint64(b[16:])),
		}
		if n := elf.R_SYM64(info); n != 0 && syms != nil && uint64(n) < syms.len() && left > 0 {
			off := binary.LittleEndian.Uint32(syms.raw[uint64(n)*symSize:])
			if size := len(syms.name(uint64(n))); size > 0 {
				r.Symbol = strtab[off : int(off)+size]
				left -= size
			}
		}
		list = append(list, r)
	}
	return list, nil
}
