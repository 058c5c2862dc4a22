package symbolize

import (
	"debug/dwarf"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/image/binread"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// Tags and attributes of call sites, of DWARF 5 and of GNU's extension before it.
const (
	tagCallSite, tagGNUCallSite                   = 0x48, 0x4109
	tagCallSiteParameter, tagGNUCallSiteParameter = 0x49, 0x410a
	attrCallReturnPC, attrCallValue               = 0x7d, 0x7e
	attrCallOrigin, attrGNUCallSiteValue          = 0x7f, 0x2111
	attrCallTarget, attrGNUCallSiteTarget         = 0x83, 0x2113
)

// maxCallSites bounds the entries of a function that are searched for a call site.
const maxCallSites = 1 << 16

// callee identifies the function that was called.
type callee struct {
	mod  *module
	addr uint64         // of its first instruction
	offs []dwarf.Offset // its entry, and those that it completes
	name string         // its linkage name, else its name
}

// calleeAt identifies the function around pc.
func (s *Symbolizer) calleeAt(pc uint64) (c callee, ok bool) {
	_ = s.withModule(pc, func(m *module, pc uint64) (err error) {
		defer elfx.Recover("call sites", &err)
		vs := m.variableInfo()
		if vs.data == nil {
			return nil
		}
		if b := m.bodyAt(vs, pc); b != nil {
			low, _ := b.list[0].Val(dwarf.AttrLowpc).(uint64)
			c.mod, c.addr = m, low+m.mod.Bias
			c.offs, c.name = chainOf(vs.typesIn(language{}), b.list[0])
			ok = c.name != ""
		}
		return nil
	})
	return c, ok
}

// chainOf returns the offsets of an entry of a function and of those that it completes, and its linkage name.
func chainOf(ts types, e *dwarf.Entry) (offs []dwarf.Offset, name string) {
	for range maxTypeDepth {
		offs = append(offs, e.Offset)
		if s, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
			name = s
		} else if s, ok := e.Val(dwarf.AttrName).(string); ok && name == "" {
			name = s
		}
		off, ok := originOf(e)
		if !ok {
			break
		}
		if e, _ = ts.readEntry(off); e == nil {
			break
		}
	}
	return offs, name
}

// entryValues returns the values of registers at the call of the function of a frame, by the debug information of the
// caller. It returns nil if that has no call of this function, as after a tail call.
func (s *Symbolizer) entryValues(f Activation, read func(addr uint64, p []byte) error, depth int) map[int]uint64 {
	if f.Caller == nil || depth > maxEntryDepth {
		return nil
	}
	c, ok := s.calleeAt(f.PC)
	if !ok {
		return nil
	}
	caller, back, ok := f.Caller()
	if !ok {
		return nil
	}
	out, nested := s.parametersOf(caller, back, c, nil, read)
	if nested {
		out, _ = s.parametersOf(caller, back, c, s.entryValues(caller, read, depth+1), read)
	}
	return out
}

// entryOf returns a function that returns the value that a register had when the function of a frame was called.
func (s *Symbolizer) entryOf(f Activation, read func(addr uint64, p []byte) error) func(int) (uint64, bool) {
	entry := s.entryValues(f, read, 0)
	return func(n int) (v uint64, ok bool) {
		v, ok = entry[n]
		return v, ok
	}
}

// maxEntryDepth bounds the callers whose debug information one value needs: an argument that is passed on.
const maxEntryDepth = 8

// parametersOf returns the parameters of the call of a function, by register. entry has the values of registers at the
// call of the caller itself; nested reports that one of them was missing.
func (s *Symbolizer) parametersOf(caller Activation, back uint64, c callee, entry map[int]uint64,
	read func(addr uint64, p []byte) error) (out map[int]uint64, nested bool) {
	_ = s.withModule(caller.PC, func(m *module, pc uint64) (err error) {
		defer elfx.Recover("call sites", &err)
		vs := m.variableInfo()
		if vs.data == nil {
			return nil
		}
		b := m.bodyAt(vs, pc)
		if b == nil {
			return nil
		}
		l := &locals{vs: vs, bias: m.mod.Bias, frame: caller, pc: pc, read: read, unit: b.unit, body: b,
			types: vs.typesIn(languageOf(b.unit))}
		l.base, _ = b.list[0].Val(dwarf.AttrFrameBase).([]byte)
		l.entry = func(n int) (v uint64, ok bool) {
			v, ok = entry[n]
			nested = nested || !ok
			return v, ok
		}
		out = l.parametersAt(b.list[0].Offset, back-m.mod.Bias, c, m)
		return nil
	})
	return out, nested
}

