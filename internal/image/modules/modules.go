// Package modules finds the executable and the libraries that are mapped in a target, their files, and symbols
// in them.
//
// It needs only the target's memory and the kernel's data for the program: the auxiliary vector and, if
// available, the list of mapped files. So it serves cores and living processes alike. It compares the build ID
// of every file with the target's memory.
package modules

import (
	"cmp"
	"debug/elf"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
)

// Errors that explain why a module has no file. Test with errors.Is.
var (
	// ErrNoFile means that no file was found for a module.
	ErrNoFile = errors.New("file not found")
	// ErrMismatch means that the file is not the one that the target mapped.
	ErrMismatch = errors.New("not the file that the program ran")
	// ErrUnproven means that a file was used although neither it nor the target's memory has a
	// build ID, and the kernel does not name the mapped file.
	ErrUnproven = errors.New("used without proof that it is the file that the program ran")
)

// vdsoPath is the path of the kernel's own module.
const vdsoPath = "[vdso]"

// vdsoName is the kernel module's name in the loader's list, on x86-64 and aarch64.
const vdsoName = "linux-vdso.so.1"

// Options sets where files are searched. The zero value uses the target's paths.
type Options struct {
	Exe       string   // the executable, wherever its path in the target was
	Sysroot   string   // directory that replaces "/" of the target
	DebugDirs []string // directories with .build-id/xx/… trees
	// Open opens the files; the zero value opens all. A file that it refuses counts as missing.
	Open elfx.OpenFile
	// Memory limits and counts the memory made from the modules' files; nil does not limit it.
	Memory *budget.Ledger
}

// Facts is a target's data about itself.
type Facts struct {
	Memory callbacks.Memory
	Arch   callbacks.Arch
	// Auxv is the auxiliary vector, by AT_ number.
	Auxv map[uint64]uint64
	// Files are the mappings of files, ascending; empty if unknown. Other mappings are ignored.
	Files []callbacks.Mapping
	// Mapped returns a path for the file of a mapping, usable even if the file has been deleted or replaced
	// since. Nil if that is impossible.
	Mapped func(callbacks.Mapping) string
	// IsMapped reports whether the file at a path is certainly the file of a mapping. Nil if that is unknown.
	IsMapped func(m callbacks.Mapping, path string) bool
	// Dir is the directory in which the program was started, for libraries that the loader
	// knows by relative names; empty if unknown.
	Dir string
	// Command is the command line, or its beginning; empty if unknown.
	Command string
	// VDSOEnd is the end of the mapping of the vdso, 0 if unknown.
	VDSOEnd uint64
}

// Numbers of the auxiliary vector.
const (
	atPHDR        = 3
	atENTRY       = 9
	atEXECFN      = 31
	atSYSINFOEHDR = 33
)

// Table is the list of modules of a stopped target. It is safe for concurrent use.
type Table struct {
	facts   Facts
	opts    Options
	entries []*entry // link order, executable first
	byLow   []*entry
	byName  func() map[string][]*entry // link order
	taken   *budget.Ledger
	vdso    uint64 // address of the kernel's module; 0 without one
	storage func() *libc.Storage

	mu      sync.Mutex
	closers []io.Closer
}

// entry is a module with additional facts.
type entry struct {
	mod     callbacks.Module
	names   []string   // its other paths in the target
	linkMap uint64     // address of its struct link_map; 0 without one
	dynamic uint64     // address of its dynamic section (l_ld), 0 if unknown
	memory  *elfx.File // its headers in the target's memory, or nil
	file    *elfx.File // nil if the file is missing
	debug   func() *elfx.File
}

// Find lists the modules of a target. It always succeeds: Module.Err explains a missing file, and
// Err joins all errors.
func Find(f Facts, o Options) *Table {
	t := &Table{facts: f, opts: o, taken: o.Memory.Part(), vdso: f.Auxv[atSYSINFOEHDR]}
	t.storage = sync.OnceValue(func() *libc.Storage { return libc.FindStorage(t) })
	t.byName = sync.OnceValue(t.indexNames)
	main := t.findMain()
	list := t.memory().linkMaps(main)
	if len(list) > 0 && main.isLoader() && list[0].dynamic != main.dynamic {
		main = t.linked(list[0], true) // run as "ld.so program"
	}
	t.entries = append(t.entries, main)
	for _, l := range list {
		t.addLinked(main, l)
	}
	t.addVDSO()
	t.addMapped()
	t.byLow = slices.Clone(t.entries)
	slices.SortFunc(t.byLow, func(a, b *entry) int { return cmp.Compare(a.mod.Low.Offset, b.mod.Low.Offset) })
	return t
}

