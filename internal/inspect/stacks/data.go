package stacks

import (
	"iter"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Data names the program's data: global variables and their members, local variables of frames, and heap
// blocks by the variables that point to them.
type Data struct {
	target     callbacks.Target
	code       *Code
	threads    iter.Seq[*Thread] // in the order of the picture
	Library    func() *libc.Library
	HeapNames  *HeapNames // of earlier Data of the same process; nil keeps none
	modules    []*callbacks.Module
	mappings   []callbacks.Mapping // read with pointed
	pointed    *symbolize.Pointees // nil before the first use
	stacksAt   map[uint64]bool     // nil before the first use
	localNames map[uint64]string   // names of local variables, by address
}

// HeapNames keeps what the search for the names of data on the heap found, from one sample of a profile to the next:
// the search takes longer than all else in a sample. So a name is wrong if a block was freed since, and is used for
// other data.
type HeapNames struct {
	pointed *symbolize.Pointees // of the last search; nil before the first
	unnamed map[uint64]bool     // data that a search did not find
}

// maxUnnamed bounds the data without a name that is kept.
const maxUnnamed = 4096

// NewData returns the names of the data of a target. threads yields its threads; library returns its C library.
func NewData(code *Code, threads iter.Seq[*Thread], library func() *libc.Library) *Data {
	return &Data{
		target: code.Target, code: code, threads: threads, Library: library, localNames: map[uint64]string{},
		modules: modulesOf(code.Target),
	}
}

// SymbolName returns the symbol at addr, or "".
func (d *Data) SymbolName(addr uint64) string {
	if addr == 0 || d.code.Symbols == nil {
		return ""
	}
	s, ok := d.code.Symbols.Data(addr)
	if !ok || s.Offset != 0 {
		return ""
	}
	return s.Name
}

// PlaceName names the data at addr: a variable, an element or a member, or an offset into a variable if
// debug information has no more. It leaves out members of the C++ library's classes.
func (d *Data) PlaceName(addr uint64) string {
	return symbolize.WithoutLibraryMembers(d.fullName(addr))
}

// fullName names the data at addr with all members.
func (d *Data) fullName(addr uint64) string {
	if addr == 0 || d.code.Symbols == nil || d.code.InRuntime(addr) {
		return ""
	}
	if name, ok := d.code.Symbols.VariableName(addr); ok {
		return name
	}
	s, ok := d.code.Symbols.Data(addr)
	switch {
	case !ok || s.Name == "":
		if name := d.localName(addr); name != "" {
			return name
		}
		return d.heapName(addr)
	case s.Offset == 0:
		return symbolize.Demangle(s.Name)
	}
	return symbolize.Demangle(s.Name) + "+" + picture.Hex(s.Offset).String()
}

// heapName names a lock on the heap by a variable of the program from which pointers lead to it: a static variable, or
// a local one of a frame. The variable's debug information must have a lock there. The first such variable counts: of
// the outermost frame, whose name is that of the object rather than of a parameter.
func (d *Data) heapName(addr uint64) string {
	if d.HeapNames.isUnnamed(addr) {
		return d.arrayName(addr)
	}
	name, function, ok := d.HeapNames.nameOf(addr)
	if !ok {
		name, function, ok = d.pointedObjects().Name(addr)
		d.HeapNames.keep(d.pointed, addr, ok)
	}
	switch {
	case !ok:
		return d.arrayName(addr)
	case function != "":
		return nameIn(name, function, "")
	}
	return name
}

// ElementsAt returns the elements of the program's std::vector whose first element is at addr. Their name has the
// function of a local variable.
func (d *Data) ElementsAt(addr uint64) (symbolize.Elements, bool) {
	if d.code.Symbols == nil {
		return symbolize.Elements{}, false
	}
	e, ok := d.pointedObjects().ElementsAt(addr)
	if e.Function != "" {
		e.Name = nameIn(e.Name, e.Function, "")
	}
	return e, ok
}

// isUnnamed reports whether an earlier search has not found the data at addr.
func (h *HeapNames) isUnnamed(addr uint64) bool { return h != nil && h.unnamed[addr] }

// nameOf names the data at addr as Pointees.Name does, by the objects of an earlier search.
func (h *HeapNames) nameOf(addr uint64) (name, function string, ok bool) {
	if h == nil || h.pointed == nil {
		return "", "", false
	}
	return h.pointed.Name(addr)
}

// keep keeps the objects of a search, and whether it found the data at addr.
func (h *HeapNames) keep(found *symbolize.Pointees, addr uint64, ok bool) {
	if h == nil {
		return
	}
	h.pointed = found
	if ok || len(h.unnamed) >= maxUnnamed {
		return
	}
	if h.unnamed == nil {
		h.unnamed = map[uint64]bool{}
	}
	h.unnamed[addr] = true
}

// nameIn adds the function to the name of a local variable. For a function that the compiler made of a construct, that
// is the program's function around it: caller, unless its name shows another. If it is not known, it returns the name
// alone. The function has no types of parameters: its name is part of a sentence.
func nameIn(name, function, caller string) string {
	if kind, parent := symbolize.Construct(function); kind != "" {
		if function = parent; function == "" {
			function = caller
		}
	}
	if function == "" {
		return name
	}
	return name + " in " + phrase.PlainName(function)
}

// constructCaller returns the program's function that started the parallel region of frame i of a stack; "" if the
// stack does not show it: that of a worker ends in the region, a task may be executed in any function, and a function
// whose last call forks the region has no frame.
func (d *Data) constructCaller(st *Stack, i int) string {
	if known := d.code.constructs[d.code.FunctionEntry(st.Frames[i])]; known.Function != "" {
		return known.Function
	}
	for ; i < len(st.Frames); i++ {
		if st.Kinds[i] != KindUser {
			continue
		}
		f, err := d.code.Symbols.Function(st.Frames[i].LookupPC())
		if err != nil {
			return ""
		}
		switch kind, _ := symbolize.Construct(f.Linkage); {
		case kind == "" && d.code.CallsProgram(st.Frames[i].PC):
			return ""
		case kind == "":
			return f.Function
		case kind != symbolize.ConstructParallel || f.Around != "":
			return f.Around
		}
	}
	return ""
}

// arrayName names data by the allocatable array of a Fortran program that contains it.
func (d *Data) arrayName(addr uint64) string {
	if d.code.ModuleOf(addr) != nil {
		return ""
	}
	for _, m := range d.programModules() {
		if name, ok := d.code.Symbols.AllocatedName(m, addr, d.readPointer); ok {
			return name
		}
	}
	return ""
}

// programModules lists the modules with code of the program: no runtimes, and no system or language libraries.
func (d *Data) programModules() []*callbacks.Module {
	return slices.DeleteFunc(slices.Clone(d.modules), func(m *callbacks.Module) bool {
		return libc.IsSystem(m.Path) || libc.IsLanguage(m.Path) || d.code.InRuntime(m.Low.Offset)
	})
}

// maxPointingFrames bounds the frames whose local variables are searched for pointers, and maxSameFrames those at one
// place in the code.
const (
	maxPointingFrames = 256
	maxSameFrames     = 4
)

// pointedObjects returns the objects to which pointers in the program's variables lead. It searches once.
func (d *Data) pointedObjects() *symbolize.Pointees {
	if d.pointed != nil {
		return d.pointed
	}
	d.mappings = MappingsOf(d.target)
	d.pointed = d.code.Symbols.NewPointees(symbolize.PointerReader{
		Read: func(addr uint64, p []byte) error { return d.target.ReadMemory(callbacks.Addr(addr), p) },
		End:  d.arrayEnd,
	})
	for _, m := range d.programModules() {
		d.code.Symbols.AddPointeesOf(m, d.pointed)
	}
	frames, same := 0, map[uint64]int{}
	for n := range d.threads {
		if n.Registers() == nil {
			continue
		}
		st := n.Stack()
		for i, f := range slices.Backward(st.Frames) {
			pc := f.LookupPC()
			if st.Kinds[i] != KindUser || same[pc] == maxSameFrames || frames == maxPointingFrames {
				continue
			}
			same[pc]++
			frames++
			at := symbolize.Activation{PC: pc, CFA: f.CFA, Register: f.Registers.Get}
			d.code.Symbols.AddLocalPointees(at, d.pointed)
		}
	}
	d.pointed.Complete()
	return d.pointed
}

// cookie is the size of the number of elements that C++ keeps before an array of objects with a destructor.
const cookie = 8

// arrayEnd returns the end of the block of the heap with an array of elements of a size that starts at addr; 0 if
// there is none.
func (d *Data) arrayEnd(addr, size uint64) uint64 {
	if b, ok := d.heapBlock(addr); ok {
		return b.High
	}
	b, ok := d.heapBlock(addr - cookie)
	if !ok {
		return 0
	}
	if count, ok := d.readPointer(b.Low); ok && count > 0 && count <= (b.High-addr)/size {
		return addr + count*size
	}
	return 0
}

// heapBlock returns the block of the heap that starts at addr.
func (d *Data) heapBlock(addr uint64) (libc.Block, bool) {
	m := libc.MappingAt(d.mappings, addr)
	if m == nil || m.Perm&callbacks.PermWrite == 0 || d.code.ModuleOf(addr) != nil || d.stackMappings()[m.Low.Offset] {
		return libc.Block{}, false
	}
	b, err := d.Library().BlockAt(addr)
	return b, err == nil && b.High <= m.High.Offset+libc.HeaderSize
}

// stackMappings returns the starts of the mappings with the stacks of threads.
func (d *Data) stackMappings() map[uint64]bool {
	if d.stacksAt != nil {
		return d.stacksAt
	}
	d.stacksAt = map[uint64]bool{}
	for n := range d.threads {
		if regs := n.Registers(); regs != nil {
			if m := libc.MappingAt(d.mappings, regs.SP()); m != nil {
				d.stacksAt[m.Low.Offset] = true
			}
		}
	}
	return d.stacksAt
}

// readPointer reads the pointer at addr.
func (d *Data) readPointer(addr uint64) (uint64, bool) {
	v, err := layout.ReadUint(d.target, callbacks.Addr(addr), 8)
	return v, err == nil
}

// localName names the data at addr by the local variable that contains it: "lk in transfer". It returns "" if
// addr is in no frame, or if debug information does not describe it.
func (d *Data) localName(addr uint64) string {
	if name, ok := d.localNames[addr]; ok {
		return name
	}
	name := d.findLocal(addr)
	d.localNames[addr] = name
	return name
}

// findLocal searches the frames of all threads for the local variable around addr.
func (d *Data) findLocal(addr uint64) string {
	if at, st, i, ok := d.frameAround(addr); ok {
		if name, function, ok := d.code.Symbols.LocalName(at, addr); ok {
			return nameIn(name, function, d.constructCaller(st, i))
		}
	}
	return ""
}

// LocalExtent returns the memory [low, high) of the local variable around addr, and its name. It is not ok if addr is
// in no frame of the program, or if debug information does not describe it.
func (d *Data) LocalExtent(addr uint64) (name string, low, high uint64, ok bool) {
	at, st, i, ok := d.frameAround(addr)
	if !ok {
		return "", 0, 0, false
	}
	if low, high, ok = d.code.Symbols.LocalExtent(at, addr); !ok {
		return "", 0, 0, false
	}
	name, function, ok := d.code.Symbols.LocalName(at, low)
	if n := strings.IndexAny(name, "[.(%"); n > 0 { // an element or a member
		name = name[:n]
	}
	return nameIn(name, function, d.constructCaller(st, i)), low, high, ok
}

// frameAround returns the frame of the program's code that contains addr, and its stack and index there.
func (d *Data) frameAround(addr uint64) (at symbolize.Activation, st *Stack, i int, ok bool) {
	for n := range d.threads {
		regs := n.Registers()
		if regs == nil {
			continue
		}
		st, low := n.Stack(), regs.SP()
		for i, f := range st.Frames {
			if addr < low || f.CFA <= low {
				break // frames are adjacent in memory
			}
			if low = f.CFA; addr >= low {
				continue
			}
			at = symbolize.Activation{PC: f.LookupPC(), CFA: f.CFA, Register: f.Registers.Get}
			return at, st, i, st.Kinds[i] == KindUser
		}
	}
	return symbolize.Activation{}, nil, 0, false
}

// MappingsOf lists a target's memory mappings; nil if they are unknown.
func MappingsOf(t callbacks.Target) []callbacks.Mapping {
	if lister, ok := t.(callbacks.MappingLister); ok {
		return lister.Mappings()
	}
	return nil
}

// modulesOf lists a target's modules; nil if they are unknown.
func modulesOf(t callbacks.Target) []*callbacks.Module {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		return nil
	}
	mods, _ := lister.Modules() // with an error, it lists the found ones
	return mods
}
