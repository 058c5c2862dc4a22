package symfile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

const (
	// imageBias is the load address of a position-independent file: away from address 0, which has a meaning.
	imageBias = 1 << 40
	// maxImage bounds a file's segments in bytes, whatever memory is available.
	maxImage = 1 << 30
	// maxSegments bounds the number of a file's segments: a linker makes about ten.
	maxSegments = 1 << 10
)

// errNoThreads means that a file is not a program: it has neither threads nor other run-time state.
var errNoThreads = errors.New("a file has no threads")

// Image is an executable or a library as a target: its segments as the loader would
// put them into memory, before any of its code runs.
type Image struct {
	file   *elfx.File
	closer io.Closer
	module callbacks.Module
	parts  []part
	memory *budget.Ledger
	budget *budget.Budget
}

// part is a segment.
type part struct {
	callbacks.Mapping
	data []byte
}

// Load opens the file at path. The error is elfx's for a file that is not ELF; files other than
// executables and libraries are errors too. The memory of its segments and tables is charged to l
// before it is taken, and the work to b; exceeding them is an error.
func Load(path string, l *budget.Ledger, b *budget.Budget) (*Image, error) {
	f, closer, err := elfx.OpenFile(nil).Path(l, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	module := callbacks.Module{Path: path, File: path, BuildID: f.BuildID(), Image: f.Image(), Main: true}
	img := &Image{file: f, closer: closer, memory: l, budget: b, module: module}
	switch f.Type() {
	case elf.ET_DYN:
		img.module.Bias = imageBias
	case elf.ET_EXEC:
	default:
		closer.Close()
		return nil, fmt.Errorf("%s is neither an executable nor a library, but %v", path, f.Type())
	}
	err = img.load()
	if err == nil {
		err = img.relocate()
	}
	if err != nil {
		closer.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return img, nil
}

// Close unmaps the file.
func (m *Image) Close() error { return m.closer.Close() }

// load copies the segments.
func (m *Image) load() error {
	left := uint64(maxImage)
	for _, p := range m.file.Progs() {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Memsz > left || p.Filesz > p.Memsz || len(m.parts) == maxSegments {
			const text = "its segments are more than %d, have more than %d bytes, or more in the file than in memory"
			return fmt.Errorf(text, maxSegments, maxImage)
		}
		left -= p.Memsz
		if err := m.memory.Take("segments of the file", p.Memsz); err != nil {
			return err
		}
		data := make([]byte, p.Memsz)
		if _, err := io.ReadFull(io.NewSectionReader(m.file.Image(), int64(p.Off), int64(p.Filesz)),
			data[:p.Filesz]); err != nil {
			return fmt.Errorf("segment at %#x: %w", p.Vaddr, err)
		}
		low := callbacks.Addr(m.module.Bias + p.Vaddr)
		one := part{callbacks.Mapping{Low: low, High: low.Add(p.Memsz), Perm: callbacks.Perm(p.Flags),
			File: m.module.Path, FileOffset: p.Off}, data}
		if len(m.parts) == 0 {
			m.module.Low = low
		}
		m.module.High = one.High
		m.parts = append(m.parts, one)
	}
	if len(m.parts) == 0 {
		return errors.New("it has no segments")
	}
	return nil
}

// bytesAt returns the memory at a, to the end of its segment.
func (m *Image) bytesAt(a uint64) []byte {
	for _, p := range m.parts {
		if a >= p.Low.Offset && a < p.High.Offset {
			return p.data[a-p.Low.Offset:]
		}
	}
	return nil
}

// ReadMemory fills p from address a.
func (m *Image) ReadMemory(a callbacks.Address, p []byte) error {
	if err := m.budget.Spend(1); err != nil {
		return &callbacks.FaultError{Address: a, Err: err}
	}
	for n := 0; n < len(p); {
		data := m.bytesAt(a.Add(uint64(n)).Offset)
		if data == nil || a.Segment != 0 {
			return &callbacks.FaultError{Address: a.Add(uint64(n)), Err: callbacks.ErrUnmapped}
		}
		n += copy(p[n:], data)
	}
	return nil
}

// Symbol returns the address of a symbol that the file defines.
func (m *Image) Symbol(name, _ string) (callbacks.Address, error) {
	s, ok := m.file.Lookup(name)
	if !ok || s.Type == elf.STT_TLS {
		return callbacks.Address{}, fmt.Errorf("%s: %w", name, callbacks.ErrNoSymbol)
	}
	return callbacks.Addr(m.module.Bias + s.Value), nil
}

// ThreadSymbol returns an error: a file has no threads.
func (m *Image) ThreadSymbol(callbacks.ThreadID, string, string) (callbacks.Address, error) {
	return callbacks.Address{}, fmt.Errorf("%w: %w", errNoThreads, callbacks.ErrNoThreadStorage)
}

// ThreadIDs returns an error: a file has no threads.
func (m *Image) ThreadIDs(callbacks.IDKind) ([]callbacks.ThreadID, error) {
	return nil, fmt.Errorf("%w: %w", errNoThreads, callbacks.ErrUnsupportedKind)
}

// Arch returns the file's instruction set.
func (m *Image) Arch() callbacks.Arch { return m.file.Arch() }

// Modules returns the file.
func (m *Image) Modules() ([]*callbacks.Module, error) { return []*callbacks.Module{&m.module}, nil }

// Mappings returns the segments.
func (m *Image) Mappings() []callbacks.Mapping {
	out := make([]callbacks.Mapping, len(m.parts))
	for i, p := range m.parts {
		out[i] = p.Mapping
	}
	return out
}

// relocate applies relocations like the loader, with the symbols that the file itself defines.
func (m *Image) relocate() error {
	relocs, err := m.file.Relocations()
	if err != nil && !errors.Is(err, elfx.ErrNoSection) {
		return fmt.Errorf("relocations: %w", err)
	}
	if err := m.relativeRuns(); err != nil {
		return err
	}
	for _, r := range relocs {
		if err := m.budget.Spend(1); err != nil {
			return fmt.Errorf("relocations: %w", err)
		}
		if v, ok := m.relocated(r); ok {
			m.put(m.module.Bias+r.Offset, v)
		}
	}
	return nil
}

// relocated returns the word of a relocation; false if the loader would take it from another file.
func (m *Image) relocated(r elfx.Reloc) (uint64, bool) {
	addend := uint64(r.Addend)
	of := func() (elfx.Symbol, bool) { return m.file.Lookup(r.Symbol) }
	switch kindOf(m.file.Machine(), r.Type) {
	case relRelative:
		return m.module.Bias + addend, true
	case relAddress:
		if s, ok := of(); ok {
			return m.module.Bias + s.Value + addend, true
		}
	case relThreadOffset:
		if s, ok := of(); ok || r.Symbol == "" {
			return s.Value + addend, true
		}
	}
	return 0, false
}

// relKind is the value that a relocation puts into its word.
type relKind uint8

const (
	relOther relKind = iota
	relRelative
	relAddress
	relThreadOffset
)

func kindOf(machine elf.Machine, typ uint32) relKind { return relKinds[machine][typ] }

var relKinds = map[elf.Machine]map[uint32]relKind{
	elf.EM_X86_64: {
		uint32(elf.R_X86_64_RELATIVE): relRelative,
		uint32(elf.R_X86_64_64):       relAddress,
		uint32(elf.R_X86_64_GLOB_DAT): relAddress,
		uint32(elf.R_X86_64_JMP_SLOT): relAddress,
		uint32(elf.R_X86_64_DTPOFF64): relThreadOffset,
	},
	elf.EM_AARCH64: {
		uint32(elf.R_AARCH64_RELATIVE):     relRelative,
		uint32(elf.R_AARCH64_ABS64):        relAddress,
		uint32(elf.R_AARCH64_GLOB_DAT):     relAddress,
		uint32(elf.R_AARCH64_JUMP_SLOT):    relAddress,
		uint32(elf.R_AARCH64_TLS_DTPREL64): relThreadOffset,
	},
}

// put writes a word where there is memory.
func (m *Image) put(a, v uint64) {
	if b := m.bytesAt(a); len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, v)
	}
}

