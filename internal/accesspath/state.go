package accesspath

import (
	"fmt"
	"slices"
)

// slot is a cell of the stack, at a distance from the stack pointer at entry.
type slot struct {
	off   uint64
	size  uint8
	saved bool // pushed: restored by the code itself, never given away
	value *Expr
}

// flagState is what the flags tell.
type flagState struct {
	kind flagKind
	size uint8
	a, b *Expr
}

// frame is a call that is being followed.
type frame struct {
	pc uint64 // where it returns to
	sp uint64 // the stack pointer at the callee's entry, relative to ours
}

// state is the machine at one point of one path.
type state struct {
	pc     uint64
	next   int              // index of the next micro-operation at pc
	regs   [registers]*Expr // nil for a value that is not followed and was not used yet
	flags  flagState
	stack  []slot
	frames []frame
	visits []visit
	path   Path
	live   *live // the thread to run on; nil to run on symbols
}

// visit counts how often a path went back to an address.
type visit struct {
	pc uint64
	n  int
}

// newState is the machine at entry.
func newState(c *convention, entry uint64) *state {
	return &state{pc: entry, regs: c.entry, frames: []frame{{}}}
}

// fork copies s. The parts that only grow are shared up to here.
func (s *state) fork() *state {
	t := *s
	t.stack = slices.Clone(s.stack)
	t.visits = slices.Clone(s.visits)
	t.frames = slices.Clip(s.frames)
	t.path.Conds = slices.Clip(s.path.Conds)
	t.path.Loads = slices.Clip(s.path.Loads)
	t.path.Stores = slices.Clip(s.path.Stores)
	t.path.Calls = slices.Clip(s.path.Calls)
	return &t
}

// content is the value of a register.
func (s *state) content(r register) *Expr {
	if s.regs[r] == nil {
		s.regs[r] = leaf(kindUnknown, 0)
	}
	return s.regs[r]
}

// value is the content of an operand.
func (s *state) value(o operand) *Expr {
	switch {
	case o.isReg():
		return s.content(o.reg)
	case o.abs && s.live == nil:
		return global(o.val)
	}
	return constant(o.val)
}

// again counts a return to pc and tells whether it is still within n times.
func (s *state) again(pc uint64, n int) bool {
	for i := range s.visits {
		if s.visits[i].pc == pc {
			s.visits[i].n++
			return s.visits[i].n <= n
		}
	}
	s.visits = append(s.visits, visit{pc, 1})
	return n >= 1
}

// load reads memory: the stack as this path left it, what this path stored, or
// the state at entry.
func (s *state) load(addr *Expr, size uint8) *Expr {
	if addr.kind == kindStack {
		return s.loadStack(addr.val, size)
	}
	if s.live != nil {
		return s.live.load(addr, size)
	}
	for i := len(s.path.Stores) - 1; i >= 0; i-- {
		if st := s.path.Stores[i]; st.Size >= size && st.Address.Equal(addr) {
			return extend(st.Value, size, false)
		}
	}
	e := load(addr, size, false)
	if e.kind == kindLoad {
		s.path.Loads = append(s.path.Loads, e)
	}
	return e
}

func (s *state) loadStack(off uint64, size uint8) *Expr {
	for i := len(s.stack) - 1; i >= 0; i-- {
		c := s.stack[i]
		if c.off == off && c.size >= size {
			return extend(c.value, size, false)
		}
		if overlaps(c.off, c.size, off, size) {
			return leaf(kindUnknown, 0)
		}
	}
	return leaf(kindUnknown, 0)
}

func overlaps(a uint64, na uint8, b uint64, nb uint8) bool {
	d := int64(a - b)
	return d < int64(nb) && -d < int64(na)
}

// store writes memory. A cell of the stack is kept as state, any other store is
// part of the path's result.
func (s *state) store(addr, value *Expr, size uint8, saved bool) {
	if addr.kind != kindStack && s.live != nil {
		s.live.fail(fmt.Errorf("%w at %v", ErrWrites, addr))
		return
	}
	if addr.kind != kindStack {
		s.path.Stores = append(s.path.Stores, Store{addr, size, value})
		return
	}
	s.stack = slices.DeleteFunc(s.stack, func(c slot) bool { return c.off == addr.val && c.size <= size })
	s.stack = append(s.stack, slot{addr.val, size, saved, value})
}

// escape forgets the cells of the stack that a callee can write because their
// address, or that of a cell below, is among its arguments.
func (s *state) escape(args []*Expr) {
	for _, a := range args {
		if a.kind == kindStack {
			s.stack = slices.DeleteFunc(s.stack, func(c slot) bool { return !c.saved && int64(c.off-a.val) >= 0 })
		}
	}
}

// cond is the condition cc on the flags.
func (s *state) cond(cc condition) Cond {
	f := s.flags
	switch {
	case f.kind == flagsGiven:
		return given(f.a.val, cc)
	case f.kind == flagsBit && cc.bit:
		return Cond{cc.op, binary(opAnd, binary(opShr, f.a, f.b), constant(1)), constant(0)}
	case f.kind == flagsUnknown || f.kind == flagsBit || cc.bit && f.kind != flagsCompare && f.kind != flagsLogic:
		return Cond{}
	case cc.sign && f.kind == flagsCompare:
		return s.ordered(cc.op, binary(opSub, f.a, f.b), constant(0), f.size)
	case cc.bit: // the carry of a comparison: below
		if cc.op == NE {
			return s.ordered(ULT, f.a, f.b, f.size)
		}
		return s.ordered(UGE, f.a, f.b, f.size)
	case f.kind == flagsResult && !cc.sign && cc.op != EQ && cc.op != NE:
		return Cond{}
	}
	return s.ordered(cc.op, f.a, f.b, f.size)
}

// given is the condition cc on flags of known value: one that is decided.
func given(flags uint64, cc condition) Cond {
	n, z, c, v := flags&8 != 0, flags&4 != 0, flags&2 != 0, flags&1 != 0
	op, holds := cc.op, false
	switch op {
	case CondUnknown:
		return Cond{}
	case NE, GE, LE, UGE, ULE:
		op = op.negate()
	}
	switch op {
	case EQ:
		holds = z
	case LT:
		holds = n && (cc.sign || !v) || !n && v && !cc.sign
	case GT:
		holds = !z && n == v
	case ULT:
		holds = !c
	case UGT:
		holds = c && !z
	}
	if holds == (op == cc.op) {
		return Cond{EQ, constant(0), constant(0)}
	}
	return Cond{EQ, constant(0), constant(1)}
}

// ordered compares the low size bytes of a and b.
func (s *state) ordered(op CondOp, a, b *Expr, size uint8) Cond {
	return canonical(Cond{op, extend(a, size, op.signed()), extend(b, size, op.signed())})
}
