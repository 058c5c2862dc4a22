package accesspath

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// call follows a call, or treats its result as opaque.
func (x *explorer) call(s *symbolic.State, t symbolic.Target, tls bool, next uint64) (symbolic.End, bool) {
	name := x.Stub(t)
	tls = tls || name == "__tls_get_addr"
	first := s.Content(x.ABI.Args[0])
	switch {
	case symbolic.NoReturn(name):
		return symbolic.EndStop, true
	case tls && first.Kind == symbolic.KindGlobal:
		x.clobber(s, symbolic.Leaf(symbolic.KindTLSVar, first.Val))
	case t.Slot != 0 && s.Content(x.ABI.Result).IsGlobal(t.Slot):
		s.Regs[x.ABI.Result] = symbolic.Leaf(symbolic.KindTLSDesc, t.Slot) // all other registers are kept
	case t.Entry != 0 && x.follows != nil && x.follows(t) && len(s.Frames) <= x.bounds.Depth &&
		s.Content(x.ABI.SP).Kind == symbolic.KindStack:
		sp := symbolic.Add(s.Content(x.ABI.SP), symbolic.Constant(-x.ABI.LinkBytes))
		s.Regs[x.ABI.SP] = sp
		s.Frames = append(s.Frames, symbolic.Frame{PC: next, SP: sp.Val})
		s.PC = t.Entry
		return symbolic.EndReturn, false
	default:
		x.passCall(s, t)
		if x.begins(next) {
			return symbolic.EndStop, true
		}
	}
	s.PC = next
	return symbolic.EndReturn, false
}

// begins reports whether a function seems to start at pc, so that the call before it does not return: after
// padding, at an address to which compilers align functions, the stack grows. Code within a function seldom does
// that right after a call. Without this check, a path would continue through the next functions.
func (x *explorer) begins(pc uint64) bool {
	aligned := false
	for range maxPadding {
		in, ok := x.Fetch(pc)
		aligned = aligned || pc%functionAlign == 0
		switch {
		case !ok:
			return false
		case len(in.Uops) > 0:
			return aligned && x.grows(in)
		}
		pc += uint64(in.Length)
	}
	return false
}

// Padding between functions is a few instructions without effect, up to the next multiple of 16. A branch-target
// marker may follow.
const (
	maxPadding    = 4
	functionAlign = 16
)

// grows reports whether the first effect of an instruction is to move the stack pointer down.
func (x *explorer) grows(in lift.Instruction) bool {
	for _, u := range in.Uops {
		if u.Code == lift.UopBinary && u.Op == lift.OpSub && u.Dst == x.ABI.SP {
			return true
		}
	}
	return false
}

// passCall skips a call that is not followed.
func (x *explorer) passCall(s *symbolic.State, t symbolic.Target) {
	t.Name = x.Stub(t)
	c := symbolic.Call{Target: t, Args: make([]*symbolic.Expr, len(x.ABI.Args))}
	for i, r := range x.ABI.Args {
		c.Args[i] = s.Content(r)
	}
	s.Escape(c.Args)
	s.Path.Calls = append(s.Path.Calls, c)
	result := symbolic.Leaf(symbolic.KindCall, 0)
	result.Callee = &c
	x.clobber(s, result)
}

// clobber sets the registers to their values after a call.
func (x *explorer) clobber(s *symbolic.State, result *symbolic.Expr) {
	for i := range s.Regs[:lift.Temp0] {
		if x.ABI.Keep&(1<<i) == 0 {
			s.Regs[i] = nil
		}
	}
	s.Flags = symbolic.FlagState{}
	s.Regs[x.ABI.Result] = result
}

// leave returns to the caller. The stack pointer must have its value at the callee's entry. Otherwise, the path
// continued after a call that does not return.
func (x *explorer) leave(s *symbolic.State) (symbolic.End, bool) {
	f := s.Frames[len(s.Frames)-1]
	sp := s.Content(x.ABI.SP)
	if sp.Kind != symbolic.KindStack || sp.Val != f.SP {
		return symbolic.EndStop, true
	}
	if len(s.Frames) == 1 {
		return symbolic.EndReturn, true
	}
	s.Frames = slices.Clip(s.Frames[:len(s.Frames)-1]) // forks share the elements after that
	s.Regs[x.ABI.SP] = symbolic.Leaf(symbolic.KindStack, sp.Val+x.ABI.LinkBytes)
	s.PC = f.PC
	return symbolic.EndReturn, false
}

// jump continues at an address: in this function, in another one (a tail call), or at the cases of a jump table.
func (x *explorer) jump(s *symbolic.State, to *symbolic.Expr) (symbolic.End, bool) {
	if to.Kind == symbolic.KindGlobal || to.Kind == symbolic.KindConst {
		return symbolic.EndLoop, x.jumpTo(s, to.Val)
	}
	t := x.Target(to)
	switch {
	case symbolic.NoReturn(t.Name):
		return symbolic.EndStop, true
	case t.Entry != 0:
		return symbolic.EndLoop, x.jumpTo(s, t.Entry)
	case t.Slot != 0: // a tail call
		x.passCall(s, t)
		return x.leave(s)
	}
	return x.cases(s, to)
}
