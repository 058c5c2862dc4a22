package symbolize

import (
	"cmp"
	"slices"
	"strings"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/internal/image/dwarfx"
)

// framesAt returns the frames at a file address, see Symbolizer.Code.
func (m *module) framesAt(addr uint64) ([]Frame, error) {
	if f, ok := m.frames[addr]; ok {
		return slices.Clone(f), nil
	}
	m.wantLines = true
	var place dwarfx.Position
	var calls []dwarfx.Inline
	var fn *dwarfx.Func
	near := false
	u := m.unitAt(addr)
	if u != nil {
		place, _ = u.Line(addr)
		if f, ok := u.Func(addr); ok {
			fn = &f
			calls = f.Inlined(addr)
		}
		if place.Line == 0 && fn != nil {
			if p, ok := lineBefore(u, fn, addr, calls); ok {
				place, near = p, true
			}
		}
	}
	// The line table has the place of the innermost call; each call has its place in the next
	// frame.
	var frames []Frame
	for _, c := range slices.Backward(calls) {
		f := m.inlinedFrame(c, addr, fn)
		f.File, f.Line, f.Column = place.File, place.Line, place.Column
		frames = append(frames, f)
		place = dwarfx.Position{File: c.CallFile, Line: c.CallLine, Column: c.CallColumn}
	}
	f := m.newFrame(addr, fn)
	f.File, f.Line, f.Column = place.File, place.Line, place.Column
	frames = append(frames, f)
	frames[0].Near = near
	if err := m.frameError(f); err != nil {
		return frames, err // not cached: it is rare
	}
	if m.frames == nil || len(m.frames) >= maxFrames {
		m.frames = map[uint64][]Frame{}
	}
	if m.finder.memory.Take("names of functions", sizeOf(frames)) == nil {
		m.frames[addr] = slices.Clone(frames)
	}
	return frames, nil
}

// lineBefore returns the place of the nearest preceding code with a line in the same function,
// inlined or not: compilers leave the line of some instructions open.
func lineBefore(
	u *dwarfx.Unit, fn *dwarfx.Func, addr uint64, calls []dwarfx.Inline,
) (dwarfx.Position, bool) {
	same := func(a, b dwarfx.Inline) bool {
		return a.Linkage == b.Linkage && a.Name == b.Name && a.CallLine == b.CallLine && a.CallColumn == b.CallColumn
	}
	for range maxLineSteps {
		p, at, ok := u.LineBefore(fn.Low, addr)
		if !ok {
			break
		}
		if slices.EqualFunc(fn.Inlined(at), calls, same) {
			return p, true
		}
		if at == 0 {
			break
		}
		addr = at - 1
	}
	return dwarfx.Position{}, false
}

// sizeOf returns the memory of frames, in bytes, including copies of names.
func sizeOf(frames []Frame) uint64 {
	n := uint64(0)
	for i := range frames {
		f := &frames[i]
		n += uint64(unsafe.Sizeof(*f)) + uint64(len(f.Function)+len(f.Linkage)+len(f.File))
	}
	return n
}

// inlinedFrame returns the frame of a call that is inlined in fn, without its place.
func (m *module) inlinedFrame(c dwarfx.Inline, addr uint64, fn *dwarfx.Func) Frame {
	f := Frame{Linkage: c.Linkage, Inlined: true, Source: SourceDWARF, Artificial: c.Artificial}
	if f.Linkage == "" {
		f.Linkage = c.Name
	}
	f.Function, f.Around = Demangle(f.Linkage), m.functionAround(f.Linkage, addr, fn)
	if c.Name != "" && fn.Unit().IsFortran() && plainFortran(f.Linkage) {
		f.Function = c.Name
	}
	if f.Linkage == "" {
		f.Source = SourceNone
	}
	return f
}

// functionAt returns the real function at a file address, without its place.
func (m *module) functionAt(addr uint64) (Frame, error) {
	f := m.newFrame(addr, nil)
	return f, m.frameError(f)
}

// frameError returns the error that explains missing parts of a frame, if any.
func (m *module) frameError(f Frame) error {
	if f.Linkage == "" && m.fileErr != nil && m.debug == nil {
		return m.fileErr
	}
	if f.Line == 0 {
		return m.damageError()
	}
	return nil
}

