// Package symbolize turns the code addresses of a target into functions, files
// and lines, and its data addresses into symbols.
//
// It works on the modules of a target: their own symbol tables and DWARF, or
// those of separate debug files, which are looked for by build ID and debug
// link, and on debuginfod servers if there are any. Everything is read when it
// is first needed and kept. It knows nothing of OpenMP but the names that
// compilers give to outlined functions (Construct).
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

// Options say where separate debug files are.
type Options struct {
	// DebugDirs are the directories that hold debug files by build ID and by
	// path; none means /usr/lib/debug.
	DebugDirs []string
	// Sysroot is the directory under which the target's file system lies
	// here, empty for "/".
	Sysroot string
	// Debuginfod are the servers to ask for what is nowhere else.
	Debuginfod Debuginfod
	// Open opens the debug files that are looked for on this machine; nil opens all that
	// this process may read.
	Open func(name string) (*os.File, error)
	// Memory counts what is made of the modules' files, and bounds it; nil does not.
	Memory callbacks.Ledger
	// NoDebug names code by the symbols of the modules' own files only: debug information is
	// not read, and separate files are not looked for.
	NoDebug bool
}

// Debuginfod are servers that have debug files by build ID. Without URLs none
// is asked.
type Debuginfod struct {
	// URLs are the servers, in order, as in DEBUGINFOD_URLS.
	URLs []string
	// Timeout is how long a server may be silent; 0 means 5 seconds.
	Timeout time.Duration
	// Total is how long all downloads of a Symbolizer together may take; 0 means 2 minutes.
	Total time.Duration
	// CacheDir keeps what was downloaded, in the layout of elfutils'
	// debuginfod client; if it is empty nothing is kept.
	CacheDir string
	// Disabled says that no server is to be asked, whatever URLs says.
	Disabled bool
}

// Source tells where the name of a function comes from.
type Source uint8

// The sources of names.
const (
	SourceNone      Source = iota // the name is unknown
	SourceDWARF                   // debug information
	SourceSymtab                  // .symtab of the module or its debug file
	SourceDynsym                  // .dynsym: exported functions only
	SourceMiniDebug               // .gnu_debugdata
	SourceCode                    // what the code does (Symbolizer.Learn)
)

