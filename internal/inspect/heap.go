package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// heapName names a lock on the heap by the variable of the program that points to
// the block of memory that it is in. The debug information of the variable must say
// that a lock lies there; if several do, the first in the program counts.
func (d *dataNames) heapName(addr uint64) string {
	for _, p := range d.heapPointers() {
		if addr < p.to || addr >= p.end {
			continue
		}
		if name, ok := d.code.sym.Pointee(p.variable, addr-p.to); ok {
			return name
		}
	}
	return d.allocatedName(addr)
}

// allocatedName names data by the allocatable array of a Fortran program that it
// lies in.
func (d *dataNames) allocatedName(addr uint64) string {
	if d.code.moduleOf(addr) != nil {
		return ""
	}
	for _, m := range d.programModules() {
		if name, ok := d.code.sym.Allocated(m, addr, d.pointerAt); ok {
			return name
		}
	}
	return ""
}

// programModules lists the modules with code of the program: no runtime, and no
// library of the system or of a language.
func (d *dataNames) programModules() []*callbacks.Module {
	return slices.DeleteFunc(slices.Clone(d.modules), func(m *callbacks.Module) bool {
		return libc.IsSystem(m.Path) || libc.IsLanguage(m.Path) || d.code.owned(m.Low.Offset)
	})
}

// heapPointer is a variable that points to a block of the heap.
type heapPointer struct {
	variable uint64
	to, end  uint64 // the block
}

// heapPointers lists the program's variables that point to the start of a block of
// the heap, once.
func (d *dataNames) heapPointers() []heapPointer {
	if d.pointers != nil {
		return d.pointers
	}
	d.pointers = []heapPointer{}
	for _, m := range d.programModules() {
		for _, v := range d.code.sym.Pointers(m) {
			to, err := layout.ReadUint(d.target, callbacks.At(v), 8)
			if err != nil || to == 0 || d.code.moduleOf(to) != nil {
				continue
			}
			if b, err := d.library().BlockAt(to); err == nil {
				d.pointers = append(d.pointers, heapPointer{v, b.Low, b.High})
			}
		}
	}
	return d.pointers
}

// modulesOf lists the loaded modules; none if the target does not tell.
func modulesOf(t callbacks.Target) []*callbacks.Module {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		return nil
	}
	mods, _ := lister.Modules() // those that were found are listed beside the error
	return mods
}

// pointerAt reads an address for the names of allocatable arrays, of which any that
// cannot be read is none.
func (d *dataNames) pointerAt(addr uint64) (uint64, bool) {
	v, err := layout.ReadUint(d.target, callbacks.At(addr), 8)
	return v, err == nil
}
