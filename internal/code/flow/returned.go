package flow

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Result is what a call of a function leaves behind.
type Result struct {
	// Value is what it returns, as an expression of its arguments and of memory that is found from
	// these; nil if it is none, or not the same on all paths.
	Value *symbolic.Expr
	// Pure is set if it changes no memory but its own frame.
	Pure bool
	// Writes is how many bytes it writes at most through each pointer that it is given; 0 if that
	// is not known.
	Writes uint64
}

// Returned is what a call of the function leaves behind.
func (f *Function) Returned() Result {
	f.ensureSolved()
	if f.Indirect {
		return Result{}
	}
	out := Result{Value: returnedValue(f), Pure: !writesMemory(f)}
	if !out.Pure && out.Value.Loads() {
		out.Value = nil // what it has read may be another value by now
	}
	return out
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

// resultOf is what a call of a function leaves behind, as far as that is known.
func resultOf(f *Function, t symbolic.Target) Result {
	if f.returns == nil || t.Entry == 0 && t.Slot == 0 {
		return Result{}
	}
	t.Name = f.x.Stub(t)
	return f.returns(t)
}

// valueIn returns the result of the function, called with some arguments in a state of the caller; nil
// if that is not known. What it reads of the caller's stack is what is there now.
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

// stackLoad returns a part of e that reads a cell of the stack; nil if there is none.
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

// call does what a call instruction does to registers and memory.
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

// writesMemory reports whether the function may change memory that is not a part of its own frame: by
// itself, or by calls.
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

// writesBeyond reports whether instruction i may do so, in state s.
func writesBeyond(f *Function, s *symbolic.State, i int) bool {
	t := s.Fork() // what the instruction computes on the way
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

// endsBlock reports whether instruction i is the last of block b, and nothing follows it.
func endsBlock(f *Function, b, i int) bool {
	return i == f.blocks[b].last-1 && len(f.blocks[b].succ) == 0
}
