package symbolize

import (
	"debug/dwarf"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// Activation is a function's frame on a stack, as far as the places of local
// variables depend on it.
type Activation struct {
	// PC is in the function, at the call for a frame that made one.
	PC uint64
	// CFA is the canonical address of the frame; 0 if it is not known.
	CFA uint64
	// Register is the value of a register, by DWARF number, in the frame.
	Register func(number int) (value uint64, ok bool)
}

// Local names the data at addr, which lies in the frame, by a local variable of the
// function, or of one that is inlined there: "lk", "locks(3)". function is the one
// that has it. It is not ok if debug information does not tell, or has several
// names.
func (s *Symbolizer) Local(f Activation, addr uint64) (name, function string, ok bool) {
	l := s.walkLocals(f, (*module).variables, func(l *locals) { l.addr, l.visit = addr, l.consider })
	if l == nil || l.found != 1 {
		return "", "", false
	}
	return l.name, l.function, true
}

// Extent finds the local variable around addr, which lies in the frame, as [low, high): of the function,
// or of one that is inlined there. It is not ok if debug information does not tell of one; of several
// it is all that they take.
func (s *Symbolizer) Extent(f Activation, addr uint64) (low, high uint64, ok bool) {
	s.walkLocals(f, (*module).information, func(l *locals) {
		l.visit = func(e *dwarf.Entry, _ scope) {
			a, b, is := l.extent(e)
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

// walkLocals shows the variables of the functions of a frame to the visit that begin sets, by
// that debug information of the module that of returns. It is nil if that could not be read
// to the end.
func (s *Symbolizer) walkLocals(f Activation, of func(*module) *variables, begin func(*locals)) (walked *locals) {
	_ = s.locked(f.PC, func(m *module, pc uint64) (err error) {
		defer elfx.Recover("variables", &err)
		vs := of(m)
		if vs.data == nil {
			return nil
		}
		l := &locals{vs: vs, bias: m.mod.Bias, frame: f, pc: pc}
		if l.unit, l.body = m.bodyAt(vs, pc); l.body != nil {
			l.types = vs.types(languageOf(l.unit))
			begin(l)
			l.walk(&cursor{body: l.body}, scope{})
			walked = l
			return nil
		}
		r := vs.data.Reader()
		if l.unit, err = r.SeekPC(pc); err != nil {
			return err
		}
		l.types = vs.types(languageOf(l.unit))
		begin(l)
		l.walk(r, scope{})
		walked = l
		return nil
	})
	return walked
}

// locals looks for a local variable.
type locals struct {
	vs    *variables
	body  *body // of the function; nil if the whole unit is read
	types types
	unit  *dwarf.Entry // that has the functions
	bias  uint64       // of the module's addresses to those in the file
	frame Activation
	pc    uint64 // in the file
	addr  uint64
	whole bool                           // all blocks of the function are asked for, and not only those that have pc
	visit func(e *dwarf.Entry, in scope) // a variable of a function, or of a block in it
	// word reads memory that locations depend on; nil leaves variables out that do.
	word func(addr uint64) (uint64, bool)

	base           []byte // where the function says that its frame begins
	name, function string
	found          int // different variables
}

// scope is the function or block around entries.
type scope struct {
	code     bool   // it is a function, or in one
	active   bool   // pc is in its code
	function string // its name, if it is active
	inlined  int    // how many functions are around it that are inlined into each other
	depth    int
}

// entries are the entries of debug information in their order.
type entries interface {
	Next() (*dwarf.Entry, error)
	SkipChildren()
}

// walk reads the entries in a scope, and reports whether the function around pc was
// among them. A function may lie in another that is not active.
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
			l.enter(e, &inner)
		case dwarf.TagInlinedSubroutine:
			if inner.active = l.inBlock(e, in); inner.active {
				inner.function = l.nameOf(e)
				inner.inlined++
			}
		case dwarf.TagLexDwarfBlock:
			inner.active = l.inBlock(e, in)
		case dwarf.TagModule, dwarf.TagNamespace:
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

// enter makes the function e the scope of what is in it.
func (l *locals) enter(e *dwarf.Entry, at *scope) {
	at.code, at.active, at.function, at.inlined = true, l.covers(e), "", 0
	if at.active {
		at.function = l.nameOf(e)
		l.base, _ = e.Val(dwarf.AttrFrameBase).([]byte)
	}
}

// mayHoldFunction reports whether the function around pc may be in e, which is not active: GCC has
// what it outlines in the block of the function that it is a part of, whose code is elsewhere.
func (l *locals) mayHoldFunction(e *dwarf.Entry) bool {
	return e.Tag == dwarf.TagSubprogram || l.whole && e.Tag == dwarf.TagLexDwarfBlock
}

// inBlock reports whether what is in e, a block or an inlined function in a scope, is asked for.
func (l *locals) inBlock(e *dwarf.Entry, in scope) bool { return l.whole && in.active || l.covers(e) }

// covers reports whether pc is in the code of e.
func (l *locals) covers(e *dwarf.Entry) bool {
	if l.body != nil {
		return l.body.covers(l.vs.data, e, l.pc)
	}
	ranges, err := l.vs.data.Ranges(e)
	return err == nil && contains(ranges, l.pc)
}

// nameOf is what people call a function; one that was outlined from a construct is
// the function that has the construct.
func (l *locals) nameOf(e *dwarf.Entry) string {
	name, _ := l.vs.named(e)
	for range maxTypeDepth {
		if linkage, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
			name = linkage
			break
		}
		off, ok := originOf(e)
		if !ok {
			break
		}
		if e, _ = l.types.entry(off); e == nil {
			break
		}
	}
	if kind, parent := Construct(name); kind != "" && parent != "" {
		return parent
	}
	return Demangle(name)
}

// consider takes the variable e if the address lies in it.
func (l *locals) consider(e *dwarf.Entry, in scope) {
	loc, _ := e.Val(dwarf.AttrLocation).([]byte)
	at, isValue, ok := l.evaluate(loc)
	if !ok || isValue || l.addr < at {
		return
	}
	name, typ := l.vs.named(e)
	size, ok := l.types.size(typ)
	if name == "" || typ == 0 || !ok || l.addr-at >= size {
		return
	}
	if p, ok := l.types.at(typ, l.addr-at, 0); ok &&
		(l.found == 0 || l.name != name+p.path || l.function != in.function) {
		l.found++
		l.name, l.function = name+p.path, in.function
	}
}

// extent is where the variable e lies in memory.
func (l *locals) extent(e *dwarf.Entry) (low, high uint64, ok bool) {
	loc, _ := e.Val(dwarf.AttrLocation).([]byte)
	at, isValue, ok := l.evaluate(loc)
	if !ok || isValue {
		return 0, 0, false
	}
	var size uint64
	if l.body != nil {
		size = l.body.size(l, e)
	} else {
		size = l.sizeOf(e)
	}
	return at, at + size, size != 0
}

// sizeOf is the size of the variable e; 0 if it is not known.
func (l *locals) sizeOf(e *dwarf.Entry) uint64 {
	_, typ := l.vs.named(e)
	if size, ok := l.types.size(typ); ok && typ != 0 {
		return size
	}
	return 0
}

// frameBase is what the function says that its variables are relative to.
func (l *locals) frameBase() (uint64, bool) {
	if len(l.base) == 1 && l.base[0] == opCallFrameCFA {
		return l.frame.CFA, l.frame.CFA != 0
	}
	if len(l.base) == 1 && l.base[0] >= opReg0 && l.base[0] < opReg0+registers {
		return l.frame.Register(int(l.base[0] - opReg0))
	}
	return 0, false
}

// Operations of location expressions of local variables, and the number of
// registers that operations are named for.
const (
	opReg0, opBreg0 = 0x50, 0x70
	opFbreg         = 0x91
	opCallFrameCFA  = 0x9c
	registers       = 32
)
