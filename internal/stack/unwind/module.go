package unwind

import (
	"debug/elf"
	"errors"
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/gocode"
)

// module is a module with its tables, which are found at their first use.
type module struct {
	*callbacks.Module
	mem    callbacks.Memory
	memory *budget.Ledger

	load  sync.Once
	file  *elfx.File // nil without one
	eh    *table     // nil without one
	debug *table
	err   error // the reason if there is no table

	goCode *gocode.Table // nil without Go code
	goInfo func() *gocode.Runtime
}

// findFDE returns the FDE of file address pc and the kind of its table.
func (m *module) findFDE(pc uint64) (*fde, How, error) {
	m.load.Do(m.open)
	var damage error
	for _, c := range []struct {
		t   *table
		how How
	}{{m.eh, HowEHFrame}, {m.debug, HowDebugFrame}} {
		if c.t == nil {
			continue
		}
		f, err := c.t.lookup(pc)
		if f != nil {
			return f, c.how, nil
		}
		if damage == nil {
			damage = err
		}
	}
	return nil, 0, firstError(damage, m.err, ErrNoUnwindInfo)
}

// entryOf returns the start of the function whose symbol covers a file address.
func (m *module) entryOf(addr uint64) (entry uint64, ok bool) {
	m.load.Do(m.open)
	if m.file == nil {
		return 0, false
	}
	isFunction := func(s *elfx.Symbol) bool {
		return s.Type == elf.STT_FUNC && s.Defined() && addr >= s.Value && addr-s.Value < s.Size
	}
	list, _ := m.file.StaticAround(addr, isFunction)
	if len(list) == 0 {
		list, _ = m.file.DynamicAround(addr, isFunction)
	}
	for _, s := range list {
		if !ok || s.Value > entry {
			entry, ok = s.Value, true
		}
	}
	return entry, ok
}

// firstError returns the first non-nil error of errs.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// open finds the tables, in the file or otherwise in memory.
func (m *module) open() {
	if m.Image == nil {
		m.err = m.openMemory()
		return
	}
	f, err := elfx.OpenWithMemory(m.memory, m.Image)
	if err != nil {
		m.err = fmt.Errorf("unwind information of %s: %w", m.Path, err)
		return
	}
	m.file = f
	if m.eh, m.err = fileEHFrame(f); m.eh != nil {
		m.eh.memory = m.memory
	}
	m.openGo(f)
	if data, h, err := f.Section(".debug_frame"); err == nil && h.Type != elf.SHT_NOBITS {
		m.debug = newTable(memorySlice{data: data}, bases{})
		m.debug.debugFrame, m.debug.end, m.debug.memory = true, uint64(len(data)), m.memory
	}
}

// fileEHFrame finds the .eh_frame of an ELF file, by its program header, or if that is missing or
// damaged by its section. It returns nil without one.
func fileEHFrame(f *elfx.File) (*table, error) {
	t, err := segmentEHFrame(fileSource{f}, f.Progs())
	if t != nil && t.index.n > 0 {
		return t, nil
	}
	data, h, serr := f.Section(".eh_frame")
	if serr == nil {
		t = newTable(memorySlice{h.Addr, data}, bases{})
		t.start, t.end = h.Addr, h.Addr+uint64(len(data))
		return t, nil
	}
	if t != nil || errors.Is(serr, elfx.ErrNoSection) {
		return t, err
	}
	return t, serr
}

// segmentEHFrame finds .eh_frame through PT_GNU_EH_FRAME. It returns nil without an error if that is missing.
func segmentEHFrame(src source, progs []elf.ProgHeader) (*table, error) {
	for _, p := range progs {
		if p.Type == elf.PT_GNU_EH_FRAME {
			t, err := ehFrame(src, p.Vaddr, p.Memsz)
			if err != nil {
				return nil, err
			}
			t.end = segmentEnd(progs, t.start)
			return t, nil
		}
	}
	return nil, nil
}

// segmentEnd returns the end of the PT_LOAD segment that contains addr, or addr itself.
func segmentEnd(progs []elf.ProgHeader, addr uint64) uint64 {
	for _, p := range progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return p.Vaddr + p.Filesz
		}
	}
	return addr
}

// fileSource reads the bytes that a loader maps from the file.
type fileSource struct{ *elfx.File }

func (s fileSource) bytes(vaddr uint64, n int) ([]byte, error) { return s.DataAt(vaddr, n) }

// memorySlice is a section in memory; addr is the virtual address of its first byte.
type memorySlice struct {
	addr uint64
	data []byte
}

func (s memorySlice) bytes(vaddr uint64, n int) ([]byte, error) {
	off := vaddr - s.addr
	if off > uint64(len(s.data)) || n < 0 || uint64(n) > uint64(len(s.data))-off {
		return nil, fmt.Errorf("%w: %d bytes at %#x are outside of the section", ErrDamaged, n, vaddr)
	}
	return s.data[off : off+uint64(n)], nil
}

// memSource reads a module from the target's memory.
type memSource struct {
	mem  callbacks.Memory
	bias uint64
}

func (s memSource) bytes(vaddr uint64, n int) ([]byte, error) {
	p := make([]byte, n)
	err := s.mem.ReadMemory(callbacks.Addr(vaddr+s.bias), p)
	return p, err
}

// maxPhdrs bounds the program headers of a module in memory; loaders map a
// dozen.
const maxPhdrs = 256

// Sizes and offsets of the 64-bit ELF header (elf.Header64).
const (
	ehdrSize      = 64
	ehdrPhoff     = 32
	ehdrPhentsize = 54
	phdrSize      = 56
)

// openMemory finds the tables of a module without a file, through the ELF header at its start.
func (m *module) openMemory() error {
	src := memSource{m.mem, m.Bias}
	base := m.Low.Offset - m.Bias
	p, err := src.bytes(base, ehdrSize)
	if err != nil {
		return m.missingError(err)
	}
	if string(p[:4]) != elf.ELFMAG {
		return m.missingError(errors.New("no ELF header in memory"))
	}
	h := buf{b: p[ehdrPhoff:]}
	phoff := h.u64()
	h = buf{b: p[ehdrPhentsize:]}
	size, n := h.u16(), h.u16()
	if size != phdrSize || n > maxPhdrs || phoff > m.High.Sub(m.Low) {
		return m.missingError(fmt.Errorf("%w: program headers in memory", ErrDamaged))
	}
	if p, err = src.bytes(base+phoff, int(n)*phdrSize); err != nil {
		return m.missingError(err)
	}
	m.eh, err = segmentEHFrame(src, progHeaders(p))
	if err != nil {
		return m.missingError(err)
	}
	return nil
}

// missingError returns the error for a module without its file, if the file is needed.
func (m *module) missingError(err error) error {
	if m.Err != nil {
		return fmt.Errorf("unwind information of %s: %w; not in memory either: %w", m.Path, m.Err, err)
	}
	return fmt.Errorf("unwind information of %s: no file at hand, and from memory: %w", m.Path, err)
}

// progHeaders decodes 64-bit program headers.
func progHeaders(p []byte) []elf.ProgHeader {
	var progs []elf.ProgHeader
	for b := (buf{b: p}); len(b.b) >= phdrSize; {
		h := elf.ProgHeader{Type: elf.ProgType(b.u32()), Flags: elf.ProgFlag(b.u32())}
		h.Off, h.Vaddr, h.Paddr, h.Filesz = b.u64(), b.u64(), b.u64(), b.u64()
		h.Memsz, h.Align = b.u64(), b.u64()
		progs = append(progs, h)
	}
	return progs
}
