package accesspath

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// cases forks for every entry of a jump table, that is, for every value of an index in the address that a
// condition on the path limits.
func (x *explorer) cases(s *symbolic.State, to *symbolic.Expr) (symbolic.End, bool) {
	index, count := limitedIndex(s, to)
	if count == 0 || count > uint64(x.bounds.Cases) {
		return symbolic.EndUnknown, true
	}
	targets := make([]uint64, count)
	for i := range targets {
		var err error
		if targets[i], err = symbolic.Eval(to.Substitute(index, symbolic.Constant(uint64(i))),
			symbolic.Env{Mem: x.Mem}); err != nil {
			return symbolic.EndUnknown, true
		}
	}
	enter := func(t *symbolic.State, i int) (tooOften bool) {
		t.Assume(symbolic.Cond{Op: lift.EQ, A: index, B: symbolic.Constant(uint64(i))})
		return x.jumpTo(t, targets[i])
	}
	for i := 1; i < len(targets); i++ {
		if t := s.Fork(); !enter(t, i) {
			x.push(t)
		}
	}
	return symbolic.EndLoop, enter(s, 0)
}

// limitedIndex returns the part of an address that is limited on this path, and the number of its possible
// values, starting from 0; 0 if no part is limited.
func limitedIndex(s *symbolic.State, to *symbolic.Expr) (index *symbolic.Expr, count uint64) {
	for i := len(s.Path.Conds) - 1; i >= 0; i-- {
		c := s.Path.Conds[i]
		if c.A == nil || c.B.Kind != symbolic.KindConst || !to.Contains(c.A) {
			continue
		}
		switch c.Op {
		case lift.ULE:
			return c.A, c.B.Val + 1
		case lift.ULT:
			return c.A, c.B.Val
		}
	}
	return nil, 0
}
