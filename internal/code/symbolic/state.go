package symbolic

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// slot is a cell of the stack, by its offset from the stack pointer at entry.
type slot struct {
	Off   uint64
	Size  uint8
	saved bool // a saved register: restored by the code itself, its address is never passed on
	Value *Expr
}

// FlagState contains the inputs from which the flags were computed.
type FlagState struct {
	kind lift.FlagKind
	size uint8
	a, b *Expr
}

// Frame is a call that is being followed.
type Frame struct {
	PC uint64 // return address
	SP uint64 // the stack pointer at the callee's entry, relative to ours
}

// State is the state of the machine at one point of one path.
type State struct {
	PC     uint64
	Next   int                      // index of the next micro-operation at pc
	Regs   [lift.NumRegisters]*Expr // nil for an unknown value that was not used yet
	Flags  FlagState
	Stack  []slot
	Frames []Frame
	visits []visit
	Path   Path
}

// visit counts the returns of a path to an address.
type visit struct {
	pc uint64
	n  int
}

// NewState returns the state at entry.
func NewState(c *abi, entry uint64) *State {
	return &State{PC: entry, Regs: c.entry, Frames: []Frame{{}}}
}

// Fork returns a copy of s. Lists that only grow share their current elements.
func (s *State) Fork() *State {
	t := *s
	t.Stack = slices.Clone(s.Stack)
	t.visits = slices.Clone(s.visits)
	t.Frames = slices.Clip(s.Frames)
	t.Path.Conds = slices.Clip(s.Path.Conds)
	t.Path.Loads = slices.Clip(s.Path.Loads)
	t.Path.Stores = slices.Clip(s.Path.Stores)
	t.Path.Calls = slices.Clip(s.Path.Calls)
	return &t
}

// CopyFrom makes s a copy of o, as Fork does, in the memory of s. The states must not share memory before.
func (s *State) CopyFrom(o *State) {
	stack, visits := s.Stack[:0], s.visits[:0]
	*s = *o
	s.Stack, s.visits = append(stack, o.Stack...), append(visits, o.visits...)
	s.Frames = slices.Clip(o.Frames)
	s.Path.Conds = slices.Clip(o.Path.Conds)
	s.Path.Loads = slices.Clip(o.Path.Loads)
	s.Path.Stores = slices.Clip(o.Path.Stores)
	s.Path.Calls = slices.Clip(o.Path.Calls)
}

// Content returns the value of a register.
func (s *State) Content(r lift.Register) *Expr {
	if s.Regs[r] == nil {
		s.Regs[r] = Leaf(KindUnknown, 0)
	}
	return s.Regs[r]
}

// Value returns the content of an operand.
func (s *State) Value(o lift.Operand) *Expr {
	switch {
	case o.IsReg():
		return s.Content(o.Reg)
	case o.Absolute:
		return Global(o.Val)
	}
	return Constant(o.Val)
}

// Again counts a return to pc and reports whether there were at most n.
func (s *State) Again(pc uint64, n int) bool {
	for i := range s.visits {
		if s.visits[i].pc == pc {
			s.visits[i].n++
			return s.visits[i].n <= n
		}
	}
	s.visits = append(s.visits, visit{pc, 1})
	return n >= 1
}

// load reads memory: the stack as this path left it, values that this path stored, or the state at entry.
func (s *State) load(addr *Expr, size uint8) *Expr {
	if addr.Kind == KindStack {
		return s.LoadStack(addr.Val, size)
	}
	for i := len(s.Path.Stores) - 1; i >= 0; i-- {
		if st := s.Path.Stores[i]; st.Size >= size && st.Address.Equal(addr) {
			return Extend(st.Value, size, false)
		}
	}
	e := Load(addr, size, false)
	if e.Kind == KindLoad {
		s.Path.Loads = append(s.Path.Loads, e)
	}
	return e
}

// LoadStack reads the stack as this path left it, at an offset from the stack pointer at entry.
func (s *State) LoadStack(off uint64, size uint8) *Expr {
	for i := len(s.Stack) - 1; i >= 0; i-- {
		c := s.Stack[i]
		if c.Off == off && c.Size >= size {
			return Extend(c.Value, size, false)
		}
		if overlaps(c.Off, c.Size, off, size) {
			return Leaf(KindUnknown, 0)
		}
	}
	return Leaf(KindUnknown, 0)
}