// parametersAt returns the parameters of the call in a function that returns to a file address, by register.
func (l *locals) parametersAt(function dwarf.Offset, back uint64, c callee, m *module) map[int]uint64 {
	r := l.vs.data.Reader()
	r.Seek(function)
	depth, at := 0, -1 // the depth of the call site, if it was found
	var out map[int]uint64
	for range maxCallSites {
		e, err := r.Next()
		if err != nil || e == nil {
			return nil
		}
		if e.Tag == 0 {
			if depth--; depth == 0 || depth == at {
				return out
			}
			continue
		}
		switch e.Tag {
		case tagCallSite, tagGNUCallSite:
			to, ok := e.Val(attrCallReturnPC).(uint64)
			if !ok {
				to, ok = e.Val(dwarf.AttrLowpc).(uint64)
			}
			if ok && to == back {
				if !l.calls(e, c, m) || !e.Children {
					return nil
				}
				at, out = depth, map[int]uint64{}
			}
		case tagCallSiteParameter, tagGNUCallSiteParameter:
			if at >= 0 {
				l.addParameter(e, out)
			}
		}
		if e.Children {
			depth++
		} else if depth == 0 {
			return nil
		}
	}
	return nil
}

// calls reports whether a call site calls a function.
func (l *locals) calls(site *dwarf.Entry, c callee, m *module) bool {
	origin, ok := site.Val(dwarf.Attr(attrCallOrigin)).(dwarf.Offset)
	if !ok {
		if origin, ok = site.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); !ok {
			return l.callsThrough(site, c)
		}
	}
	e, _ := l.types.readEntry(origin)
	if e == nil {
		return false
	}
	offs, name := chainOf(l.types, e)
	if m == c.mod && slices.ContainsFunc(offs, func(o dwarf.Offset) bool { return slices.Contains(c.offs, o) }) {
		return true
	}
	external, _ := e.Val(dwarf.AttrExternal).(bool)
	return external && name == c.name
}

// callsThrough reports whether a call site calls a function through a pointer.
func (l *locals) callsThrough(site *dwarf.Entry, c callee) bool {
	expr, ok := site.Val(attrCallTarget).([]byte)
	if !ok {
		expr, _ = site.Val(attrGNUCallSiteTarget).([]byte)
	}
	m := machine{locals: l, c: binread.Cursor{Data: expr}}
	if len(expr) == 0 || !m.run() || len(m.pieces) > 0 || m.now.missing != "" {
		return false
	}
	to := m.now.value
	if m.now.kind == locatedData { // a register
		to = uint64(parseInteger(m.now.data, false))
	}
	return c.addr != 0 && to == c.addr
}

// addParameter adds the value of a parameter that is passed in a register.
func (l *locals) addParameter(e *dwarf.Entry, to map[int]uint64) {
	where, _ := e.Val(dwarf.AttrLocation).([]byte)
	expr, ok := e.Val(attrCallValue).([]byte)
	if !ok {
		expr, _ = e.Val(attrGNUCallSiteValue).([]byte)
	}
	if len(where) == 0 || len(expr) == 0 {
		return
	}
	n := int(where[0]) - opReg0
	if where[0] == opRegx {
		c := binread.Cursor{Data: where[1:]}
		n = int(c.Uleb() & maxRegister)
	} else if len(where) != 1 || n < 0 || n >= registers {
		return
	}
	m := machine{locals: l, c: binread.Cursor{Data: expr}}
	if m.run() && len(m.pieces) == 0 && m.now.missing == "" && m.now.kind != locatedData {
		to[n] = m.now.value
	}
}
