package stacks

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
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
	modules    []*callbacks.Module
	pointers   []heapPointer     // nil before the first use
	localNames map[uint64]string // names of local variables, by address
}

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

// libraryMembers matches members of classes of GNU's C++ library: a program does not know these names.
var libraryMembers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\._M_\w+(\[\d+\])?)+`) })

// PlaceName names the data at addr: a variable, an element or a member, or an offset into a variable if
// debug information has no more. It leaves out members of the C++ library's classes.
func (d *Data) PlaceName(addr uint64) string {
	name := d.fullName(addr)
	if !strings.Contains(name, "._M_") {
		return name
	}
	return libraryMembers().ReplaceAllString(name, "")
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
		return cmp.Or(d.localName(addr), d.heapName(addr))
	case s.Offset == 0:
		return symbolize.Demangle(s.Name)
	}
	return symbolize.Demangle(s.Name) + "+" + picture.Hex(s.Offset).String()
}

// heapName names a lock on the heap by a variable of the program that points to its block. The variable's debug
// information must have a lock at that offset. The first such variable of the program counts.
func (d *Data) heapName(addr uint64) string {
	for _, p := range d.heapPointers() {
		if addr < p.to || addr >= p.end {
			continue
		}
		if name, ok := d.code.Symbols.PointeeName(p.variable, addr-p.to); ok {
			return name
		}
	}
	return d.arrayName(addr)
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

// heapPointer is a variable that points to the start of a heap block.
type heapPointer struct {
	variable uint64
	to, end  uint64 // the block
}

// heapPointers lists the program's variables that point to the start of a heap block. It searches once.
func (d *Data) heapPointers() []heapPointer {
	if d.pointers != nil {
		return d.pointers
	}
	d.pointers = []heapPointer{}
	for _, m := range d.programModules() {
		for _, v := range d.code.Symbols.Pointers(m) {
			to, err := layout.ReadUint(d.target, callbacks.Addr(v), 8)
			if err != nil || to == 0 || d.code.ModuleOf(to) != nil {
				continue
			}
			if b, err := d.Library().BlockAt(to); err == nil {
				d.pointers = append(d.pointers, heapPointer{v, b.Low, b.High})
			}
		}
	}
	return d.pointers
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
	if at, ok := d.frameAround(addr); ok {
		if name, function, ok := d.code.Symbols.LocalName(at, addr); ok {
			return name + " in " + function
		}
	}
	return ""
}

// LocalExtent returns the memory [low, high) of the local variable around addr, and its name. It is not ok if addr is
// in no frame of the program, or if debug information does not describe it.
func (d *Data) LocalExtent(addr uint64) (name string, low, high uint64, ok bool) {
	at, ok := d.frameAround(addr)
	if !ok {
		return "", 0, 0, false
	}
	if low, high, ok = d.code.Symbols.LocalExtent(at, addr); !ok {
		return "", 0, 0, false
	}
	name, function, ok := d.code.Symbols.LocalName(at, low)
	if i := strings.IndexAny(name, "[.(%"); i > 0 { // an element or a member
		name = name[:i]
	}
	return name + " in " + function, low, high, ok
}

// frameAround returns the frame of the program's code that contains addr.
func (d *Data) frameAround(addr uint64) (symbolize.Activation, bool) {
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
			at := symbolize.Activation{PC: f.LookupPC(), CFA: f.CFA, Register: f.Registers.Get}
			return at, st.Kinds[i] == KindUser
		}
	}
	return symbolize.Activation{}, false
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
