// Package elfx reads ELF files that may be damaged.
//
// It reads 64-bit little-endian files of the architectures of package callbacks. Every count and
// size of a file is bounded. A table outside the file is an error and never a panic, and panics of
// the standard library's DWARF reader become errors. Files without section headers and files with
// more than 65,535 program headers (PN_XNUM) are supported.
package elfx

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// Errors of opening and reading a file. Test with errors.Is.
var (
	// ErrNotELF means that the file does not start like an ELF file.
	ErrNotELF = errors.New("not an ELF file")
	// ErrClass means that the file is an ELF file of an unsupported word size, byte order or
	// machine; the message names it.
	ErrClass = errors.New("ELF file of an unsupported kind")
	// ErrTruncated means that a table is outside the file.
	ErrTruncated = errors.New("ELF file is truncated")
	// ErrDamaged means that a table has impossible content.
	ErrDamaged = errors.New("ELF file is damaged")
	// ErrNoSection means that the section is missing, or has no bytes in the file.
	ErrNoSection = errors.New("no such section")
)

// Sizes of the 64-bit structures, and the escape value of e_phnum.
const (
	ehdrSize = 64
	phdrSize = 56
	shdrSize = 64
	pnXNum   = 0xffff
)

// maxHeaders bounds the numbers of program and section headers. A core has one
// program header for each mapping, and vm.max_map_count, 65,530 by default, is
// raised to a million by some databases.
const maxHeaders = 1 << 21

// File is an open ELF file. It is safe for concurrent use. It parses tables at their first use and
// caches them. A File does not own its image: its slices are valid as long as the image is.
type File struct {
	contents
	dynamic  func() *dynamicTable
	dynsym   func() (*symbolTable, error)
	symtab   func() (*symbolTable, error)
	index    func() *nameIndex
	searches atomic.Int32 // number of searches in .symtab for new names
	searched sync.Map     // their results: string to searchResult

	staticStarts, dynamicStarts func() *symbolStarts

	mu       sync.Mutex
	unpacked map[string][]byte // decompressed sections, by name
}

// contents are the bytes of a file with its decoded headers.
type contents struct {
	img      callbacks.Image
	memory   *budget.Ledger
	data     []byte // the whole file, if the image has it in memory
	typ      elf.Type
	machine  elf.Machine
	entry    uint64
	progs    []elf.ProgHeader
	sections []elf.SectionHeader
}

// Open reads the headers of an ELF file. The error is ErrNotELF, ErrClass, ErrTruncated or ErrDamaged, or the
// image's own. Section headers that are missing or outside the file are no error: the file then has no
// sections.
func Open(img callbacks.Image) (*File, error) { return OpenWithMemory(nil, img) }

// OpenWithMemory is Open for an untrusted file: memory taken for it is charged to the ledger l, and a
// refusal is an error that is budget.ErrMemory.
func OpenWithMemory(l *budget.Ledger, img callbacks.Image) (*File, error) {
	f := &File{contents: contents{img: img, memory: l}, unpacked: map[string][]byte{}}
	if b, ok := img.(interface{ Bytes() []byte }); ok {
		f.data = b.Bytes()
	}
	h, err := f.readHeader()
	if err != nil {
		return nil, err
	}
	if err := f.readProgs(h); err != nil {
		return nil, err
	}
	f.readSections(h)
	f.dynamic = sync.OnceValue(f.parseDynamic)
	f.dynsym = sync.OnceValues(f.findDynamicSymbols)
	f.symtab = sync.OnceValues(f.findSymbols)
	f.index = sync.OnceValue(f.buildIndex)
	f.staticStarts = sync.OnceValue(func() *symbolStarts { return sortStarts(l, f.symtab) })
	f.dynamicStarts = sync.OnceValue(func() *symbolStarts { return sortStarts(l, f.dynsym) })
	return f, nil
}

// Type returns the kind of file: executable, shared object, core.
func (f *File) Type() elf.Type { return f.typ }

// Machine returns the instruction set as the file names it.
func (f *File) Machine() elf.Machine { return f.machine }

// Arch returns the instruction set as this module names it.
func (f *File) Arch() callbacks.Arch { return arch.OfMachine(f.machine) }

// Entry returns the virtual address of the entry point; 0 without one.
func (f *File) Entry() uint64 { return f.entry }

// Progs returns the program headers in file order. The caller must not change them.
func (f *File) Progs() []elf.ProgHeader { return f.progs }

