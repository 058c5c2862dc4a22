package modules

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// pageSize is the unit in which segments are mapped on x86-64, and the smallest
// on aarch64.
const pageSize = 4096

// ehdrSize is the size of the header of a 64-bit ELF file.
const ehdrSize = 64

// maxVDSO bounds the vdso; its size is two pages on x86-64 and aarch64 today.
const maxVDSO = 16 * pageSize

// maxHeaderPages bounds the part of a module's first segment that is read for its headers and its build ID.
const maxHeaderPages = 16 * pageSize

// memoryImage is the start of a file as mapped in a target, and its program headers.
type memoryImage struct {
	mem       callbacks.Memory
	base      uint64
	low, high uint64 // offsets of the program headers, if they are after the start
}

// Size returns an upper bound: reads past the mapping fail.
func (m memoryImage) Size() int64 { return int64(max(maxHeaderPages, m.high)) }

// ReadAt reads the target at the file offset that the first segment maps.
func (m memoryImage) ReadAt(p []byte, off int64) (int, error) {
	if end := uint64(off) + uint64(len(p)); end > maxHeaderPages && (uint64(off) < m.low || end > m.high) {
		return 0, fmt.Errorf("offset %#x: %w", off, io.ErrUnexpectedEOF)
	}
	if err := m.mem.ReadMemory(callbacks.Addr(m.base+uint64(off)), p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// readHeaders reads the ELF headers at address base of the target.
func (t *Table) readHeaders(e *entry, base uint64) {
	if base == 0 {
		return
	}
	m := memoryImage{mem: t.facts.Memory, base: base}
	m.low, m.high = t.farHeaders(base)
	f, err := elfx.Open(m)
	if err == nil && len(f.Progs()) > 0 && (m.high == 0 || isMappedLikeStart(f, m.low, m.high)) {
		e.memory = f
	}
}

// farHeaders returns the offsets of the program headers of the file at base, if they are not at its start: LLVM's BOLT
// puts them into the segment that it adds.
func (t *Table) farHeaders(base uint64) (low, high uint64) {
	const tableAt, entrySize, entries = 0x20, 0x36, 0x38
	b := make([]byte, ehdrSize)
	if t.facts.Memory.ReadMemory(callbacks.Addr(base), b) != nil {
		return 0, 0
	}
	order := binary.LittleEndian
	low = order.Uint64(b[tableAt:])
	high = low + uint64(order.Uint16(b[entrySize:]))*uint64(order.Uint16(b[entries:]))
	if high <= maxHeaderPages || low > math.MaxInt64 || high > math.MaxInt64 {
		return 0, 0
	}
	return low, high
}

// isMappedLikeStart reports whether a segment has the offsets [low, high) of the file at the same distance from the
// first segment's address as in the file.
func isMappedLikeStart(f *elfx.File, low, high uint64) bool {
	list := loads(f)
	return slices.ContainsFunc(list, func(p elf.ProgHeader) bool {
		return p.Off <= low && high-p.Off <= p.Filesz && p.Vaddr-p.Off == list[0].Vaddr-list[0].Off
	})
}

// findMain finds the executable: the file mapped at the kernel's address of its program headers or of its entry
// point or, if these are lost, the file with the name of the command.
func (t *Table) findMain() *entry {
	e := &entry{}
	e.mod.Main = true
	name := t.execName()
	base := t.mainBase(e, name)
	t.readHeaders(e, base)
	if e.mod.Path == "" {
		e.mod.Path = name
	} else if name != "" {
		e.names = append(e.names, name)
	}
	if e.memory != nil {
		e.setMainBias(e.memory, base, t.facts.Auxv[atENTRY])
		t.complete(e)
		return e
	}
	t.complete(e)
	if e.file != nil && !e.setMainBias(e.file, base, t.facts.Auxv[atENTRY]) {
		e.file, e.mod.File, e.mod.Image = nil, "", nil
		e.mod.Err = &Error{e.mod.Path, errors.New("where it is mapped is not known"),
			"the target has neither auxiliary vector nor list of files"}
	}
	e.setBounds()
	return e
}

// mainBase returns the address of the executable's first byte; 0 if unknown. A mapping of the file
// gives the path, too. Without one, the headers are right before the program headers.
func (t *Table) mainBase(e *entry, name string) uint64 {
	phdr := t.facts.Auxv[atPHDR]
	m := t.mappingAt(phdr)
	if m == nil {
		m = t.mappingAt(t.facts.Auxv[atENTRY])
	}
	if i := slices.IndexFunc(t.facts.Files, func(f callbacks.Mapping) bool { return f.File == name }); m == nil &&
		i >= 0 {
		m = &t.facts.Files[i]
	}
	if m != nil {
		e.mod.Path = m.File
		return t.startOf(m)
	}
	if phdr < ehdrSize {
		return 0
	}
	return phdr - ehdrSize
}

// setMainBias compares the entry point, or the address of the first byte, in the target and in the
// file. It returns false if the target has neither.
func (e *entry) setMainBias(f *elfx.File, base, entryPoint uint64) bool {
	if f.Type() == elf.ET_DYN {
		switch {
		case entryPoint != 0 && f.Entry() != 0:
			e.mod.Bias = entryPoint - f.Entry()
		case base != 0:
			e.mod.Bias = base - firstVaddr(f)
		default:
			return false
		}
	}
	if d, ok := dynamicOf(f); ok {
		e.dynamic = e.mod.Bias + d
	}
	return true
}

// execName returns the path with which the program was started, if it is absolute: from the
// kernel's copy on the stack, or otherwise the first word of the command line.
func (t *Table) execName() string {
	name, err := t.memory().readString(t.facts.Auxv[atEXECFN])
	if err != nil || name == "" {
		name, _, _ = strings.Cut(t.facts.Command, " ")
	}
	if !path.IsAbs(name) {
		return ""
	}
	return name
}

// addVDSO adds the kernel's module, with a copy of its image.
func (t *Table) addVDSO() {
	base := t.vdso
	if base == 0 {
		return
	}
	size := uint64(maxVDSO)
	if t.facts.VDSOEnd > base {
		size = min(size, t.facts.VDSOEnd-base)
	}
	e := &entry{debug: func() *elfx.File { return nil }}
	e.mod.Path = vdsoPath
	e.mod.Low, e.mod.High = callbacks.Addr(base), callbacks.Addr(base+size)
	img, err := t.copyImage(base, size)
	if err == nil {
		e.file, err = elfx.OpenWithMemory(t.taken, img)
	}
	if err != nil {
		e.mod.Err = &Error{vdsoPath, err, "the kernel's coredump_filter may have left it out; backtraces through " +
			"system calls may end there"}
	} else {
		e.mod.Image = img
		e.mod.BuildID = e.file.BuildID()
		e.mod.Bias = base - firstVaddr(e.file)
		e.setBounds()
	}
	t.entries = append(t.entries, e)
}

// copyImage copies the pages of a module that equals its file in memory: up to the size in its
// header, at most size bytes, or until one is missing.
func (t *Table) copyImage(base, size uint64) (callbacks.Image, error) {
	if n, ok := t.imageSize(base); ok {
		size = min(size, n)
	}
	b := make([]byte, size)
	for n := uint64(0); n < size; n += pageSize {
		if err := t.facts.Memory.ReadMemory(callbacks.Addr(base+n), b[n:min(n+pageSize, size)]); err != nil {
			if n == 0 {
				return nil, err
			}
			b = b[:n]
			break
		}
	}
	return byteImage{strings.NewReader(string(b)), b}, nil
}

// imageSize returns the end of the table of sections, which linkers put last; false without one.
func (t *Table) imageSize(base uint64) (uint64, bool) {
	b := make([]byte, ehdrSize)
	if t.facts.Memory.ReadMemory(callbacks.Addr(base), b) != nil || elf.Class(b[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return 0, false
	}
	const tableAt, entrySize, entries = 0x28, 0x3a, 0x3c
	order := binary.LittleEndian
	at := order.Uint64(b[tableAt:])
	n := uint64(order.Uint16(b[entrySize:])) * uint64(order.Uint16(b[entries:]))
	return at + n, n > 0 && at >= ehdrSize && at < maxVDSO
}

// byteImage is an image in memory.
type byteImage struct {
	*strings.Reader
	b []byte
}

// Bytes returns the whole content.
func (m byteImage) Bytes() []byte { return m.b }

// firstVaddr returns the virtual address of a file's first byte.
func firstVaddr(f *elfx.File) uint64 {
	for _, p := range f.Progs() {
		if p.Type == elf.PT_LOAD && p.Off < pageSize {
			return p.Vaddr - p.Off
		}
	}
	return 0
}

// dynamicOf returns the virtual address of the dynamic section.
func dynamicOf(f *elfx.File) (uint64, bool) {
	for _, p := range f.Progs() {
		if p.Type == elf.PT_DYNAMIC {
			return p.Vaddr, true
		}
	}
	return 0, false
}
