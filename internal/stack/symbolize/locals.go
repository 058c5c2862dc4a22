package symbolize

import (
	"debug/dwarf"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// Activation is the state of a function's frame that the places of local variables depend on.
type Activation struct {
	// PC is an address in the function; for a frame that made a call, an address within the call.
	PC uint64
	// CFA is the canonical address of the frame; 0 if unknown.
	CFA uint64
	// Register returns the value of a register, by DWARF number, in the frame.
	Register func(number int) (value uint64, ok bool)
	// Caller returns the caller's frame and the return address in it; it may be nil.
	Caller func() (caller Activation, back uint64, ok bool)
	// ThreadSymbol returns the address of a thread-local symbol of a module's file in the frame's thread; it may be
	// nil.
	ThreadSymbol func(name, file string) (addr uint64, ok bool)
}

// LocalName names the data at addr in the frame by a local variable of the function, or of a function inlined
// there: "lk", "locks(3)". function is the variable's function. ok is false without the debug information, or if
// there are several names.
func (s *Symbolizer) LocalName(f Activation, addr uint64) (name, function string, ok bool) {
	l := s.walkLocals(f, (*module).variables, func(l *locals) { l.addr, l.visit = addr, l.considerVariable })
	if l == nil || l.found != 1 {
		return "", "", false
	}
	return l.name, l.function, true
}

// LocalExtent finds the range [low, high) of the local variable around addr in the frame. The variable may
// belong to the function or to a function inlined there. ok is false without the debug information; if there are
// several variables, the range covers all.
func (s *Symbolizer) LocalExtent(f Activation, addr uint64) (low, high uint64, ok bool) {
	s.walkLocals(f, (*module).variableInfo, func(l *locals) {
		l.visit = func(e *dwarf.Entry, _ scope) {
			a, b, is := l.extentOf(e)
			if !is || addr < a || addr >= b {
				return
			}
			if !ok {
				low, high, ok = a, b, true
			}
			low, high = min(low, a), max(high, b)
		}
	})
	return low, high, ok
}

// walkLocals passes the variables of the functions of a frame to the visit that begin sets, using
// the debug information that of returns. It returns nil if that could not be read to the end.
func (s *Symbolizer) walkLocals(f Activation, of func(*module) *variables, begin func(*locals)) (walked *locals) {
	_ = s.withModule(f.PC, func(m *module, pc uint64) (err error) {
		defer elfx.Recover("variables", &err)
		vs := of(m)
		if vs.data == nil {
			return nil
		}
		l := &locals{vs: vs, bias: m.mod.Bias, frame: f, pc: pc, tls: m.storageOf(f)}
		r, err := l.entriesIn(m)
		if err != nil {
			return err
		}
		begin(l)
		l.walk(r, scope{})
		walked = l
		return nil
	})
	return walked
}

// entriesIn returns the entries of the function around pc, or of its whole unit, and sets the unit and its types.
func (l *locals) entriesIn(m *module) (r entries, err error) {
	if l.body = m.bodyAt(l.vs, l.pc); l.body != nil {
		l.unit, r = l.body.unit, &cursor{body: l.body}
	} else {
		all := l.vs.data.Reader()
		if l.unit, err = all.SeekPC(l.pc); err != nil {
			return nil, err
		}
		r = all
	}
	l.types = l.vs.typesIn(languageOf(l.unit))
	return r, nil
}

// locals searches for a local variable.
type locals struct {
	vs    *variables
	body  *body // of the function; nil to read the whole unit
	types types
	unit  *dwarf.Entry // the unit of the functions
	bias  uint64       // of the module's addresses to those in the file
	frame Activation
	pc    uint64 // in the file
	addr  uint64
	whole bool                           // visit all blocks of the function, not only those that contain pc
	visit func(e *dwarf.Entry, in scope) // called for each variable
	enter func(e *dwarf.Entry, in scope) // called for each function around pc, before its variables; may be nil
	// word reads memory that locations depend on; if it is nil, such variables are left out.
	word func(addr uint64) (uint64, bool)
	// read reads memory, entry returns the value that a register had when the function was called, and tls the address
	// of thread-local data at an offset in the module's block. The evaluation of values needs them; each may be nil.
	read  func(addr uint64, p []byte) error
	entry func(number int) (uint64, bool)
	tls   func(offset uint64) (uint64, bool)

	base           []byte // the function's frame base expression
	name, function string
	found          int // number of distinct variables
}

// scope is the function or block around entries.
type scope struct {
	code     bool         // it is a function, or in one
	active   bool         // pc is in its code
	function *dwarf.Entry // of the function, if it is active
	inlined  int          // depth of inlined functions
	depth    int
}

// entries iterates over the entries of debug information.
type entries interface {
	Next() (*dwarf.Entry, error)
	SkipChildren()
}

// walk reads the entries in a scope, and reports whether the function around pc was among them. A
// function may be inside another that is not active.
func (l *locals) walk(r entries, in scope) (done bool) {
	for {
		e, err := r.Next()
		if e == nil || err != nil {
			return true
		}
		inner := in
		inner.depth++
		switch e.Tag {
		case 0:
			return false
		case dwarf.TagSubprogram:
			l.enterFunction(e, &inner)
		case dwarf.TagInlinedSubroutine:
			if inner.active = l.visitsBlock(e, in); inner.active {
				inner.function = e
				inner.inlined++
				l.enterActive(e, inner)
			}
		case dwarf.TagLexDwarfBlock:
			inner.active = l.visitsBlock(e, in)
		case dwarf.TagModule, dwarf.TagNamespace, dwarf.TagCommonDwarfBlock:
		default:
			if in.active && (e.Tag == dwarf.TagVariable || e.Tag == dwarf.TagFormalParameter) {
				l.visit(e, in)
			}
			inner.depth = maxTypeDepth
		}
		switch {
		case !e.Children:
		case inner.depth >= maxTypeDepth || !inner.active && in.code && !l.mayHoldFunction(e):
			r.SkipChildren()
		case l.walk(r, inner), inner.active && e.Tag == dwarf.TagSubprogram:
			return true
		}
	}
}

// enterFunction makes the function e the scope of its entries.
func (l *locals) enterFunction(e *dwarf.Entry, at *scope) {
	at.code, at.active, at.function, at.inlined = true, l.covers(e), nil, 0
	if at.active {
		at.function = e
		l.base, _ = e.Val(dwarf.AttrFrameBase).([]byte)
		l.enterActive(e, *at)
	}
}

// enterActive calls enter.
func (l *locals) enterActive(e *dwarf.Entry, in scope) {
	if l.enter != nil {
		l.enter(e, in)
	}
}

// mayHoldFunction reports whether the function around pc may be in e, which is not active: GCC puts the entry of
// an outlined function in a block of its parent function, which has its code elsewhere.
func (l *locals) mayHoldFunction(e *dwarf.Entry) bool {
	return e.Tag == dwarf.TagSubprogram || l.whole && e.Tag == dwarf.TagLexDwarfBlock
}

// visitsBlock reports whether the variables in e, a block or an inlined function in a scope, are
// visited.
func (l *locals) visitsBlock(e *dwarf.Entry, in scope) bool {
	return l.whole && in.active || l.covers(e)
}

// covers reports whether pc is in the code of e.
func (l *locals) covers(e *dwarf.Entry) bool {
	if l.body != nil {
		return l.body.covers(l.vs.data, e, l.pc)
	}
	ranges, err := l.vs.data.Ranges(e)
	return err == nil && containsPC(ranges, l.pc)
}

// nameOf returns the display name of a function; for a function outlined from a construct, the
// function that contains the construct.
func (l *locals) nameOf(e *dwarf.Entry) string {
	name, known := l.vs.names[e.Offset]
	if known {
		return name
	}
	name = l.readNameOf(e)
	if len(l.vs.names) < maxKeptNames {
		if l.vs.names == nil {
			l.vs.names = map[dwarf.Offset]string{}
		}
		l.vs.names[e.Offset] = name
	}
	return name
}

// readNameOf is nameOf for a function whose name is not known yet.
func (l *locals) readNameOf(e *dwarf.Entry) string {
	name, _ := l.vs.nameAndType(e)
	for range maxTypeDepth {
		if linkage, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
			name = linkage
			break
		}
		off, ok := originOf(e)
		if !ok {
			break
		}
		if e, _ = l.types.readEntry(off); e == nil {
			break
		}
	}
	if kind, around := splitConstruct(name); kind != "" && around != "" {
		if name = around; around != fortranMain && l.types.lang.fortran && plainFortran(around) {
			return trimFortran(around)
		}
	}
	return Demangle(name)
}

