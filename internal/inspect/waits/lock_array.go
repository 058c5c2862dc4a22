package waits

import (
	"cmp"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// outsideArray explains that the lock that w waits for is outside of the array whose element the code of its
// thread acquires. It returns "" if it is not, or if nothing proves it. The code adds an index to a pointer that it
// loads, or to the address of a variable: the array is a block of the heap, or a variable.
func (wf *Finder) outsideArray(w wait, l picture.Lock) string {
	family, ok := lockFamily(w, l)
	if !ok || w.variable == 0 {
		return ""
	}
	array, ok := wf.Flows.Program.ArrayOf(wf.Flows.Thread(&w.n.Thread), family)
	base := array.Base
	switch {
	case !ok:
		return ""
	case wf.Code.ModuleOf(base) != nil:
		return cmp.Or(wf.outsideStatic(array, w.variable), wf.outsideIntegers(array, w.variable))
	case !array.Loaded:
		return ""
	}
	m := libc.MappingAt(stacks.MappingsOf(wf.Target), base)
	if m == nil || m.Perm&callbacks.PermWrite == 0 {
		return ""
	}
	if name, low, high, ok := wf.Data.LocalExtent(base); ok {
		if low != base || w.variable >= low && w.variable < high {
			return ""
		}
		return outsideWords(name, low, high, w.variable)
	}
	b, err := wf.Data.Library().BlockAt(base)
	if err != nil || b.High > m.High.Offset || w.variable >= b.Low && w.variable < b.High {
		return ""
	}
	if !wf.isBlock(b, w.variable) {
		return ""
	}
	where := fmt.Sprintf("%d bytes past the end of", w.variable-b.High)
	switch {
	case w.variable < b.Low:
		where = fmt.Sprintf("%d bytes before", b.Low-w.variable)
	case w.variable < b.High+libc.HeaderSize:
		where = "in malloc's data after"
	}
	return fmt.Sprintf("it is %s the block of %d bytes at %v, from which the code takes an element", where,
		b.High-b.Low, picture.Hex(b.Low))
}

// outsideStatic explains that the lock at addr is no element of an array in a static variable. If the code adds the
// index to an address, the memory at addr must be no lock: by debug information, or as no variable is there.
func (wf *Finder) outsideStatic(a lockflow.Array, addr uint64) string {
	array, ok, _ := wf.Code.Symbols.StaticAt(a.Base)
	if !a.Loaded && !array.Lock { // the smallest index may be 1
		if next, is, _ := wf.Code.Symbols.StaticAt(a.Base + a.Stride); is && next.Lock && next.Low == a.Base+a.Stride {
			array, ok, a.Base = next, true, next.Low
		}
	}
	if !ok || array.Low != a.Base && (a.Loaded || !array.Lock) {
		return ""
	}
	found, _, free := wf.Code.Symbols.StaticAt(addr)
	free = free || wf.Code.ModuleOf(addr) == nil
	inside := addr >= array.Low && addr < array.High // of another member of a structure
	if array.Lock && found.NoLock || !inside && !found.Lock && (a.Loaded || free) {
		return outsideWords(array.Name, array.Low, array.High, addr)
	}
	return ""
}

// outsideIntegers explains that the lock at addr is no element of an array of integers in Fortran: it is in an array of
// integers of another size.
func (wf *Finder) outsideIntegers(a lockflow.Array, addr uint64) string {
	array, ok := wf.indexedArray(a)
	found, known, _ := wf.Code.Symbols.StaticAt(addr)
	if !ok || !known || found.Low == array.Low || array.Integer == found.Integer ||
		array.Integer == 0 || found.Integer == 0 || array.Integer != a.Stride {
		return ""
	}
	return outsideWords(array.Name, array.Low, array.High, addr)
}

// indexedArray returns the static array to whose address the code adds an index. The smallest index may be 1.
func (wf *Finder) indexedArray(a lockflow.Array) (array symbolize.StaticVariable, ok bool) {
	if a.Loaded {
		return array, false
	}
	if array, ok, _ = wf.Code.Symbols.StaticAt(a.Base + a.Stride); ok && array.Low == a.Base+a.Stride {
		return array, true
	}
	array, ok, _ = wf.Code.Symbols.StaticAt(a.Base)
	return array, ok && array.Low == a.Base
}

// outsideWords explains that the lock at addr is no element of a variable, which is in [low, high).
func outsideWords(name string, low, high, addr uint64) string {
	where := fmt.Sprintf("%d bytes past the end of", addr-high)
	switch {
	case addr < low:
		where = fmt.Sprintf("%d bytes before", low-addr)
	case addr < high:
		where = fmt.Sprintf("no lock, %d bytes after the start of", addr-low)
	}
	return fmt.Sprintf("it is %s %s (%d bytes at %v), from which the code takes an element", where, name, high-low,
		picture.Hex(low))
}

// isBlock reports whether a block of the heap is one: another block follows, or its header was overwritten by the lock
// at addr.
func (wf *Finder) isBlock(b libc.Block, addr uint64) bool {
	library := wf.Data.Library()
	if _, err := library.BlockAt(b.High + libc.HeaderSize); err == nil {
		return true
	}
	if addr < b.High || addr >= b.High+libc.HeaderSize {
		return false
	}
	broken, err := library.BrokenHeap()
	return err == nil && broken != nil && broken.Block == b
}