// Sections returns the section headers in file order, including index 0; empty without section headers. The
// caller must not change them.
func (f *File) Sections() []elf.SectionHeader { return f.sections }

// Image returns the file's content.
func (f *File) Image() callbacks.Image { return f.img }

// header holds the fields of the ELF header that Open needs.
type header struct {
	phoff, shoff         uint64
	phnum, shnum         uint64
	phentsize, shentsize uint64
	shstrndx             uint64
	sectioned            bool // there is a table of section headers
}

// readHeader reads and checks the ELF header.
func (c *contents) readHeader() (*header, error) {
	ident, err := c.bytesAt(0, min(c.fileSize(), ehdrSize))
	if err != nil {
		return nil, err
	}
	if err := checkIdent(ident); err != nil {
		return nil, err
	}
	if len(ident) < ehdrSize {
		return nil, fmt.Errorf("%w: it has %d bytes, its header needs %d", ErrTruncated, len(ident), ehdrSize)
	}
	le := binary.LittleEndian
	c.typ = elf.Type(le.Uint16(ident[16:]))
	c.machine = elf.Machine(le.Uint16(ident[18:]))
	c.entry = le.Uint64(ident[24:])
	if arch.OfMachine(c.machine) == callbacks.ArchUnknown {
		return nil, fmt.Errorf("%w: it is for %s; x86-64 and aarch64 are read", ErrClass, machineName(c.machine))
	}
	h := &header{
		phoff: le.Uint64(ident[32:]), shoff: le.Uint64(ident[40:]),
		phentsize: uint64(le.Uint16(ident[54:])), phnum: uint64(le.Uint16(ident[56:])),
		shentsize: uint64(le.Uint16(ident[58:])), shnum: uint64(le.Uint16(ident[60:])),
		shstrndx: uint64(le.Uint16(ident[62:])),
	}
	return h, c.resolveNumbers(h)
}

// resolveNumbers replaces the escape values of the header by the numbers that
// section header 0 holds.
func (c *contents) resolveNumbers(h *header) error {
	escaped := h.phnum == pnXNum
	h.sectioned = h.shoff != 0 && h.shentsize == shdrSize
	if !h.sectioned {
		if escaped {
			return fmt.Errorf("%w: the number of program headers is in section header 0, which it has not", ErrDamaged)
		}
		return nil
	}
	zero, err := c.bytesAt(h.shoff, shdrSize)
	if err != nil {
		h.sectioned = false
		if escaped {
			return fmt.Errorf("number of program headers: %w", err)
		}
		return nil
	}
	le := binary.LittleEndian
	if escaped {
		h.phnum = uint64(le.Uint32(zero[44:]))
	}
	if h.shnum == 0 {
		h.shnum = le.Uint64(zero[32:])
	}
	if h.shstrndx == uint64(elf.SHN_XINDEX) {
		h.shstrndx = uint64(le.Uint32(zero[40:]))
	}
	return nil
}

// checkIdent refuses files other than 64-bit little-endian ELF files, and names their kind.
func checkIdent(b []byte) error {
	if len(b) < elf.EI_NIDENT || string(b[:4]) != elf.ELFMAG {
		return ErrNotELF
	}
	if !isReadable(b) {
		bits, order, machine := "64-bit", "little-endian", "an unknown machine"
		if elf.Class(b[elf.EI_CLASS]) == elf.ELFCLASS32 {
			bits = "32-bit"
		}
		if elf.Data(b[elf.EI_DATA]) == elf.ELFDATA2MSB {
			order = "big-endian"
		}
		if len(b) >= HeadSize {
			machine = machineName(machineOf(b))
		}
		return fmt.Errorf("%w: it is %s %s for %s; 64-bit little-endian files for x86-64 and aarch64 are read",
			ErrClass, bits, order, machine)
	}
	return nil
}

// isReadable reports whether the head of an ELF file has a word size and a byte order that this package reads.
func isReadable(b []byte) bool {
	return elf.Class(b[elf.EI_CLASS]) == elf.ELFCLASS64 && elf.Data(b[elf.EI_DATA]) == elf.ELFDATA2LSB
}

// HeadSize is the number of the first bytes of an ELF file that contain its machine.
const HeadSize = 20

// machineOf returns the machine in the head of an ELF file.
func machineOf(b []byte) elf.Machine {
	if elf.Data(b[elf.EI_DATA]) == elf.ELFDATA2MSB {
		return elf.Machine(binary.BigEndian.Uint16(b[18:]))
	}
	return elf.Machine(binary.LittleEndian.Uint16(b[18:]))
}

