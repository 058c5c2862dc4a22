package accesspath

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// edge is one side of a branch.
type edge struct {
	pc    uint64
	taken bool
}

// explorer follows all paths of one function.
type explorer struct {
	*symbolic.Reader
	follows func(symbolic.Target) bool
	bounds  Bounds
	edges   map[edge]int
	work    []*symbolic.State
	steps   int
	paths   []symbolic.Path
}

// run follows the paths from s. At each fork it continues with the fall-through side and queues the other. So
// under tight bounds, simple paths come before loops.
func (x *explorer) run(s *symbolic.State) {
	x.edges = map[edge]int{}
	x.work = []*symbolic.State{s}
	for len(x.work) > 0 {
		s := x.work[0]
		x.work = x.work[1:]
		s.Path.End = x.follow(s)
		if s.Path.End == symbolic.EndReturn {
			s.Path.Result = s.Content(x.ABI.Result)
		}
		x.paths = append(x.paths, s.Path)
	}
}

// push puts a fork in the queue, unless there are too many paths already.
func (x *explorer) push(s *symbolic.State) {
	if len(x.work)+len(x.paths)+1 < x.bounds.Paths { // plus the current one
		x.work = append(x.work, s)
	}
}

// follow executes one path to its end.
func (x *explorer) follow(s *symbolic.State) symbolic.End {
	for {
		if x.steps >= x.bounds.Steps {
			return symbolic.EndLimit
		}
		x.steps++
		in, ok := x.Fetch(s.PC)
		if !ok {
			return symbolic.EndUnknown
		}
		if end, done := x.execute(s, in); done {
			return end
		}
	}
}

// execute executes the micro-operations of one instruction from s.Next on. It leaves s.PC at the following
// instruction unless the path is done.
func (x *explorer) execute(s *symbolic.State, in lift.Instruction) (symbolic.End, bool) {
	next := s.PC + uint64(in.Length)
	for s.Next < len(in.Uops) {
		u := &in.Uops[s.Next]
		s.Next++
		switch u.Code {
		case lift.UopSelect:
			x.choose(s, u)
		case lift.UopSkip:
			x.skip(s, u)
		case lift.UopFlagsIf:
			x.setFlagsIf(s, u)
		case lift.UopBranch:
			s.Next = 0
			return x.branch(s, u, next)
		case lift.UopJump:
			s.Next = 0
			return x.jump(s, s.Value(u.A))
		case lift.UopCall:
			s.Next = 0
			return x.call(s, x.Target(s.Value(u.A)), in.TLSCall, next)
		case lift.UopReturn:
			s.Next = 0
			return x.leave(s)
		case lift.UopStop:
			return symbolic.EndStop, true
		default:
			s.Apply(u)
		}
	}
	s.PC, s.Next = next, 0
	return symbolic.EndReturn, false
}

// choose sets a register to one of two values and pushes a fork for the other.
func (x *explorer) choose(s *symbolic.State, u *lift.Uop) {
	a, b := s.Value(u.A), s.Value(u.B)
	if a.Equal(b) {
		s.Regs[u.Dst] = symbolic.Extend(a, u.Size, false)
		return
	}
	x.decide(s, u, func(s *symbolic.State, holds bool) {
		value := b
		if holds {
			value = a
		}
		s.Regs[u.Dst] = symbolic.Extend(value, u.Size, false)
	})
}

// skip skips some micro-operations if a condition holds.
func (x *explorer) skip(s *symbolic.State, u *lift.Uop) {
	x.decide(s, u, func(s *symbolic.State, holds bool) {
		if holds {
			s.Next += int(u.Scale)
		}
	})
}

// setFlagsIf sets the flags by a comparison that is only made if a condition holds.
func (x *explorer) setFlagsIf(s *symbolic.State, u *lift.Uop) {
	x.decide(s, u, func(s *symbolic.State, holds bool) { s.SetFlags(u, holds) })
}

// decide applies a micro-operation whose effect depends on its condition. If both sides are possible, s takes the one
// on which it holds, and a fork is pushed for the other.
func (x *explorer) decide(s *symbolic.State, u *lift.Uop, apply func(s *symbolic.State, holds bool)) {
	c := s.Cond(u.CC)
	yes, no := x.split(s, c)
	if yes && no {
		t := s.Fork()
		t.Assume(c.Negate())
		apply(t, false)
		x.push(t)
	}
	if !yes {
		c = c.Negate()
	}
	s.Assume(c)
	apply(s, yes)
}

// branch takes one side of a branch and pushes a fork for the other.
func (x *explorer) branch(s *symbolic.State, u *lift.Uop, next uint64) (symbolic.End, bool) {
	c, target := s.BranchCond(u), u.A.Val
	yes, no := x.split(s, c)
	yes, no = yes && x.enter(s.PC, true), no && x.enter(s.PC, false)
	switch {
	case yes && no:
		t := s.Fork()
		t.Assume(c)
		if !x.jumpTo(t, target) {
			x.push(t)
		}
		fallthrough
	case no:
		s.Assume(c.Negate())
		s.PC = next
		return symbolic.EndReturn, false
	case yes:
		s.Assume(c)
		return symbolic.EndLoop, x.jumpTo(s, target)
	}
	return symbolic.EndLimit, true
}

// enter counts the use of one side of a branch and reports whether it is still within the bounds.
func (x *explorer) enter(pc uint64, taken bool) bool {
	limit := x.bounds.Edges
	if limit == 0 {
		return true
	}
	e := edge{pc, taken}
	if x.edges[e] >= limit {
		return false
	}
	x.edges[e]++
	return true
}

// split reports which sides of c are possible on this path.
func (x *explorer) split(s *symbolic.State, c symbolic.Cond) (yes, no bool) {
	if v, ok := c.Decided(); ok {
		return v, !v
	}
	if slices.ContainsFunc(s.Path.Conds, c.Equal) {
		return true, false
	}
	if slices.ContainsFunc(s.Path.Conds, c.Negate().Equal) {
		return false, true
	}
	return true, true
}

// jumpTo moves s to pc and reports whether the path was there too often.
func (x *explorer) jumpTo(s *symbolic.State, pc uint64) (tooOften bool) {
	back := pc <= s.PC
	s.PC = pc
	return back && !s.Again(pc, x.bounds.Visits)
}