func overlaps(a uint64, na uint8, b uint64, nb uint8) bool {
	d := int64(a - b)
	return d < int64(nb) && -d < int64(na)
}

// store writes memory. A stack cell becomes part of the state; any other store becomes part of the path's
// result.
func (s *State) store(addr, value *Expr, size uint8, saved bool) {
	if addr.Kind != KindStack {
		s.Path.Stores = append(s.Path.Stores, Store{addr, size, value})
		return
	}
	s.Stack = slices.DeleteFunc(s.Stack, func(c slot) bool { return c.Off == addr.Val && c.Size <= size })
	s.Stack = append(s.Stack, slot{addr.Val, size, saved, value})
}

// Holds records that the stack cell at an offset from the stack pointer at entry contains e, as a load has
// shown.
func (s *State) Holds(off uint64, size uint8, e *Expr) { s.store(Leaf(KindStack, off), e, size, false) }

// Escape forgets the stack cells that a callee can write because their address, or that of a lower cell, is
// among its arguments.
func (s *State) Escape(args []*Expr) {
	for _, a := range args {
		if a.Kind == KindStack {
			s.Stack = slices.DeleteFunc(s.Stack, func(c slot) bool { return !c.saved && int64(c.Off-a.Val) >= 0 })
		}
	}
}

// Forget forgets the stack cells that overlap [low, high), as offsets from the stack pointer at entry.
func (s *State) Forget(low, high int64) {
	s.Stack = slices.DeleteFunc(s.Stack, func(c slot) bool {
		return !c.saved && int64(c.Off) < high && int64(c.Off)+int64(c.Size) > low
	})
}

// Keeps reports whether a stack cell at or above an offset from the stack pointer at entry is known.
func (s *State) Keeps(low int64) bool {
	return slices.ContainsFunc(s.Stack, func(c slot) bool { return !c.saved && int64(c.Off) >= low })
}

// Cond returns the condition cc on the flags.
func (s *State) Cond(cc lift.Condition) Cond {
	f := s.Flags
	switch {
	case f.kind == lift.FlagsGiven:
		holds, known := cc.HoldsGiven(f.a.Val)
		switch {
		case !known:
			return Cond{}
		case holds:
			return Cond{lift.EQ, Constant(0), Constant(0)}
		}
		return Cond{lift.EQ, Constant(0), Constant(1)}
	case f.kind == lift.FlagsBit && cc.Bit:
		return Cond{cc.Op, binary(lift.OpAnd, binary(lift.OpShr, f.a, f.b), Constant(1)), Constant(0)}
	case f.kind == lift.FlagsUnknown || f.kind >= lift.FlagsFloat || f.kind == lift.FlagsBit || cc.Bit &&
		f.kind != lift.FlagsCompare && f.kind != lift.FlagsLogic:
		return Cond{}
	case cc.Sign && f.kind == lift.FlagsCompare:
		return s.ordered(cc.Op, binary(lift.OpSub, f.a, f.b), Constant(0), f.size)
	case cc.Bit: // the carry of a comparison: unsigned less
		if cc.Op == lift.NE {
			return s.ordered(lift.ULT, f.a, f.b, f.size)
		}
		return s.ordered(lift.UGE, f.a, f.b, f.size)
	case f.kind == lift.FlagsResult && !cc.Sign && cc.Op != lift.EQ && cc.Op != lift.NE,
		f.kind == lift.FlagsMask && cc.Op >= lift.ULT:
		return Cond{}
	}
	return s.ordered(cc.Op, f.a, f.b, f.size)
}

// BranchCond returns the condition of a branch.
func (s *State) BranchCond(u *lift.Uop) Cond {
	if u.OwnTest() {
		return s.ordered(u.CC.Op, s.Value(u.B), Constant(0), u.Size)
	}
	return s.Cond(u.CC)
}

// ordered compares the low size bytes of a and b.
func (s *State) ordered(op lift.CondOp, a, b *Expr, size uint8) Cond {
	return canonical(Cond{op, Extend(a, size, op.Signed()), Extend(b, size, op.Signed())})
}

// Assume adds a condition to the path, unless it is implied.
func (s *State) Assume(c Cond) {
	if _, ok := c.Decided(); !ok && !slices.ContainsFunc(s.Path.Conds, c.Equal) {
		s.Path.Conds = append(s.Path.Conds, c)
	}
}
