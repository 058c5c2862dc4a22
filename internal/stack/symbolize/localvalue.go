package symbolize

import (
	"debug/dwarf"

	"github.com/ompd-inspect/ompd-inspect/internal/image/binread"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// valued is where debug information says that a local variable is while a function is
// at one place.
type valued struct {
	loc, base []byte // expressions: of the variable, and of the frame that it may lie in
	size      int    // bytes of the value
	signed    bool
}

// valuedAt names a local variable and a place in a function.
type valuedAt struct {
	pc   uint64
	name string
}

// LocalValue is the value that an integer variable of the function of a frame, or of
// one that is inlined there, has now. read reads memory. It is not ok if debug
// information does not tell, or there are several of that name.
func (s *Symbolizer) LocalValue(f Activation, name string, read func(addr uint64, size int) (uint64, bool)) (v int64,
	ok bool) {
	_ = s.locked(f.PC, func(m *module, pc uint64) (err error) {
		defer elfx.Recover("variables", &err)
		at := valuedAt{pc, name}
		w, known := m.valued[at]
		if !known {
			if m.valued == nil {
				m.valued = map[valuedAt]*valued{}
			}
			m.valued[at] = nil // also if looking for it fails
			w = m.findValued(at)
			m.valued[at] = w
		}
		if w != nil {
			v, ok = w.now(f, read)
		}
		return nil
	})
	return v, ok
}

// findValued looks for a variable.
func (m *module) findValued(at valuedAt) *valued {
	vs := m.information()
	if vs.data == nil {
		return nil
	}
	r := vs.data.Reader()
	unit, err := r.SeekPC(at.pc)
	if err != nil {
		return nil
	}
	var out []valued
	l := locals{vs: vs, types: vs.types(languageOf(unit)), pc: at.pc}
	l.visit = func(e *dwarf.Entry, _ scope) {
		name, typ := vs.named(e)
		if name != at.name || typ == 0 {
			return
		}
		size, ok := l.types.size(typ)
		if !ok || size > 8 {
			return
		}
		if loc := vs.locationAt(e, unit, at.pc); loc != nil {
			out = append(out, valued{loc: loc, size: int(size), signed: l.types.signed(typ)})
		}
	}
	l.walk(r, scope{})
	if len(out) != 1 {
		return nil
	}
	out[0].base = l.base
	return &out[0]
}

// now is the value of the variable in a frame.
func (w *valued) now(f Activation, read func(addr uint64, size int) (uint64, bool)) (int64, bool) {
	l := locals{frame: f, base: w.base}
	v, isValue, ok := l.evaluate(w.loc)
	if ok && !isValue {
		v, ok = read(v, w.size)
	}
	if !ok {
		return 0, false
	}
	unused := 64 - 8*w.size
	if w.signed {
		return int64(v<<unused) >> unused, true
	}
	return int64(v << unused >> unused), true
}

// Operations of location expressions of values.
const (
	opDeref                   = 0x06
	opConstu, opConsts        = 0x10, 0x11
	opMinus, opMul, opPlus    = 0x1c, 0x1e, 0x22
	opShl, opLit0, opStackVal = 0x24, 0x30, 0x9f
)

// evaluate follows a location expression to the address of a variable, or to its
// value. Expressions with other operations than compilers use for counters are not
// ok.
func (l *locals) evaluate(loc []byte) (v uint64, isValue, ok bool) {
	if len(loc) == 1 && loc[0] >= opReg0 && loc[0] < opReg0+registers {
		v, ok = l.frame.Register(int(loc[0] - opReg0))
		return v, true, ok
	}
	var stack []uint64
	for len(loc) > 0 {
		op := loc[0]
		loc = loc[1:]
		switch {
		case op == opStackVal:
			isValue = true
		case op >= opLit0 && op < opReg0:
			stack = append(stack, uint64(op-opLit0))
		case op == opDeref && l.word != nil && len(stack) > 0:
			if stack[len(stack)-1], ok = l.word(stack[len(stack)-1]); !ok {
				return 0, false, false
			}
		case op == opMinus || op == opMul || op == opPlus || op == opShl:
			if len(stack) < 2 {
				return 0, false, false
			}
			n := len(stack) - 2
			stack[n] = combine(op, stack[n], stack[n+1])
			stack = stack[:n+1]
		default:
			v, n, ok := l.operand(op, loc, stack)
			if !ok {
				return 0, false, false
			}
			if op == opPlusConst {
				stack = stack[:len(stack)-1]
			}
			stack, loc = append(stack, v), loc[n:]
		}
	}
	if len(stack) != 1 {
		return 0, false, false
	}
	return stack[0], isValue, true
}

// operand is what an operation with an operand pushes; n is the operand's length.
func (l *locals) operand(op byte, loc []byte, stack []uint64) (v uint64, n int, ok bool) {
	c := binread.Cursor{Data: loc}
	var s uint64
	if op == opConstu || op == opPlusConst {
		s = c.Uleb()
	} else {
		s = uint64(c.Sleb())
	}
	if c.Bad {
		return 0, 0, false
	}
	base := uint64(0)
	switch {
	case op == opConstu || op == opConsts:
		ok = true
	case op == opPlusConst && len(stack) > 0:
		base, ok = stack[len(stack)-1], true
	case op == opFbreg:
		base, ok = l.frameBase()
	case op >= opBreg0 && op < opBreg0+registers:
		base, ok = l.frame.Register(int(op - opBreg0))
	}
	return base + s, c.Pos, ok
}

func combine(op byte, a, b uint64) uint64 {
	switch op {
	case opMinus:
		return a - b
	case opMul:
		return a * b
	case opShl:
		return a << b
	}
	return a + b
}
