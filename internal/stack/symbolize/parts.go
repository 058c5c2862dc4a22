package symbolize

import (
	"bytes"
	"debug/elf"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/image/dwarfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// partMarks follow the name of a function in the symbols of its parts in other places: of code that is executed rarely
// (GCC, LLVM, and LLVM's BOLT), of basic blocks and of exception handlers (LLVM's -fbasic-block-sections). A number may
// follow.
var partMarks = []string{".cold", ".__part", ".eh"}

// PartName returns the function of a symbol that names a part of it in a place of its own: "f.cold" and "f.__part.1"
// are parts of f. For other symbols, it returns the symbol.
func PartName(symbol string) (function string, part bool) {
	for _, mark := range partMarks {
		function, number, found := strings.Cut(symbol, mark)
		if !found || function == "" {
			continue
		}
		digits, dotted := strings.CutPrefix(number, ".")
		if number == "" || dotted && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return function, true
		}
	}
	return symbol, false
}

// mayNamePart is a fast check before PartName.
func mayNamePart(name []byte) bool {
	return slices.ContainsFunc(partMarks, func(mark string) bool { return bytes.Contains(name, []byte(mark)) })
}

// parts are the parts of a module's functions that are in places of their own, by file addresses.
type parts struct {
	entries map[uint64]uint64   // entry of the function of each part that the symbol table shows
	of      map[uint64][]uint64 // the same parts, by entry
	unclear map[string][]uint64 // other parts, by the name of the function: it has several functions of that name
}

// functionParts returns the parts of the module's functions.
func (m *module) functionParts() *parts {
	if m.parts == nil {
		m.parts = &parts{entries: map[uint64]uint64{}, of: map[uint64][]uint64{}, unclear: map[string][]uint64{}}
		if f := m.ownFile(); f != nil {
			m.parts.addFrom(f)
			if m.isStripped() {
				inner, _ := miniDebug(m.finder.memory, f)
				m.parts.addFrom(inner)
				m.parts.addFrom(m.debugFile(true))
			}
		}
	}
	return m.parts
}

// addFrom adds the parts that the symbol table of a file names; the file may be nil.
func (p *parts) addFrom(f *elfx.File) {
	if f == nil {
		return
	}
	isFunction := func(s elfx.FileSymbol) bool { return s.Type == elf.STT_FUNC }
	named := map[string][]elfx.FileSymbol{} // functions with parts, by name
	var list []elfx.FileSymbol
	for _, s := range f.StaticNamed(mayNamePart) {
		if name, part := PartName(s.Name); part && (isFunction(s) || s.Type == elf.STT_NOTYPE) {
			list, named[name] = append(list, s), nil
		}
	}
	if len(list) == 0 {
		return
	}
	for _, s := range f.StaticNamed(func(name []byte) bool { _, ok := named[string(name)]; return ok }) {
		if isFunction(s) {
			named[s.Name] = append(named[s.Name], s)
		}
	}
	for _, s := range list {
		name, _ := PartName(s.Name)
		entry, ok := onlyEntry(named[name], s.File)
		switch _, known := p.entries[s.Value]; {
		case known:
		case ok:
			p.entries[s.Value] = entry
			p.of[entry] = append(p.of[entry], s.Value)
		case len(named[name]) > 0:
			p.unclear[name] = append(p.unclear[name], s.Value)
		}
	}
}

// onlyEntry returns the start of the function, among those of one name, that a source file with a number refers to: its
// own one, or the only one of all files.
func onlyEntry(functions []elfx.FileSymbol, file int) (entry uint64, ok bool) {
	var own, global []elfx.FileSymbol
	for _, s := range functions {
		switch {
		case s.Bind != elf.STB_LOCAL:
			global = append(global, s)
		case s.File == file:
			own = append(own, s)
		}
	}
	for _, list := range [][]elfx.FileSymbol{own, global, functions} {
		if len(list) > 0 {
			other := func(s elfx.FileSymbol) bool { return s.Value != list[0].Value }
			return list[0].Value, !slices.ContainsFunc(list, other)
		}
	}
	return 0, false
}

// entryOfPart returns the target address of the entry of the function whose part has symbol s. addr is an address in
// the part; fn is its function in the debug information, nil if it was not looked up.
func (m *module) entryOfPart(name string, s *symbol, addr uint64, fn *dwarfx.Func) uint64 {
	all := m.functionParts()
	if entry, ok := all.entries[s.low]; ok {
		return entry + m.mod.Bias
	}
	if fn == nil && (m.dwarf != nil || slices.Contains(all.unclear[name], s.low)) {
		fn = m.dwarfFunc(addr)
	}
	if fn != nil {
		return fn.Low + m.mod.Bias
	}
	if f := m.ownFile(); f != nil && len(all.unclear[name]) == 0 {
		if hot, ok := f.Lookup(name); ok {
			return hot.Value + m.mod.Bias
		}
	}
	return s.low + m.mod.Bias
}

// partsOf returns the starts of the parts of the function at a file address.
func (m *module) partsOf(entry uint64) []uint64 {
	all := m.functionParts()
	out := slices.Clone(all.of[entry])
	if len(all.unclear) == 0 {
		return out
	}
	if s, ok := m.codeSymbolAt(entry); ok && s.low == entry {
		for _, low := range all.unclear[s.name] {
			if fn := m.dwarfFunc(low); fn != nil && fn.Low == entry {
				out = append(out, low)
			}
		}
	}
	return out
}

// Parts returns the starts of the parts of the function at entry that are in places of their own.
func (s *Symbolizer) Parts(entry uint64) (lows []uint64) {
	_ = s.withModule(entry, func(m *module, addr uint64) error {
		for _, low := range m.partsOf(addr) {
			lows = append(lows, low+m.mod.Bias)
		}
		return nil
	})
	return lows
}