// considerVariable accepts the variable e if it contains the address.
func (l *locals) considerVariable(e *dwarf.Entry, in scope) {
	at, isValue, ok := l.evaluate(l.vs.locationAt(e, l.unit, l.pc))
	if !ok || isValue || l.addr < at {
		return
	}
	name, typ := l.vs.nameAndType(e)
	size, ok := l.types.sizeInBytes(typ)
	if e, _, _ := l.types.resolvePlain(typ); !ok && e != nil && isDeclared(e) {
		size, ok = 1, true // only its start is known
	}
	if name == "" || typ == 0 || !ok || l.addr-at >= size {
		return
	}
	p, ok := l.types.partAt(typ, l.addr-at, 0)
	if !ok {
		return
	}
	if function := l.nameOf(in.function); l.found == 0 || l.name != name+p.path || l.function != function {
		l.found++
		l.name, l.function = name+p.path, function
	}
}

// extentOf returns the memory range of the variable e.
func (l *locals) extentOf(e *dwarf.Entry) (low, high uint64, ok bool) {
	at, isValue, ok := l.evaluate(l.vs.locationAt(e, l.unit, l.pc))
	if !ok || isValue {
		return 0, 0, false
	}
	var size uint64
	if l.body != nil {
		size = l.body.sizeOf(l, e)
	} else {
		size = l.sizeOf(e)
	}
	return at, at + size, size != 0
}

// sizeOf returns the size of the variable e; 0 if unknown.
func (l *locals) sizeOf(e *dwarf.Entry) uint64 {
	_, typ := l.vs.nameAndType(e)
	if size, ok := l.types.sizeInBytes(typ); ok && typ != 0 {
		return size
	}
	return 0
}

// frameBase returns the address to which the function's variables are relative.
func (l *locals) frameBase() (uint64, bool) {
	if len(l.base) == 1 && l.base[0] == opCallFrameCFA {
		return l.frame.CFA, l.frame.CFA != 0
	}
	if len(l.base) == 1 && l.base[0] >= opReg0 && l.base[0] < opReg0+registers {
		return l.frame.Register(int(l.base[0] - opReg0))
	}
	return 0, false
}

// Operations of location expressions of local variables, and the number of registers that have
// operations of their own.
const (
	opReg0, opBreg0 = 0x50, 0x70
	opFbreg         = 0x91
	opCallFrameCFA  = 0x9c
	registers       = 32
)
