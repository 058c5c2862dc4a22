package flow

import (
	"math"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// keeper finds out whether the inputs of a branch condition are still intact in a frame.
type keeper struct {
	f            *Function
	from, branch int              // instructions: the inputs before from decide the branch
	at           int              // the current instruction of the function
	given        []extent         // the parts of the frame that others may write
	sizes        map[uint64]int64 // of the cells of the condition, by their offset; set by condition
	memory       bool             // whether the condition may read variables elsewhere
}

// conditionStarts returns the instructions of a block from which the condition of its branch is evaluated: the
// one after all calls and writes to memory, and the first one.
func conditionStarts(f *Function, b int) []int {
	blk := &f.blocks[b]
	for i := blk.last - 2; i >= blk.first; i-- {
		if slices.ContainsFunc(f.insts[i].Uops, func(u lift.Uop) bool {
			return u.Code == lift.UopCall || u.Stores()
		}) {
			return []int{i + 1, blk.first}
		}
	}
	return []int{blk.first}
}

// condition returns the condition of the branch's first successor, in terms of the registers and stack cells
// before k.from.
func (k *keeper) condition() (symbolic.Cond, bool) {
	f := k.f
	s, pc := f.stateAt(k.from).Fork(), f.insts[k.from].pc
	s.Flags = symbolic.FlagState{}
	for r := range f.x.ABI.General {
		if s.Regs[r].Kind != symbolic.KindStack {
			s.Regs[r] = f.leaf(valueName{pc: pc, reg: r, atJoin: true})
		}
	}
	k.sizes = map[uint64]int64{}
	for i := range s.Stack {
		k.sizes[s.Stack[i].Off] = max(k.sizes[s.Stack[i].Off], int64(s.Stack[i].Size))
		s.Stack[i].Value = f.leaf(valueName{pc: pc, reg: inCell, cell: s.Stack[i].Off, atJoin: true})
	}
	for i := k.from; i < k.branch; i++ {
		f.execute(s, i)
	}
	return branchCondition(f, s, k.branch)
}

// place returns the register or cell that contained a value before k.from.
func (k *keeper) place(e *symbolic.Expr) (valueName, bool) {
	if e.Kind != symbolic.KindUnknown || e.Val == 0 {
		return valueName{}, false
	}
	name := k.f.names[e.Val-1]
	return name, name.atJoin && name.pc == k.f.insts[k.from].pc
}

// keeps reports whether e consists of constants and of values that are still in their places, or are read from
// variables elsewhere at such addresses, if that is allowed.
func (k *keeper) keeps(e *symbolic.Expr) bool {
	switch {
	case e == nil || e.Kind == symbolic.KindConst:
		return true
	case e.Kind == symbolic.KindLoad:
		return k.memory && k.keeps(e.A)
	case e.Kind == symbolic.KindGlobal:
		return k.memory
	case e.Kind == symbolic.KindCall:
		return false
	case e.A != nil:
		return k.keeps(e.A) && k.keeps(e.B)
	}
	name, ok := k.place(e)
	return ok && !k.written(name)
}

// written reports whether a place may have been written since k.from.
func (k *keeper) written(p valueName) bool {
	f := k.f
	if p.reg == inCell && slices.ContainsFunc(k.given, func(x extent) bool {
		return x.low < int64(p.cell)+k.sizeOf(p) && int64(p.cell) < x.high
	}) {
		return true
	}
	for i := k.from; i < k.branch; i++ {
		if k.writesPlace(i, p) {
			return true
		}
	}
	between := f.passageOf(k.branch, k.at)
	for i := range f.insts {
		if (between.after.contains(i) && between.before.contains(i) || i == k.at) && k.writesPlace(i, p) {
			return true
		}
	}
	return false
}

// maxCell is the largest size of a cell, in bytes.
const maxCell = 8

// sizeOf returns the size of a cell, in bytes.
func (k *keeper) sizeOf(p valueName) int64 {
	if n := k.sizes[p.cell]; n > 0 {
		return n
	}
	return maxCell
}

// writesPlace reports whether instruction i itself may write a place.
func (k *keeper) writesPlace(i int, p valueName) bool {
	f := k.f
	if f.insts[i].opaque {
		return true
	}
	var s *symbolic.State
	if p.reg == inCell {
		s = f.stateAt(i).Fork()
	}
	for j := range f.insts[i].Uops {
		u := &f.insts[i].Uops[j]
		switch u.Code {
		case lift.UopStore, lift.UopPush, lift.UopExchange:
			if s == nil {
				continue
			}
			a, size := s.Value(u.A), int64(max(u.Size, 1))
			if d := int64(a.Val - p.cell); a.Kind == symbolic.KindStack && d < k.sizeOf(p) && d > -size {
				return true
			}
		case lift.UopCall:
			if s == nil && f.x.ABI.Keep>>p.reg&1 == 0 {
				return true
			}
		default:
			if s == nil && u.SetsRegister() && u.Dst == p.reg {
				return true
			}
			if s != nil && u.SetsRegister() && u.Code != lift.UopSelect {
				s.Apply(u)
			}
		}
	}
	return false
}

// givenExtents returns the parts of the frame whose addresses the function has passed on, stored, or used for variable
// indexing. Others may write them: the variable at an address, or, if that is unknown, the address and all above it.
func givenExtents(f *Function) (out []extent) {
	give := func(s *symbolic.State, i int, e *symbolic.Expr) {
		for _, l := range e.Leaves() {
			if l.Kind != symbolic.KindStack {
				continue
			}
			x := extent{int64(l.Val), math.MaxInt64}
			if e.Kind == symbolic.KindStack {
				x = objectAt(f, s, object{f.insts[i].pc, x.low})
			}
			if !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	for b := range f.blocks {
		if f.blocks[b].in == nil {
			continue
		}
		s := f.blocks[b].in.Fork()
		for i := f.blocks[b].first; i < f.blocks[b].last; i++ {
			for k := range f.insts[i].Uops {
				switch u := &f.insts[i].Uops[k]; u.Code {
				case lift.UopCall:
					for _, a := range f.argumentRegisters(s) {
						give(s, i, a)
					}
				case lift.UopStore, lift.UopExchange:
					give(s, i, s.Value(u.B))
					if a := s.Value(u.A); a.Kind != symbolic.KindStack {
						give(s, i, a)
					}
				}
			}
			f.execute(s, i)
		}
	}
	return out
}

// currentValue returns e with the current contents of its places in a frame, and of the variables that it reads.
func (k *keeper) currentValue(e *symbolic.Expr, at Point) (*symbolic.Expr, bool) {
	for _, l := range e.Leaves() {
		if l.Kind == symbolic.KindConst || l.Kind == symbolic.KindGlobal {
			continue
		}
		name, ok := k.place(l)
		v, known := k.content(name, at)
		if !ok || !known {
			return e, false
		}
		e = e.Substitute(l, symbolic.Constant(v))
	}
	if e.Loads() {
		v, err := symbolic.Eval(e, symbolic.Env{Mem: k.f.x.Mem})
		return symbolic.Constant(v), err == nil
	}
	return e, true
}

// content returns the content of a place in a frame.
func (k *keeper) content(p valueName, at Point) (uint64, bool) {
	f := k.f
	if p.reg != inCell {
		if !at.Exact && f.x.ABI.Keep>>p.reg&1 == 0 {
			return 0, false
		}
		return at.Registers.Get(f.x.ABI.DWARFNumber(p.reg))
	}
	if at.CFA == 0 {
		return 0, false
	}
	cell := symbolic.StackAddress(p.cell, at.CFA-f.x.ABI.LinkBytes)
	v, err := symbolic.Env{Mem: f.x.Mem}.Word(cell, 8, false)
	return v, err == nil
}