// String is "dwarf", "symtab", "dynsym", "minidebug", "code" or "none".
func (s Source) String() string {
	names := [...]string{"none", "dwarf", "symtab", "dynsym", "minidebug", "code"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// Frame is one function at a code address: the real one, or a call that was
// inlined.
type Frame struct {
	// Function is the name for people, demangled; empty if it is unknown.
	Function string
	// Linkage is the raw symbol; empty if it is unknown.
	Linkage string
	// File, Line and Column are the place in the source; 0 and empty if they
	// are unknown. Line 0 with a File says that the code belongs to no line.
	File         string
	Line, Column int
	// Near tells that the compiler gave the code no line: it is that of the code before it.
	Near bool
	// Inlined tells that the function was inlined into the next frame.
	Inlined bool
	// Offset is the distance of the address from Low; 0 for inlined frames.
	Offset uint64
	// Low is the address in the target where the function is entered; 0 for
	// inlined frames and if it is unknown. Code that the compiler moved away
	// (.cold) starts at its own Low.
	Low uint64
	// Source tells where Linkage comes from.
	Source Source
	// Artificial tells that the compiler made the function, say by outlining
	// a parallel region.
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
}

// ErrNoModule says that no module of the target has the address.
var ErrNoModule = errors.New("address is in no module")

// New returns a symbolizer for the modules of a target, in link order. It
// opens nothing yet. Their images must stay valid until Close.
func New(mods []*callbacks.Module, opts Options) *Symbolizer {
	s := &Symbolizer{finder: newFinder(opts)}
	for _, m := range mods {
		s.modules = append(s.modules, &module{mod: m, finder: s.finder})
	}
	s.byLow = append(s.byLow, s.modules...)
	sort.SliceStable(s.byLow, func(i, j int) bool { return s.byLow[i].mod.Low.Offset < s.byLow[j].mod.Low.Offset })
	return s
}

// Close releases the debug files that were opened. The symbolizer must not be
// used any more.
func (s *Symbolizer) Close() error {
	var errs []error
	for _, m := range s.modules {
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}

// Module returns the module that has the address pc, nil if there is none.
func (s *Symbolizer) Module(pc uint64) *callbacks.Module {
	if m := s.module(pc); m != nil {
		return m.mod
	}
	return nil
}

// module finds the module of an address. Modules may enclose one another (a
// library that is mapped in a hole of another): the one that starts last wins.
func (s *Symbolizer) module(addr uint64) *module {
	i := sort.Search(len(s.byLow), func(i int) bool { return s.byLow[i].mod.Low.Offset > addr })
	for i--; i >= 0; i-- {
		if s.byLow[i].mod.Contains(callbacks.At(addr)) {
			return s.byLow[i]
		}
	}
	return nil
}

// locked runs f on the module of an address, under the module's lock; f gets
// the address in the module's file.
func (s *Symbolizer) locked(addr uint64, f func(m *module, addr uint64) error) error {
	m := s.module(addr)
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

// Code returns what the code address pc belongs to: the innermost inlined call
// first, the real function last. To learn about a return address ask for the
// address before it. Known frames are returned beside an error, which says
// that debug information is damaged; that it is missing is no error but a
// warning (Warnings).
func (s *Symbolizer) Code(pc uint64) (frames []Frame, err error) {
	err = s.locked(pc, func(m *module, addr uint64) error {
		frames, err = m.code(addr)
		return err
	})
	return frames, err
}

// Function returns the real function at pc only, without its file and line. It
// reads a symbol table, and debug information only if that has no name. An
// unknown function is an error.
func (s *Symbolizer) Function(pc uint64) (f Frame, err error) {
	err = s.locked(pc, func(m *module, addr uint64) error {
		f, err = m.function(addr)
		return err
	})
	return f, err
}

// Linkage returns the symbol of the function around pc, not demangled, and where that is entered;
// "" if it is not known.
func (s *Symbolizer) Linkage(pc uint64) (name string, low uint64) {
	_ = s.locked(pc, func(m *module, addr uint64) error {
		name, low = m.linkage(addr)
		return nil
	})
	return name, low
}

// Line returns the source line of pc; that it is unknown is not an error.
func (s *Symbolizer) Line(pc uint64) (file string, line int, err error) {
	err = s.locked(pc, func(m *module, addr uint64) error {
		p, err := m.line(addr)
		file, line = p.File, p.Line
		return err
	})
	return file, line, err
}

// DeclLine returns where the function that is entered at entry stands in the
// source. For a function that a compiler outlined from an OpenMP construct that
// is the line of the construct's directive. That it is unknown is not an error.
func (s *Symbolizer) DeclLine(entry uint64) (file string, line int, err error) {
	err = s.locked(entry, func(m *module, addr uint64) error {
		p, err := m.declLine(addr)
		file, line = p.File, p.Line
		return err
	})
	return file, line, err
}

// Data returns the data symbol that covers the address.
func (s *Symbolizer) Data(addr uint64) (sym Symbol, ok bool) {
	_ = s.locked(addr, func(m *module, a uint64) error {
		sym, ok = m.dataSymbol(a)
		return nil
	})
	return sym, ok
}

// Lookup returns the address of the symbol name in the module whose path or
// base name is module. If module is empty, it is that of the first module in link
// order that exports it, or else of the first that has it: only what is exported is
// bound by name, and to look for the rest takes large tables. Separate debug files
// are searched too; servers are asked only about a module that is named.
func (s *Symbolizer) Lookup(name, module string) (addr uint64, ok bool) {
	for _, exported := range []bool{true, false} {
		for _, m := range s.modules {
			if module == "" || module == m.mod.Path || module == path.Base(m.mod.Path) {
				if addr, ok = m.lookup(name, exported, module != ""); ok {
					return addr, true
				}
			}
		}
	}
	return 0, false
}

// SlotSymbol returns the name of the symbol that the dynamic linker binds the
// pointer at the target address slot to (relocations JUMP_SLOT and GLOB_DAT).
func (s *Symbolizer) SlotSymbol(slot uint64) (name string, ok bool) {
	_ = s.locked(slot, func(m *module, addr uint64) error {
		name, ok = m.slotSymbol(addr)
		return nil
	})
	return name, ok
}

// Binds reports whether the module around pc is linked with a function of another one, by its
// relocations (JUMP_SLOT and GLOB_DAT). It is not known of a module that has none, as a static
// executable.
func (s *Symbolizer) Binds(pc uint64, name string) (binds, known bool) {
	_ = s.locked(pc, func(m *module, addr uint64) error {
		m.slotSymbol(addr)
		known = len(m.slots) > 0
		for _, n := range m.slots {
			binds = binds || n == name
		}
		return nil
	})
	return binds, known
}

// Bound lists the functions and variables of other modules that the one around pc is linked with, by its relocations
// (JUMP_SLOT and GLOB_DAT), in no order; none if that is not known, as of a static executable.
func (s *Symbolizer) Bound(pc uint64) (names []string) {
	_ = s.locked(pc, func(m *module, addr uint64) error {
		m.slotSymbol(addr)
		names = slices.Collect(maps.Values(m.slots))
		return nil
	})
	return names
}

// Exported returns the exported function that covers pc and its address in the
// target. Of several names at one address it is the one that people use:
// without leading underscores, short.
func (s *Symbolizer) Exported(pc uint64) (name string, low uint64, ok bool) {
	_ = s.locked(pc, func(m *module, addr uint64) error {
		if f, found := m.exported(addr); found {
			name, low, ok = f.name, f.low+m.mod.Bias, true
		}
		return nil
	})
	return name, low, ok
}
