// Package symbolize maps the code addresses of a target to functions, files and lines, and its data
// addresses to symbols.
//
// It works on the modules of a target: their own symbol tables and DWARF, or those of separate
// debug files. It searches these by build ID and debug link, and on debuginfod servers if
// configured. It reads data at first use and caches it. It does not depend on OpenMP except for the
// names that compilers give to outlined functions (Construct).
package symbolize

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"sort"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Options sets where separate debug files are searched.
type Options struct {
	// DebugDirs are the directories with debug files by build ID and by path; empty means /usr/lib/debug.
	DebugDirs []string
	// Sysroot is the local directory of the target's file system; empty for "/".
	Sysroot string
	// Debuginfod configures the servers for files that are not on this machine.
	Debuginfod Debuginfod
	// Open opens debug files on this machine; nil opens every file that this process may read.
	Open func(name string) (*os.File, error)
	// Memory limits and counts the memory made from the modules' files; nil does not limit it.
	Memory callbacks.Ledger
	// NoDebug names code only by the symbols of the modules' own files: debug information is not
	// read, and separate files are not searched.
	NoDebug bool
}

// ServerTimeout is the Timeout for targets that a user opens.
const ServerTimeout = 10 * time.Second

// Debuginfod configures servers that have debug files by build ID. Without URLs no server is used.
type Debuginfod struct {
	// URLs are the servers, in order, as in DEBUGINFOD_URLS.
	URLs []string
	// Timeout is the longest silence of a server; 0 means 5 seconds.
	Timeout time.Duration
	// Total is the time limit of all downloads of a Symbolizer together; 0 means 2 minutes.
	Total time.Duration
	// CacheDir stores downloads, in the layout of elfutils' debuginfod client; if it is empty they are not
	// stored.
	CacheDir string
}

// Source is the origin of a function's name.
type Source uint8

// Origins of names.
const (
	SourceNone      Source = iota // the name is unknown
	SourceDWARF                   // debug information
	SourceSymtab                  // .symtab of the module or its debug file
	SourceDynsym                  // .dynsym: exported functions only
	SourceMiniDebug               // .gnu_debugdata
	SourceCode                    // recognized code (Symbolizer.Learn)
)

