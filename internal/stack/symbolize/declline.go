package symbolize

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/dwarfx"
)

// maxWrapper bounds the code of a function that only passes its arguments to a debug twin, in
// bytes; without optimization such functions have under 300 bytes.
const maxWrapper = 1 << 12

// declLine returns the source position of the function with its entry at a file address, see
// Symbolizer.DeclLine.
func (m *module) declLine(addr uint64) (dwarfx.Position, error) {
	m.wantLines = true
	if p, ok := m.decls[addr]; ok {
		return p, nil
	}
	p := m.findDecl(addr)
	if p.Line == 0 {
		return p, m.damageError()
	}
	if m.decls == nil {
		m.decls = map[uint64]dwarfx.Position{}
	}
	m.decls[addr] = p
	return p, nil
}

// findDecl finds the line of a function's declaration.
//
// clang declares outlined functions (.omp_outlined., .omp_task_entry.) at the line of the
// directive, but the debug twin of a parallel region at its block; the function that calls the twin
// has the line of the directive. gcc does not declare outlined functions (_omp_fn), but its first
// instruction has the line of the directive. flang does neither; the first line of the code is
// used.
func (m *module) findDecl(addr uint64) dwarfx.Position {
	u := m.unitAt(addr)
	if u == nil {
		return dwarfx.Position{}
	}
	high := addr + 1
	if f, ok := u.Func(addr); ok && f.Low == addr {
		high = f.High
		if IsDebugTwin(f.Names().Name) {
			if w, ok := m.callerOfTwin(u, addr); ok {
				f = w
			}
		}
		if file, line := f.Decl(); line != 0 {
			return dwarfx.Position{File: file, Line: line}
		}
	}
	p, _ := u.FirstLine(addr, high)
	return p
}

// fileArch returns the instruction set of the module's file.
func (m *module) fileArch() callbacks.Arch {
	if f := m.ownFile(); f != nil {
		return f.Arch()
	}
	return callbacks.ArchUnknown
}

// readCode returns the code of a small function from the module's file; nil if the file is missing.
func (m *module) readCode(low, high uint64) []byte {
	f := m.ownFile()
	if f == nil || high <= low || high-low > maxWrapper {
		return nil
	}
	b, err := f.DataAt(low, int(high-low))
	if err != nil {
		return nil
	}
	return b
}

// callerOfTwin returns the outlined function of a unit that calls or jumps to the debug twin at
// addr.
func (m *module) callerOfTwin(u *dwarfx.Unit, addr uint64) (dwarfx.Func, bool) {
	for f := range u.Funcs {
		code := m.readCode(f.Low, f.High)
		if code == nil || f.Low == addr || !arch.HasCallTo(m.fileArch(), code, f.Low, addr) {
			continue
		}
		name := f.Names().Name
		if kind, _ := Construct(name); kind != "" && !IsDebugTwin(name) {
			return f, true
		}
	}
	return dwarfx.Func{}, false
}