// newFrame returns the real function at a file address. fn is that function in the debug information;
// nil if it was not looked up or is missing. The symbol table has priority, so that Function and
// Code agree.
func (m *module) newFrame(addr uint64, fn *dwarfx.Func) Frame {
	s, ok := m.codeSymbolAt(addr)
	if !ok {
		return m.dwarfFrame(addr, fn)
	}
	f := Frame{Linkage: s.name, Offset: addr - s.low, Source: s.source}
	f.Low = m.entryAddress(s, addr, fn)
	name, _ := PartName(s.name)
	if !s.asked { // demangling is slow
		s.asked = true
		s.shown = Demangle(name)
		if plainFortran(name) {
			s.shown = cmp.Or(m.fortranName(name, addr, fn), s.shown)
		}
		kind, _ := splitConstruct(name)
		if s.outlined = kind != ""; s.outlined {
			s.around = m.functionAround(name, addr, fn)
		}
	}
	f.Function, f.Around, f.Artificial = s.shown, s.around, s.outlined
	if fn != nil && fn.Names().Artificial {
		f.Artificial = true
	}
	return f
}

// entryAddress returns the target address of the entry of the function with symbol s.
func (m *module) entryAddress(s *symbol, addr uint64, fn *dwarfx.Func) uint64 {
	if name, part := PartName(s.name); part {
		return m.entryOfPart(name, s, addr, fn)
	}
	return s.low + m.mod.Bias
}

// linkageAt returns the symbol of the function around a file address, and the target address of its
// entry; "" if unknown.
func (m *module) linkageAt(addr uint64) (name string, low uint64) {
	if s, ok := m.codeSymbolAt(addr); ok {
		return s.name, m.entryAddress(s, addr, nil)
	}
	if f := m.dwarfFrame(addr, nil); m.frameError(f) == nil {
		return f.Linkage, f.Low
	}
	return "", 0
}

// dwarfFrame returns the frame of a function that is in no symbol table.
func (m *module) dwarfFrame(addr uint64, fn *dwarfx.Func) Frame {
	if fn == nil {
		fn = m.dwarfFunc(addr)
	}
	if fn == nil {
		return Frame{}
	}
	n := fn.Names()
	f := Frame{Linkage: n.Linkage, Low: fn.Low + m.mod.Bias, Offset: addr - fn.Low, Source: SourceDWARF,
		Artificial: n.Artificial}
	if f.Linkage == "" {
		f.Linkage = n.Name
	}
	f.Function, f.Around = Demangle(f.Linkage), m.functionAround(f.Linkage, addr, fn)
	if plainFortran(f.Linkage) {
		f.Function = cmp.Or(m.fortranName(f.Linkage, addr, fn), f.Function)
	}
	return f
}

// dwarfFunc returns the function at a file address from the debug information; it may return nil.
func (m *module) dwarfFunc(addr uint64) *dwarfx.Func {
	u := m.unitAt(addr)
	if u == nil {
		return nil
	}
	if f, ok := u.Func(addr); ok {
		return &f
	}
	return nil
}

// plainFortran reports whether a symbol may belong to a Fortran procedure with another name in the
// source: the main program, external procedures (solve_) and procedures inside another (solve.0).
// Only debug information distinguishes them.
func plainFortran(symbol string) bool {
	if symbol == fortranMain {
		return true
	}
	if strings.HasPrefix(symbol, "_") {
		return false
	}
	rest := strings.TrimRight(symbol, "0123456789")
	if rest != symbol && strings.HasSuffix(rest, ".") {
		kind, _ := Construct(symbol)
		return kind == ""
	}
	return strings.HasSuffix(symbol, "_")
}

// fortranName returns the source name of the function at a file address with a plainFortran symbol; "" if it is
// not Fortran.
func (m *module) fortranName(symbol string, addr uint64, fn *dwarfx.Func) string {
	if fn == nil {
		fn = m.dwarfFunc(addr)
	}
	if fn == nil || !fn.Unit().IsFortran() {
		return ""
	}
	if symbol == fortranMain { // also the symbol of a program named main in the source
		name, _ := fortranName(symbol)
		if in := fn.Names().Name; in != symbol {
			name = in
		}
		return name
	}
	return trimFortran(symbol)
}

// fortranMain is the symbol of gfortran's main program.
const fortranMain = "MAIN__"

// trimFortran returns the source name of an external or internal procedure of gfortran.
func trimFortran(symbol string) string {
	return strings.TrimRight(strings.TrimRight(symbol, "0123456789"), "._")
}

// lineAt returns the source position of a file address.
func (m *module) lineAt(addr uint64) (dwarfx.Position, error) {
	m.wantLines = true
	var p dwarfx.Position
	if u := m.unitAt(addr); u != nil {
		p, _ = u.Line(addr)
	}
	if p.Line == 0 {
		return p, m.damageError()
	}
	return p, nil
}