// Tags of the dynamic section for relocations that are packed in bit maps.
const (
	dtRELRSZ = 35
	dtRELR   = 36
)

// relativeRuns applies the relocations of DT_RELR: an even word is the address of a word to
// relocate, and the bits of the following odd ones select the next 63 words.
func (m *Image) relativeRuns() error {
	table, ok := m.file.Dynamic(dtRELR)
	size, _ := m.file.Dynamic(dtRELRSZ)
	list := m.bytesAt(m.module.Bias + table)
	if !ok || uint64(len(list)) < size {
		return nil
	}
	const perMap = 63
	next := uint64(0)
	for i := uint64(0); i+8 <= size; i += 8 {
		if err := m.budget.Spend(perMap); err != nil {
			return fmt.Errorf("relocations: %w", err)
		}
		v := callbacks.Word(list[i : i+8])
		if v&1 == 0 {
			m.rebase(v)
			next = v + 8
			continue
		}
		for bit := uint64(0); bit < perMap; bit++ {
			if v>>(bit+1)&1 != 0 {
				m.rebase(next + 8*bit)
			}
		}
		next += 8 * perMap
	}
	return nil
}

// rebase adds the bias to the word at a virtual address.
func (m *Image) rebase(vaddr uint64) {
	if b := m.bytesAt(m.module.Bias + vaddr); len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, callbacks.Word(b[:8])+m.module.Bias)
	}
}
