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
		m.eachStorage(func(s *elfx.Symbol) {
			if global := s.Bind != elf.STB_LOCAL; m.anchor == nil || global && !m.anchor.global {
				m.anchor = &storageAnchor{s.Name, s.Value, global}
			}
		})
	}
	return m.anchor
}

// eachStorage calls f with the thread-local symbols of the module's tables.
func (m *module) eachStorage(f func(s *elfx.Symbol)) {
	for _, file := range []*elfx.File{m.ownFile(), m.debugFile(false)} {
		if file != nil {
			eachStorageIn(file, (*elfx.File).Symbols, f)
			eachStorageIn(file, (*elfx.File).DynamicSymbols, f)
		}
	}
}

// eachStorageIn calls f with the thread-local symbols of one table.
func eachStorageIn(file *elfx.File, read func(*elfx.File) ([]elfx.Symbol, error), f func(s *elfx.Symbol)) {
	symbols, err := read(file)
	if err != nil {
		return // the other table may have some
	}
	defer file.Release(symbols)
	for i := range symbols {
		if s := &symbols[i]; s.Type == elf.STT_TLS && s.Defined() && s.Name != "" {
			f(s)
		}
	}
}

// ThreadVariable returns the name of the thread-local variable at an address, of the module and the thread of a frame,
// and its offset in the module's block; not ok if no variable starts there.
func (s *Symbolizer) ThreadVariable(f Activation, addr uint64) (name string, offset uint64, ok bool) {
	_ = s.withModule(f.PC, func(m *module, _ uint64) error {
		storage := m.storageOf(f)
		if storage == nil {
			return nil
		}
		start, known := storage(0)
		if !known || addr < start {
			return nil
		}
		offset = addr - start
		m.eachStorage(func(v *elfx.Symbol) {
			if v.Value == offset && !ok {
				name, ok = Demangle(v.Name), true
			}
		})
		return nil
	})
	return name, offset, ok
}

// ThreadStorage returns the address of thread-local data of the module and the thread of a frame, by its offset in the
// module's block.
func (s *Symbolizer) ThreadStorage(f Activation, offset uint64) (addr uint64, ok bool) {
	_ = s.withModule(f.PC, func(m *module, _ uint64) error {
		if storage := m.storageOf(f); storage != nil {
			addr, ok = storage(offset)
		}
		return nil
	})
	return addr, ok
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