// UnsupportedMachine returns the machine of an ELF file, by its first [HeadSize] bytes, if this package does not read
// files for it; otherwise "".
func UnsupportedMachine(b []byte) string {
	if len(b) < HeadSize || string(b[:4]) != elf.ELFMAG {
		return ""
	}
	if m := machineOf(b); !isReadable(b) || arch.OfMachine(m) == callbacks.ArchUnknown {
		return machineName(m)
	}
	return ""
}

// ArchOf returns the architecture of an ELF file by its header; ArchUnknown if it is no such file, or if this module
// does not support its machine.
func ArchOf(img callbacks.Image) callbacks.Arch {
	var b [20]byte // up to e_machine
	if img == nil {
		return callbacks.ArchUnknown
	}
	if _, err := img.ReadAt(b[:], 0); err != nil || string(b[:4]) != elf.ELFMAG {
		return callbacks.ArchUnknown
	}
	return arch.OfMachine(elf.Machine(binary.LittleEndian.Uint16(b[18:])))
}

// machineName returns the name without its prefix: "386", "ppc64", "riscv".
func machineName(m elf.Machine) string {
	return strings.ToLower(strings.TrimPrefix(m.String(), "EM_"))
}

// readProgs reads the program headers; all must be in the file.
func (c *contents) readProgs(h *header) error {
	if h.phnum == 0 {
		return nil
	}
	if h.phentsize != phdrSize || h.phnum > maxHeaders {
		return fmt.Errorf("%w: %d program headers of %d bytes", ErrDamaged, h.phnum, h.phentsize)
	}
	if h.phnum*phdrSize <= c.fileSize() {
		if err := c.memory.Take("program headers", h.phnum*uint64(unsafe.Sizeof(elf.ProgHeader{}))); err != nil {
			return err
		}
	}
	raw, err := c.bytesAt(h.phoff, h.phnum*phdrSize)
	if err != nil {
		return fmt.Errorf("program headers: %w", err)
	}
	c.progs = make([]elf.ProgHeader, h.phnum)
	le := binary.LittleEndian
	for i := range c.progs {
		p := raw[i*phdrSize:]
		c.progs[i] = elf.ProgHeader{
			Type: elf.ProgType(le.Uint32(p)), Flags: elf.ProgFlag(le.Uint32(p[4:])),
			Off: le.Uint64(p[8:]), Vaddr: le.Uint64(p[16:]), Paddr: le.Uint64(p[24:]),
			Filesz: le.Uint64(p[32:]), Memsz: le.Uint64(p[40:]), Align: le.Uint64(p[48:]),
		}
	}
	return nil
}

// readSections reads the section headers if they are complete. A cut file keeps its program
// headers, which a target's loader needs.
func (c *contents) readSections(h *header) {
	if !h.sectioned || h.shnum == 0 || h.shnum > maxHeaders {
		return
	}
	raw, err := c.bytesAt(h.shoff, h.shnum*shdrSize)
	if err != nil || c.memory.Take("section headers", h.shnum*uint64(unsafe.Sizeof(elf.SectionHeader{}))) != nil {
		return
	}
	c.sections = make([]elf.SectionHeader, h.shnum)
	names := make([]uint32, h.shnum)
	le := binary.LittleEndian
	for i := range c.sections {
		s := raw[i*shdrSize:]
		names[i] = le.Uint32(s)
		c.sections[i] = elf.SectionHeader{
			Type: elf.SectionType(le.Uint32(s[4:])), Flags: elf.SectionFlag(le.Uint64(s[8:])),
			Addr: le.Uint64(s[16:]), Offset: le.Uint64(s[24:]), Size: le.Uint64(s[32:]), FileSize: le.Uint64(s[32:]),
			Link: le.Uint32(s[40:]), Info: le.Uint32(s[44:]), Addralign: le.Uint64(s[48:]), Entsize: le.Uint64(s[56:]),
		}
	}
	if h.shstrndx >= h.shnum {
		return
	}
	strtab, err := c.rawSection(&c.sections[h.shstrndx])
	if err != nil {
		return
	}
	for i, off := range names {
		name := boundedCString(strtab, uint64(off), maxSectionName)
		if c.memory.Take("names of sections", uint64(len(name))) != nil {
			return
		}
		c.sections[i].Name = string(name)
	}
}