// memory returns the target's memory.
func (t *Table) memory() targetMemory { return targetMemory{t.facts.Memory, t.taken} }

// Close unmaps all files. Images of the modules are not valid after it.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, c := range t.closers {
		errs = append(errs, c.Close())
	}
	t.closers = nil
	t.taken.Close()
	return errors.Join(errs...)
}

// Modules returns the loaded modules in link order, the executable first. The error joins those of
// the modules.
func (t *Table) Modules() ([]*callbacks.Module, error) {
	list := make([]*callbacks.Module, len(t.entries))
	var errs []error
	for i, e := range t.entries {
		list[i] = &e.mod
		errs = append(errs, e.mod.Err)
	}
	return list, errors.Join(errs...)
}

// Segments returns the mapped segments of all modules, ascending, for a target without a list of
// mappings. The part of a segment that the loader made read-only is a segment of its own.
func (t *Table) Segments() []callbacks.Mapping {
	var list []callbacks.Mapping
	for _, e := range t.byLow {
		list = append(list, e.segments()...)
	}
	return list
}

// segments returns the mapped segments of a module.
func (e *entry) segments() []callbacks.Mapping {
	var list []callbacks.Mapping
	relro := uint64(0) // end of the part that is read-only after relocation
	for _, p := range e.progs() {
		if p.Type == elf.PT_GNU_RELRO {
			relro = (p.Vaddr + p.Memsz) &^ (pageSize - 1)
		}
	}
	for _, p := range e.progs() {
		if p.Type != elf.PT_LOAD || p.Memsz == 0 {
			continue
		}
		low, high := p.Vaddr&^(pageSize-1), (p.Vaddr+p.Memsz+pageSize-1)&^(pageSize-1)
		m := callbacks.Mapping{Low: callbacks.Addr(low + e.mod.Bias), High: callbacks.Addr(high + e.mod.Bias),
			Perm: callbacks.Perm(p.Flags), File: e.mod.Path, FileOffset: p.Off &^ (pageSize - 1)}
		if m.Perm&callbacks.PermWrite != 0 && relro > low && relro < high {
			fixed := m
			fixed.High, fixed.Perm = callbacks.Addr(relro+e.mod.Bias), m.Perm&^callbacks.PermWrite
			list = append(list, fixed)
			m.Low, m.FileOffset = fixed.High, m.FileOffset+relro-low
		}
		list = append(list, m)
	}
	return list
}

// Main returns the executable.
func (t *Table) Main() *callbacks.Module { return &t.entries[0].mod }

// addLinked adds the module of a link map, unless it is known already.
func (t *Table) addLinked(main *entry, l linkMap) {
	if main.linkMap == 0 && (l.name == "" || l.dynamic != 0 && l.dynamic == main.dynamic) {
		main.linkMap = l.at
	}
	if t.vdso == 0 && l.name == vdsoName {
		t.vdso = l.addr
	}
	if main.linkMap != l.at && (t.vdso == 0 || l.dynamic-t.vdso >= maxVDSO) {
		t.entries = append(t.entries, t.linked(l, false))
	}
}

// linked returns the module of a link map.
func (t *Table) linked(l linkMap, main bool) *entry {
	e := &entry{linkMap: l.at, dynamic: l.dynamic}
	e.mod.Bias, e.mod.Path, e.mod.Main = l.addr, l.name, main
	if m := t.mappingAt(l.dynamic); m != nil {
		e.names = append(e.names, m.File)
		if !strings.HasPrefix(l.name, "/") {
			e.mod.Path = m.File
		}
		t.readHeaders(e, t.startOf(m))
	} else {
		if t.facts.Dir != "" && strings.Contains(l.name, "/") && !filepath.IsAbs(l.name) {
			e.names = append(e.names, filepath.Join(t.facts.Dir, l.name))
		}
		t.readHeaders(e, l.addr)
	}
	t.complete(e)
	return e
}

// addMapped adds the mapped executable files without a link map: all libraries if the loader's list is lost,
// otherwise those of other namespaces.
func (t *Table) addMapped() {
	for i := range t.facts.Files {
		m := &t.facts.Files[i]
		if m.FileOffset != 0 || t.isMapped(m.Low) {
			continue
		}
		e := &entry{names: []string{m.File}}
		e.mod.Path = m.File
		t.readHeaders(e, m.Low.Offset)
		if e.memory == nil || e.memory.Type() != elf.ET_DYN {
			continue
		}
		e.mod.Bias = m.Low.Offset - firstVaddr(e.memory)
		if d, ok := dynamicOf(e.memory); ok {
			e.dynamic = e.mod.Bias + d
		}
		t.complete(e)
		t.entries = append(t.entries, e)
	}
}

