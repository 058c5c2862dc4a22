package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

const (
	// chunkHeader is what glibc's malloc keeps before each block: its size, with
	// flags in the low bits.
	chunkHeader = 8
	chunkFlags  = 7
	// minChunk and maxChunk bound the size of a block, in bytes.
	minChunk = 32
	maxChunk = 1 << 40
)

// heapName names a lock on the heap by the variable of the program that points to
// the block of memory that it is in. The debug information of the variable must say
// that a lock lies there; if several do, the first in the program counts.
func (in *Inspector) heapName(addr uint64) string {
	for _, p := range in.heapPointers() {
		if addr < p.to || addr >= p.end {
			continue
		}
		if name, ok := in.cfg.Symbolizer.Pointee(p.variable, addr-p.to); ok {
			return name
		}
	}
	return in.allocatedName(addr)
}

// allocatedName names data by the allocatable array of a Fortran program that it
// lies in.
func (in *Inspector) allocatedName(addr uint64) string {
	if in.moduleOf(addr) != nil {
		return ""
	}
	for _, m := range in.programModules() {
		if name, ok := in.cfg.Symbolizer.Allocated(m, addr, in.pointer); ok {
			return name
		}
	}
	return ""
}

// modules lists the loaded modules; none if the target does not tell.
func (in *Inspector) modules() []*callbacks.Module {
	lister, ok := in.cfg.Target.(callbacks.ModuleLister)
	if !ok {
		return nil
	}
	mods, _ := lister.Modules()
	return mods
}

// programModules lists the modules with code of the program: no runtime, and no
// library of the system or of a language.
func (in *Inspector) programModules() []*callbacks.Module {
	return slices.DeleteFunc(slices.Clone(in.modules()), func(m *callbacks.Module) bool {
		return isSystem(m) || in.owned(m.Low.Offset) || languageLibrary(m)
	})
}

// heapPointer is a variable that points to a block of the heap.
type heapPointer struct {
	variable uint64
	to, end  uint64 // the block
}

// heapPointers lists the program's variables that point to the begin of a block of
// the heap, once.
func (in *Inspector) heapPointers() []heapPointer {
	if in.pointers != nil {
		return in.pointers
	}
	in.pointers = []heapPointer{}
	for _, m := range in.programModules() {
		for _, v := range in.cfg.Symbolizer.Pointers(m) {
			to, ok1 := in.pointer(v)
			if to == 0 || to%16 != 0 || !ok1 || in.moduleOf(to) != nil {
				continue
			}
			size, ok2 := in.pointer(to - chunkHeader)
			if size &^= chunkFlags; ok2 && size >= minChunk && size < maxChunk {
				in.pointers = append(in.pointers, heapPointer{v, to, to + size - chunkHeader})
			}
		}
	}
	return in.pointers
}