// String returns "dwarf", "symtab", "dynsym", "minidebug", "code" or "none".
func (s Source) String() string {
	names := [...]string{"none", "dwarf", "symtab", "dynsym", "minidebug", "code"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// Frame is one function at a code address: the real one, or a call that was inlined.
type Frame struct {
	// Function is the display name, demangled; empty if unknown.
	Function string
	// Linkage is the raw symbol; empty if unknown.
	Linkage string
	// Around is the display name of the program's function with the construct that a compiler outlined into this
	// function; empty for other functions and if unknown.
	Around string
	// File, Line and Column are the place in the source; empty and 0 if unknown. Line 0 with a File
	// means that the code belongs to no line.
	File         string
	Line, Column int
	// Near means that the compiler gave the code no line: Line is that of the preceding code.
	Near bool
	// Inlined means that the function was inlined into the next frame.
	Inlined bool
	// Offset is the distance of the address from Low; 0 for inlined frames.
	Offset uint64
	// Low is the target address of the function's entry; 0 for inlined frames and if unknown. Code
	// that the compiler moved away (.cold) starts at its own Low.
	Low uint64
	// Source is the origin of Linkage.
	Source Source
	// Artificial means that the compiler made the function, for example by outlining a parallel
	// region.
	Artificial bool
}

// Symbol is a named place in the target and a distance from it in bytes.
type Symbol struct {
	Name   string
	Module *callbacks.Module
	Offset uint64
}

// Symbolizer names addresses of one target. It is safe for concurrent use.
type Symbolizer struct {
	modules []*module // in link order
	byLow   []*module
	finder  *finder
	inTypes typePointers
}

// ErrNoModule means that no module of the target contains the address.
var ErrNoModule = errors.New("address is in no module")

// New returns a symbolizer for the modules of a target, in link order. It opens no file yet. Their images must
// stay valid until Close.
func New(mods []*callbacks.Module, opts Options) *Symbolizer {
	s := &Symbolizer{finder: newFinder(opts)}
	for _, m := range mods {
		s.modules = append(s.modules, &module{mod: m, finder: s.finder})
	}
	s.byLow = append(s.byLow, s.modules...)
	sort.SliceStable(s.byLow, func(i, j int) bool { return s.byLow[i].mod.Low.Offset < s.byLow[j].mod.Low.Offset })
	return s
}

// Close releases the debug files that were opened. The symbolizer must not be used after it.
func (s *Symbolizer) Close() error {
	var errs []error
	for _, m := range s.modules {
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}

// Module returns the module that contains the address pc, or nil.
func (s *Symbolizer) Module(pc uint64) *callbacks.Module {
	if m := s.moduleAt(pc); m != nil {
		return m.mod
	}
	return nil
}

// moduleAt finds the module of an address. Modules may enclose one another (a library mapped in a
// hole of another): the one with the highest start wins.
func (s *Symbolizer) moduleAt(addr uint64) *module {
	i := sort.Search(len(s.byLow), func(i int) bool { return s.byLow[i].mod.Low.Offset > addr })
	for i--; i >= 0; i-- {
		if s.byLow[i].mod.Contains(callbacks.Addr(addr)) {
			return s.byLow[i]
		}
	}
	return nil
}

// withModule calls f with the module of an address, under the module's lock; f gets the address in the
// module's file.
func (s *Symbolizer) withModule(addr uint64, f func(m *module, addr uint64) error) error {
	m := s.moduleAt(addr)
	if m == nil {
		return fmt.Errorf("%w: %#x", ErrNoModule, addr)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := f(m, addr-m.mod.Bias); err != nil {
		return fmt.Errorf("%s: %w", path.Base(m.mod.Path), err)
	}
	return nil
}

// Code returns the functions at the code address pc: the innermost inlined call first, the real
// function last. For a return address, pass the address before it. If debug information is damaged,
// Code returns the known frames and an error; if it is missing, it adds a warning (Warnings).
func (s *Symbolizer) Code(pc uint64) (frames []Frame, err error) {
	err = s.withModule(pc, func(m *module, addr uint64) error {
		frames, err = m.framesAt(addr)
		return err
	})
	return frames, err
}

// Function returns only the real function at pc, without its file and line. It reads a symbol
// table, and debug information only if that has no name. An unknown function is an error.
func (s *Symbolizer) Function(pc uint64) (f Frame, err error) {
	err = s.withModule(pc, func(m *module, addr uint64) error {
		f, err = m.functionAt(addr)
		return err
	})
	return f, err
}

// Linkage returns the symbol of the function around pc, not demangled, and its entry; "" if
// unknown.
func (s *Symbolizer) Linkage(pc uint64) (name string, low uint64) {
	_ = s.withModule(pc, func(m *module, addr uint64) error {
		name, low = m.linkageAt(addr)
		return nil
	})
	return name, low
}

// Line returns the source line of pc; an unknown line is not an error.
func (s *Symbolizer) Line(pc uint64) (file string, line int, err error) {
	err = s.withModule(pc, func(m *module, addr uint64) error {
		p, err := m.lineAt(addr)
		file, line = p.File, p.Line
		return err
	})
	return file, line, err
}

// DeclLine returns the source position of the function with this entry. For a function that a
// compiler outlined from an OpenMP construct it is the line of the construct's directive. An
// unknown line is not an error.
func (s *Symbolizer) DeclLine(entry uint64) (file string, line int, err error) {
	err = s.withModule(entry, func(m *module, addr uint64) error {
		p, err := m.declLine(addr)
		file, line = p.File, p.Line
		return err
	})
	return file, line, err
}

// Data returns the data symbol that covers the address.
func (s *Symbolizer) Data(addr uint64) (sym Symbol, ok bool) {
	_ = s.withModule(addr, func(m *module, a uint64) error {
		sym, ok = m.dataSymbol(a)
		return nil
	})
	return sym, ok
}

// SectionAt returns the address in the target, and the size in bytes, of a section of the module that covers addr.
func (s *Symbolizer) SectionAt(addr uint64, name string) (low, size uint64, ok bool) {
	_ = s.withModule(addr, func(m *module, a uint64) error {
		f := m.ownFile()
		if f == nil {
			return nil
		}
		b, header, err := f.Section(name)
		low, size, ok = header.Addr+addr-a, uint64(len(b)), err == nil
		return err
	})
	return low, size, ok
}

// Lookup returns the address of the symbol name in the module with path or base name module. If module is empty,
// the first module in link order that exports it wins, then the first that has it: only exported symbols are
// bound by name, and a search for the others needs large tables. It searches separate debug files too, and uses
// servers only for a named module.
func (s *Symbolizer) Lookup(name, module string) (addr uint64, ok bool) {
	for _, exported := range []bool{true, false} {
		for _, m := range s.modules {
			if module == "" || module == m.mod.Path || module == path.Base(m.mod.Path) {
				if addr, ok = m.lookupSymbol(name, exported, module != ""); ok {
					return addr, true
				}
			}
		}
	}
	return 0, false
}

// LookupExported returns the address of a symbol that the module at a path exports.
func (s *Symbolizer) LookupExported(name, module string) (addr uint64, ok bool) {
	for _, m := range s.modules {
		if module == m.mod.Path {
			return m.lookupSymbol(name, true, false)
		}
	}
	return 0, false
}

// SlotSymbol returns the name of the symbol to which the dynamic linker binds the pointer at the
// target address slot (relocations JUMP_SLOT and GLOB_DAT).
func (s *Symbolizer) SlotSymbol(slot uint64) (name string, ok bool) {
	_ = s.withModule(slot, func(m *module, addr uint64) error {
		name, ok = m.slotSymbol(addr)
		return nil
	})
	return name, ok
}

// IsLinkedWith reports whether the module around pc is linked with a function of another one, by its
// relocations (JUMP_SLOT and GLOB_DAT). known is false for a module without such relocations, such
// as a static executable.
func (s *Symbolizer) IsLinkedWith(pc uint64, name string) (binds, known bool) {
	_ = s.withModule(pc, func(m *module, addr uint64) error {
		m.slotSymbol(addr)
		known = len(m.slots) > 0
		for _, n := range m.slots {
			binds = binds || n == name
		}
		return nil
	})
	return binds, known
}

// LinkedNames returns the functions and variables of other modules with which the module around pc is linked, by
// its relocations (JUMP_SLOT and GLOB_DAT), in no order. The list is empty for a module without such
// relocations, such as a static executable.
func (s *Symbolizer) LinkedNames(pc uint64) (names []string) {
	_ = s.withModule(pc, func(m *module, addr uint64) error {
		m.slotSymbol(addr)
		names = slices.Collect(maps.Values(m.slots))
		return nil
	})
	return names
}

// Exported returns the exported function that covers pc and its address in the target. If several
// names have one address, it returns the usual one: without leading underscores, short.
func (s *Symbolizer) Exported(pc uint64) (name string, low uint64, ok bool) {
	_ = s.withModule(pc, func(m *module, addr uint64) error {
		if f, found := m.exportedAt(addr); found {
			name, low, ok = f.name, f.low+m.mod.Bias, true
		}
		return nil
	})
	return name, low, ok
}
