// Package symfile writes symbol files: ELF files with only a symbol table, and the build ID and the section
// headers of the original file.
//
// Debuggers find one by the build ID below a directory of separate debug files, and use its symbols for the
// stripped file.
package symfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// Symbol is a symbol to write.
type Symbol struct {
	Name  string
	Value uint64 // virtual address in the file, or offset in its TLS block
	Size  uint64 // bytes; 0 if unknown
	Type  elf.SymType
}

// Path returns the path of the symbol file for build ID id below a directory of separate debug files; ""
// without a build ID.
func Path(dir string, id []byte) string {
	if len(id) < 2 {
		return ""
	}
	s := hex.EncodeToString(id)
	return filepath.Join(dir, ".build-id", s[:2], s[2:]+".debug")
}

// Sizes of the 64-bit structures.
const (
	headerSize  = 64
	sectionSize = 64
	symbolSize  = 24
)

// commentSection contains the maker of a file, as from compilers; that of symbol files is maker.
const (
	commentSection = ".comment"
	maker          = "ompd-inspect symbols"
)

// Ours reports whether Write made f.
func Ours(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	file, err := elfx.Open(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return false
	}
	content, _, err := file.Section(commentSection)
	return err == nil && string(content) == maker+"\x00"
}

// buildIDSection is the only section that is copied with its content.
const buildIDSection = ".note.gnu.build-id"

// file is a symbol file in construction.
type file struct {
	sections []elf.Section64
	names    stringTable // of the sections
	body     bytes.Buffer
}

// Write writes the symbol file for file of. A symbol outside of its sections is an error.
func Write(w io.Writer, of *elfx.File, symbols []Symbol) error {
	out := &file{sections: make([]elf.Section64, 1)}
	out.names.add("")
	kept := out.keep(of)
	if len(kept) == 0 {
		return fmt.Errorf("the file has no sections: debuggers could not tell where its symbols lie")
	}
	if err := out.symbols(kept, symbols); err != nil {
		return err
	}
	out.section(elf.Section64{
		Name: out.names.add(commentSection), Type: uint32(elf.SHT_PROGBITS),
		Flags:     uint64(elf.SHF_MERGE | elf.SHF_STRINGS),
		Addralign: 1, Entsize: 1,
	}, []byte(maker+"\x00"))
	name := out.names.add(".shstrtab") // before the table is written
	out.section(elf.Section64{Name: name, Type: uint32(elf.SHT_STRTAB), Addralign: 1}, out.names.bytes)
	pad(&out.body, 8)
	h := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{'\x7f', 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
			byte(elf.EV_CURRENT)},
		Type: uint16(of.Type()), Machine: uint16(of.Machine()), Version: uint32(elf.EV_CURRENT), Entry: of.Entry(),
		Shoff: headerSize + uint64(out.body.Len()), Ehsize: headerSize, Shentsize: sectionSize,
		Shnum: uint16(len(out.sections)), Shstrndx: uint16(len(out.sections) - 1),
	}
	var all bytes.Buffer
	for _, part := range []any{h, out.body.Bytes(), out.sections} {
		if err := binary.Write(&all, binary.LittleEndian, part); err != nil {
			return fmt.Errorf("symbol file: %w", err)
		}
	}
	_, err := w.Write(all.Bytes())
	return err
}

// placed is a section of the original and its index in the symbol file.
type placed struct {
	elf.SectionHeader
	index elf.SectionIndex
}

// keep copies the headers of the mapped sections, without their content, and the content of the build ID's
// section.
func (f *file) keep(of *elfx.File) []placed {
	var out []placed
	for _, s := range of.Sections() {
		if s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		head := elf.Section64{
			Name: f.names.add(s.Name), Type: uint32(elf.SHT_NOBITS), Flags: uint64(s.Flags), Addr: s.Addr,
			Size: s.Size, Addralign: s.Addralign, Entsize: s.Entsize,
		}
		out = append(out, placed{s, elf.SectionIndex(len(f.sections))})
		if content, _, err := of.Section(s.Name); s.Name == buildIDSection && err == nil {
			head.Type = uint32(elf.SHT_NOTE)
			f.section(head, content)
			continue
		}
		head.Off = headerSize + uint64(f.body.Len())
		f.sections = append(f.sections, head)
	}
	return out
}

// section adds a section with content.
func (f *file) section(head elf.Section64, content []byte) {
	pad(&f.body, max(head.Addralign, 1))
	head.Off, head.Size = headerSize+uint64(f.body.Len()), uint64(len(content))
	f.body.Write(content)
	f.sections = append(f.sections, head)
}

// symbols adds the symbol table and its names.
func (f *file) symbols(in []placed, symbols []Symbol) error {
	var names stringTable
	names.add("")
	table := make([]elf.Sym64, 1, len(symbols)+1)
	for _, s := range symbols {
		i := slices.IndexFunc(in, func(p placed) bool { return p.holds(s) })
		if i < 0 {
			return fmt.Errorf("symbol %s at %#x lies in no section of the file", s.Name, s.Value)
		}
		table = append(table, elf.Sym64{
			Name: names.add(s.Name), Info: elf.ST_INFO(elf.STB_GLOBAL, s.Type), Shndx: uint16(in[i].index),
			Value: s.Value, Size: s.Size,
		})
	}
	var content bytes.Buffer
	if err := binary.Write(&content, binary.LittleEndian, table); err != nil {
		return fmt.Errorf("symbol table: %w", err)
	}
	link := uint32(len(f.sections) + 1)
	f.section(elf.Section64{
		Name: f.names.add(".symtab"), Type: uint32(elf.SHT_SYMTAB), Link: link, Info: 1, Addralign: 8,
		Entsize: symbolSize,
	}, content.Bytes())
	f.section(elf.Section64{Name: f.names.add(".strtab"), Type: uint32(elf.SHT_STRTAB), Addralign: 1}, names.bytes)
	return nil
}

// holds reports whether the section contains a symbol.
func (p placed) holds(s Symbol) bool {
	if s.Type == elf.STT_TLS {
		return p.Flags&elf.SHF_TLS != 0
	}
	zeroOfThreads := p.Flags&elf.SHF_TLS != 0 && p.Type == elf.SHT_NOBITS // takes no memory
	return !zeroOfThreads && s.Value >= p.Addr && s.Value < p.Addr+p.Size
}

// pad appends padding up to a multiple of align from the file's start.
func pad(b *bytes.Buffer, align uint64) {
	for (headerSize+uint64(b.Len()))%align != 0 {
		b.WriteByte(0)
	}
}

// stringTable is a section of names.
type stringTable struct{ bytes []byte }

// add appends a name and returns its offset.
func (t *stringTable) add(name string) uint32 {
	at := len(t.bytes)
	t.bytes = append(append(t.bytes, name...), 0)
	return uint32(at)
}
