package symbolize

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/dwarfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// maxFrames bounds the addresses with cached frames in a module; a target with a thousand threads of some ten
// frames has fewer distinct ones.
const maxFrames = 1 << 15

// maxLineSteps bounds the search for a line in preceding code, in steps; mostly the code right
// before has one.
const maxLineSteps = 64

// module caches the data of one module. mu guards all fields below it; methods expect it held
// unless their comment says otherwise.
type module struct {
	mod    *callbacks.Module
	finder *finder

	mu      sync.Mutex
	opened  bool
	file    *elfx.File // may be nil
	fileErr error

	searched searched
	debug    *debugFile // may be nil

	haveDWARF bool
	dwarf     *dwarfx.Data // may be nil
	dwarfFile *elfx.File   // the file of dwarf
	alt       *debugFile
	wantLines bool // source lines were requested

	tables
	answers
	notes []string // warnings
}

// tables are the indexes of a module's symbols, made at their first use.
type tables struct {
	near    sparseSymbols // functions of the module's file
	far     *symbols      // functions of its debug file
	data    sparseSymbols // variables
	exports sparseSymbols
	learned learnedFunctions
	vars    *variables
	slots   map[uint64]string
	parts   *parts                                   // nil before the first use
	isCode  func(*elfx.Symbol) (rank uint8, ok bool) // of the module's file; nil before the first use

	anchored bool // anchor was searched for
	anchor   *storageAnchor
}

// answers caches earlier results.
type answers struct {
	valued map[valueKey]*valueLocation // nil for unknown ones
	frames map[uint64][]Frame          // of code
	decls  map[uint64]dwarfx.Position
}

// searched is the extent of the search for a separate debug file so far.
type searched uint8

// Extents: no search, this machine, and servers too.
const (
	searchedNowhere searched = iota
	searchedHere
	searchedServers
)

// warn adds a warning about the module.
func (m *module) warn(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// ownFile returns the module's own file, or nil.
func (m *module) ownFile() *elfx.File {
	if !m.opened {
		m.opened = true
		m.openFile()
	}
	return m.file
}

// openFile opens the module's own file, or records the reason why it cannot.
func (m *module) openFile() {
	if m.mod.Image == nil {
		m.fileErr = m.mod.Err
		if m.fileErr == nil {
			m.fileErr = errors.New("the file is not at hand")
		}
		return
	}
	m.file, m.fileErr = elfx.OpenWithMemory(m.finder.memory, m.mod.Image)
}

// buildID returns the build ID of the module, or nil.
func (m *module) buildID() []byte {
	if len(m.mod.BuildID) > 0 {
		return m.mod.BuildID
	}
	if f := m.ownFile(); f != nil {
		return f.BuildID()
	}
	return nil
}

// debugFile returns the module's separate debug file, or nil. It uses servers if network is set.
func (m *module) debugFile(network bool) *elfx.File {
	if m.finder.noDebug {
		return nil
	}
	if m.debug == nil && m.searched == searchedNowhere {
		m.searched = searchedHere
		m.debug = m.finder.findLocal(m)
	}
	if m.debug == nil && m.searched == searchedHere && network {
		m.searched = searchedServers
		m.debug = m.finder.findRemote(m)
	}
	if m.debug == nil {
		return nil
	}
	return m.debug.File
}

// dwarfData returns the debug information of the module, or nil.
func (m *module) dwarfData() *dwarfx.Data {
	if m.haveDWARF {
		return m.dwarf
	}
	m.haveDWARF = true
	if m.finder.noDebug {
		return nil
	}
	if f := m.ownFile(); f != nil {
		m.openDWARF(f, m.mod.File)
	}
	if m.dwarf != nil {
		return m.dwarf
	}
	if f := m.debugFile(true); f != nil {
		m.openDWARF(f, m.debug.path)
	}
	return m.dwarf
}

// openDWARF uses the debug information of f at path file, if it has any.
func (m *module) openDWARF(f *elfx.File, file string) {
	if !hasSection(f, ".debug_info") {
		return
	}
	var alt *dwarfx.Data
	if name, id, ok := altLink(f); ok {
		if m.alt = m.finder.findSupplementary(m, file, name, id); m.alt != nil {
			alt = dwarfx.New(sectionsOf(m.alt.File), nil, m.finder.memory)
		}
	}
	m.dwarf, m.dwarfFile = dwarfx.New(sectionsOf(f), alt, m.finder.memory), f
}

// dwarfOf returns the debug information of a file of the module.
func (m *module) dwarfOf(f *elfx.File) *dwarfx.Data {
	if m.dwarf != nil && m.dwarfFile == f {
		return m.dwarf
	}
	return dwarfx.New(sectionsOf(f), nil, m.finder.memory)
}

// sectionsOf loads the sections of a file for package dwarfx.
func sectionsOf(f *elfx.File) dwarfx.Sections {
	return func(name string) ([]byte, error) {
		b, _, err := f.Section(name)
		if errors.Is(err, elfx.ErrNoSection) {
			return nil, nil
		}
		return b, err
	}
}

// hasSection reports whether a file has a section with bytes, without reading it.
func hasSection(f *elfx.File, name string) bool {
	old := ".z" + name[1:]
	for _, s := range f.Sections() {
		if (s.Name == name || s.Name == old) && hasBytes(s) {
			return true
		}
	}
	return false
}

// unitAt returns the compilation unit of an address, or nil.
func (m *module) unitAt(addr uint64) *dwarfx.Unit {
	d := m.dwarfData()
	if d == nil {
		return nil
	}
	return d.Unit(addr)
}

// damageError returns the error of damaged debug information.
func (m *module) damageError() error {
	if m.dwarf != nil {
		if err := m.dwarf.Err(); err != nil {
			return fmt.Errorf("debug information: %w", err)
		}
	}
	return nil
}

// close releases the debug files; it takes the lock.
func (m *module) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, f := range []*debugFile{m.debug, m.alt} {
		if f != nil {
			errs = append(errs, f.closer.Close())
		}
	}
	m.debug, m.alt, m.dwarf = nil, nil, nil
	m.searched, m.haveDWARF = searchedServers, true
	return errors.Join(errs...)
}
