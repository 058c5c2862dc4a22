package symbolize

import (
	"debug/dwarf"

	"github.com/ompd-inspect/ompd-inspect/internal/image/binread"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// valueLocation is the location of a local variable at one address of a function, from debug information.
type valueLocation struct {
	loc, base []byte // expressions of the variable, and of its frame base
	size      int    // bytes of the value
	signed    bool
}

// valueKey identifies a local variable and an address in a function.
type valueKey struct {
	pc   uint64
	name string
}

// LocalValue returns the current value of an integer variable of the function of a frame, or of a function
// inlined there. read reads memory. ok is false without the debug information, or if there are several variables
// of that name.
func (s *Symbolizer) LocalValue(f Activation, name string, read func(addr uint64, size int) (uint64, bool)) (v int64,
	ok bool) {
	_ = s.withModule(f.PC, func(m *module, pc uint64) (err error) {
		defer elfx.Recover("variables", &err)
		at := valueKey{pc, name}
		w, known := m.valued[at]
		if !known {
			if m.valued == nil {
				m.valued = map[valueKey]*valueLocation{}
			}
			m.valued[at] = nil // also caches a failed search
			w = m.findValued(at)
			m.valued[at] = w
		}
		if w != nil {
			v, ok = w.evaluateIn(f, read)
		}
		return nil
	})
	return v, ok
}

// findValued finds the location of a variable.
func (m *module) findValued(at valueKey) *valueLocation {
	vs := m.variableInfo()
	if vs.data == nil {
		return nil
	}
	var out []valueLocation
	l := locals{vs: vs, pc: at.pc}
	r, err := l.entriesIn(m)
	if err != nil {
		return nil
	}
	l.visit = func(e *dwarf.Entry, _ scope) {
		name, typ := vs.nameAndType(e)
		if name != at.name || typ == 0 {
			return
		}
		size, ok := l.types.sizeInBytes(typ)
		if !ok || size > 8 {
			return
		}
		if loc := vs.locationAt(e, l.unit, at.pc); loc != nil {
			out = append(out, valueLocation{loc: loc, size: int(size), signed: l.types.isSigned(typ)})
		}
	}
	l.walk(r, scope{})
	if len(out) != 1 {
		return nil
	}
	out[0].base = l.base
	return &out[0]
}

// evaluateIn returns the value of the variable in a frame.
func (w *valueLocation) evaluateIn(f Activation, read func(addr uint64, size int) (uint64, bool)) (int64, bool) {
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

// evaluate evaluates a location expression to the address of a variable, or to its value. It
// supports only operations that compilers use for counters.
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
			stack[n] = applyBinary(op, stack[n], stack[n+1])
			stack = stack[:n+1]
		default:
			v, n, ok := l.readOperand(op, loc, stack)
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

// readOperand returns the value that an operation with an operand pushes; n is the operand's length.
func (l *locals) readOperand(op byte, loc []byte, stack []uint64) (v uint64, n int, ok bool) {
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

func applyBinary(op byte, a, b uint64) uint64 {
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
