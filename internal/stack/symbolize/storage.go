package symbolize

import (
	"debug/elf"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// storageAnchor is a thread-local symbol of a module, with its offset in the module's block.
type storageAnchor struct {
	name   string
	offset uint64
	global bool
}

// storageAnchor returns a thread-local symbol of the module; nil without one. The address of its instance in a thread
// leads to the other thread-local variables of the module. Global symbols are preferred: several local ones may have
// the same name.
func (m *module) storageAnchor() *storageAnchor {
	if !m.anchored {
		m.anchored = true
		for _, f := range []*elfx.File{m.ownFile(), m.debugFile(false)} {
			if f != nil {
				m.considerStorage(f, (*elfx.File).Symbols)
				m.considerStorage(f, (*elfx.File).DynamicSymbols)
			}
		}
	}
	return m.anchor
}

// considerStorage keeps the best thread-local symbol of a table.
func (m *module) considerStorage(f *elfx.File, read func(*elfx.File) ([]elfx.Symbol, error)) {
	symbols, err := read(f)
	if err != nil {
		return // the other table may have one
	}
	defer f.Release(symbols)
	for i := range symbols {
		s := &symbols[i]
		if s.Type != elf.STT_TLS || !s.Defined() || s.Name == "" {
			continue
		}
		if global := s.Bind != elf.STB_LOCAL; m.anchor == nil || global && !m.anchor.global {
			m.anchor = &storageAnchor{s.Name, s.Value, global}
		}
	}
}

// storageOf returns a function that returns the address of thread-local data of the activation's thread, by the offset
// in the module's block; nil if the activation has no thread.
func (m *module) storageOf(f Activation) func(offset uint64) (uint64, bool) {
	if f.ThreadSymbol == nil {
		return nil
	}
	return func(offset uint64) (uint64, bool) {
		anchor := m.storageAnchor()
		if anchor == nil {
			return 0, false
		}
		addr, ok := f.ThreadSymbol(anchor.name, m.mod.Path)
		return addr - anchor.offset + offset, ok
	}
}
