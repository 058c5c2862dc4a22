package waits

import (
	"cmp"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
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
		return cmp.Or(wf.outsideStatic(array, w.variable), wf.outsideIntegers(array, w.variable, l))
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
	if err != nil || b.High > m.High.Offset {
		return ""
	}
	if w.variable >= b.Low && w.variable < b.High || !wf.isBlock(b, w.variable) {
		return "" // memory of the block after the elements works as a lock, if it was 0
	}
	where := fmt.Sprintf("%d bytes past the end of", w.variable-b.High)
	switch {
	case w.variable < b.Low:
		where = fmt.Sprintf("%d bytes before", b.Low-w.variable)
	case w.variable < b.High+libc.HeaderSize:
		where = "in malloc's data after"
	}
	text := fmt.Sprintf("it is %s the block of %d bytes at %v, from which the code takes an element", where,
		b.High-b.Low, picture.Hex(b.Low))
	if past := wf.pastElements(array, w.variable); past != "" {
		text += "; " + past
	}
	return text
}

// pastElements explains that the lock at addr would be no element of the std::vector whose elements the code indexes.
// It returns "" if it is one, or if the array is in no known container.
func (wf *Finder) pastElements(a lockflow.Array, addr uint64) string {
	v, ok := wf.Data.ElementsAt(a.Base)
	if !ok || addr >= v.Low && addr < v.High || v.Size != a.Stride {
		return ""
	}
	index, count := int64(addr-v.Low)/int64(v.Size), (v.High-v.Low)/v.Size
	noun := "elements"
	if count == 1 {
		noun = "element"
	}
	return fmt.Sprintf("it would be element %d of %s, which has %d %s", index, v.Name, count, noun)
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
// integers of another size, or of integers that are no locks.
func (wf *Finder) outsideIntegers(a lockflow.Array, addr uint64, l picture.Lock) string {
	array, found, ok := wf.anotherArray(a, addr)
	if !ok || array.Integer != a.Stride {
		return ""
	}
	text := outsideWords(array.Name, array.Low, array.High, addr)
	if array.Integer == found.Integer {
		at, is := wf.numberIn(found, addr, l)
		if !is {
			return ""
		}
		text += fmt.Sprintf("; it is in %s, which has the value %d, of no lock, at %v", found.Name, at.value,
			picture.Hex(at.address))
	}
	return text
}

// anotherArray returns the array of integers in Fortran whose element the code takes, and the other one that contains
// addr.
func (wf *Finder) anotherArray(a lockflow.Array, addr uint64) (array, found symbolize.StaticVariable, ok bool) {
	array, ok = wf.indexedArray(a)
	found, known, _ := wf.Code.Symbols.StaticAt(addr)
	return array, found, ok && known && found.Low != array.Low && array.Integer != 0 && found.Integer != 0
}

// number is an integer in memory.
type number struct {
	address uint64
	value   int32
}

// maxNeighbours bounds the integers beside a lock that are read.
const maxNeighbours = 64

// numberIn returns an integer of v, near addr, that GNU's runtime stores in no lock.
func (wf *Finder) numberIn(v symbolize.StaticVariable, addr uint64, l picture.Lock) (number, bool) {
	const size = 4 // of a lock of GNU's runtime
	if v.Integer != size || l.Implementation != "futex" || l.Nested {
		return number{}, false
	}
	low := max(v.Low, addr-min(addr, maxNeighbours/2*size))
	for at := low; at < min(v.High, low+maxNeighbours*size); at += size {
		word, err := layout.ReadUint(wf.Target, callbacks.Addr(at), size)
		if n := int32(word); err == nil && (n < -1 || n > 2) {
			return number{at, n}, true
		}
	}
	return number{}, false
}

// pastArray describes a lock that may be outside of the array whose element the code of its thread acquires: it is in
// another one, which may have locks, too, or after the elements of a container, in the same block. It returns "" for
// other locks. advice is for a lock that may be one.
func (wf *Finder) pastArray(w wait, l picture.Lock) (past, advice string) {
	family, ok := lockFamily(w, l)
	if !ok || w.variable == 0 || w.n == nil || wf.Code.Symbols == nil {
		return "", ""
	}
	a, ok := wf.Flows.Program.ArrayOf(wf.Flows.Thread(&w.n.Thread), family)
	if !ok {
		return "", ""
	}
	if a.Loaded {
		if past := wf.pastElements(a, w.variable); past != "" {
			return past, "check the index"
		}
	}
	array, found, ok := wf.anotherArray(a, w.variable)
	if !ok || array.Integer != found.Integer {
		return "", ""
	}
	const words = "the lock is in %s, and the code takes it as an element of %s (%d bytes at %v), outside of it"
	return fmt.Sprintf(words, found.Name, array.Name, array.High-array.Low, picture.Hex(array.Low)),
		"check the index, unless that array has locks, too"
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