// isMapped reports whether a known module contains a.
func (t *Table) isMapped(a callbacks.Address) bool {
	return slices.ContainsFunc(t.entries, func(e *entry) bool { return e.mod.Contains(a) })
}

// complete opens the file of an entry with a known bias, and fills in the bounds and the build ID.
func (t *Table) complete(e *entry) {
	if e.memory != nil {
		e.mod.BuildID, _ = t.mappedBuildID(e)
	}
	t.search(e)
	if len(e.progs()) > 0 {
		e.setBounds()
	} else if m := t.mappingAt(e.dynamic); m != nil {
		e.mod.Low, e.mod.High = callbacks.Addr(t.startOf(m)), m.High
	}
	if e.mod.BuildID == nil && e.file != nil {
		e.mod.BuildID = e.file.BuildID()
	}
	e.debug = sync.OnceValue(func() *elfx.File { return t.debugFile(e) })
}

// progs returns the program headers: those in memory or, failing these, the file's.
func (e *entry) progs() []elf.ProgHeader {
	switch {
	case e.memory != nil:
		return e.memory.Progs()
	case e.file != nil:
		return e.file.Progs()
	}
	return nil
}

// setBounds takes the bounds of the mapped segments from the program headers.
func (e *entry) setBounds() {
	low, high := ^uint64(0), uint64(0)
	for _, p := range e.progs() {
		if p.Type == elf.PT_LOAD {
			low = min(low, (p.Vaddr+e.mod.Bias)&^(pageSize-1))
			high = max(high, p.Vaddr+p.Memsz+e.mod.Bias)
		}
	}
	if low < high {
		e.mod.Low, e.mod.High = callbacks.Addr(low), callbacks.Addr((high+pageSize-1)&^(pageSize-1))
	}
}

// mappingAt returns the mapping of a file that contains address a, or nil.
func (t *Table) mappingAt(a uint64) *callbacks.Mapping {
	i, found := slices.BinarySearchFunc(t.facts.Files, a, func(m callbacks.Mapping, a uint64) int {
		return cmp.Compare(m.Low.Offset, a)
	})
	if !found {
		i--
	}
	if i < 0 || a == 0 || a >= t.facts.Files[i].High.Offset {
		return nil
	}
	return &t.facts.Files[i]
}

// startOf returns the address of the first byte of m's file: the start of the nearest mapping of
// that file below m with offset 0.
func (t *Table) startOf(m *callbacks.Mapping) uint64 {
	for i := len(t.facts.Files) - 1; i >= 0; i-- {
		f := &t.facts.Files[i]
		if f.Low.Offset <= m.Low.Offset && f.File == m.File && f.FileOffset == 0 {
			return f.Low.Offset
		}
	}
	return 0
}

// entryAt returns the module that contains address a, or nil.
func (t *Table) entryAt(a callbacks.Address) *entry {
	i, found := slices.BinarySearchFunc(t.byLow, a.Offset, func(e *entry, a uint64) int {
		return cmp.Compare(e.mod.Low.Offset, a)
	})
	if !found {
		i--
	}
	if i < 0 || !t.byLow[i].mod.Contains(a) {
		return nil
	}
	return t.byLow[i]
}

// named returns the modules with a path, a base name or a name for the linker (soname), or all of them for "". A
// process may have hundreds of modules, and each of them is searched for several runtimes' symbols.
func (t *Table) named(file string) []*entry {
	if file == "" {
		return t.entries
	}
	return t.byName()[file]
}

// indexNames returns the modules by each of their names.
func (t *Table) indexNames() map[string][]*entry {
	index := map[string][]*entry{}
	for _, e := range t.entries {
		for _, name := range e.allNames() {
			if same := index[name]; len(same) == 0 || same[len(same)-1] != e {
				index[name] = append(same, e)
			}
		}
	}
	return index
}

// allNames returns the paths and names of a module. Some may be equal.
func (e *entry) allNames() []string {
	paths := slices.Concat([]string{e.mod.Path}, e.names)
	if e.mod.File != "" {
		paths = append(paths, e.mod.File)
	}
	names := paths
	for _, p := range paths {
		names = append(names, path.Base(p))
	}
	if e.file != nil {
		names = append(names, e.file.Soname())
	}
	return names
}

// LinkMapAddresses returns the addresses of the modules' struct link_map in the loader, in link order.
func (t *Table) LinkMapAddresses() []uint64 {
	var list []uint64
	for _, e := range t.entries {
		if e.linkMap != 0 {
			list = append(list, e.linkMap)
		}
	}
	return list
}
