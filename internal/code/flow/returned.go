package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Result describes the effects of a call of a function.
type Result struct {
	// Value is the returned value, in terms of its arguments and of memory found from them; nil if it is unknown
	// or differs between paths.
	Value *symbolic.Expr
	// Pure is set if the function writes no memory outside its own frame.
	Pure bool
	// Writes bounds the bytes written through each pointer argument; 0 if unknown.
	Writes uint64
}

// Returned returns the effects of a call of the function.
func (f *Function) Returned() Result {
	f.ensureFollowed()
	if f.Indirect {
		return Result{}
	}
	if f.mayJumpOut() {
		f.ensureSolved()
	}
	out := Result{Value: returnedValue(f), Pure: !writesMemory(f)}
	if !out.Pure && out.Value.Loads() {
		out.Value = nil // the memory that it reads may have changed
	}
	return out
}

// mayJumpOut reports whether an instruction may jump out of the function.
func (f *Function) mayJumpOut() bool {
	return slices.ContainsFunc(f.blocks, func(b block) bool {
		return slices.ContainsFunc(f.insts[b.last-1].Uops, func(u lift.Uop) bool {
			return (u.Code == lift.UopJump || u.Code == lift.UopBranch) && (u.A.IsReg() || !f.isInside(u.A.Val))
		})
	})
}

func returnedValue(f *Function) *symbolic.Expr {
	var out *symbolic.Expr
	for b := range f.blocks {
		last := f.blocks[b].last - 1
		if f.blocks[b].in == nil || !f.isExit(last) {
			continue
		}
		s := f.stateAt(last)
		e := s.Content(f.x.ABI.Result)
		if site, leaves := f.siteOf[last]; leaves {
			e = resultOf(f, f.sites[site].Target).valueIn(s, f.sites[site].Args)
		}
		if e == nil || !e.OfArgs() || out != nil && !e.Equal(out) {
			return nil
		}
		out = e
	}
	return out
}

// resultOf returns the known effects of a call of a function.
func resultOf(f *Function, t symbolic.Target) Result {
	if f.returns == nil || t.Entry == 0 && t.Slot == 0 {
		return Result{}
	}
	t.Name = f.x.Stub(t)
	return f.returns(t)
}

// valueIn returns the value returned by the function for some arguments in a state of the caller; nil if
// unknown. Reads of the caller's stack give the current contents.
func (r Result) valueIn(s *symbolic.State, args []*symbolic.Expr) *symbolic.Expr {
	if r.Value == nil {
		return nil
	}
	e := r.Value.WithArgs(args)
	for e != nil && !e.Nameless() {
		load := stackLoad(e)
		if load == nil {
			return e
		}
		cell := symbolic.Extend(s.LoadStack(load.A.Val, load.Size), load.Size, load.Signed)
		e = e.Substitute(load, cell)
	}
	return nil
}

// stackLoad returns a part of e that reads a stack cell, or nil.
func stackLoad(e *symbolic.Expr) *symbolic.Expr {
	switch {
	case e == nil:
		return nil
	case e.Kind == symbolic.KindLoad && e.A.Kind == symbolic.KindStack:
		return e
	}
	if l := stackLoad(e.A); l != nil {
		return l
	}
	return stackLoad(e.B)
}

// call applies a call instruction to registers and memory.
func call(f *Function, s *symbolic.State, i int, u *lift.Uop) {
	args := f.argumentRegisters(s)
	result := resultOf(f, f.x.Target(s.Value(u.A)))
	value := result.valueIn(s, args)
	if !result.Pure {
		escape(f, s, f.insts[i].pc, args, result.Writes)
	}
	f.forget(s, i, ^f.x.ABI.Keep)
	if value != nil {
		s.Regs[f.x.ABI.Result] = value
	}
}

// writesMemory reports whether the function may write memory outside its own frame, by itself or by calls.
func writesMemory(f *Function) bool {
	for b := range f.blocks {
		if f.blocks[b].in == nil {
			continue
		}
		s := f.blocks[b].in.Fork()
		for i := f.blocks[b].first; i < f.blocks[b].last; i++ {
			if f.insts[i].opaque || writesBeyond(f, s, i) && !endsBlock(f, b, i) {
				return true
			}
			f.execute(s, i)
		}
	}
	return false
}

// writesBeyond reports whether instruction i may write memory outside the frame in state s.
func writesBeyond(f *Function, s *symbolic.State, i int) bool {
	t := s.Fork() // intermediate results of the instruction
	for k := range f.insts[i].Uops {
		switch u := &f.insts[i].Uops[k]; {
		case u.Stores() && u.Code != lift.UopPush && t.Value(u.A).Kind != symbolic.KindStack:
			return true
		case u.Code == lift.UopCall && !resultOf(f, f.x.Target(t.Value(u.A))).Pure:
			return true
		case !u.Leaves():
			t.Apply(u)
		}
	}
	return false
}

// endsBlock reports whether instruction i is the last of block b, and b has no successor.
func endsBlock(f *Function, b, i int) bool {
	return i == f.blocks[b].last-1 && len(f.blocks[b].succ) == 0
}
