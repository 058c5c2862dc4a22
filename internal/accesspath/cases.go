package accesspath

// cases forks for every entry of a jump table: for every value of an index that
// a condition on the path limits and that the address depends on.
func (x *explorer) cases(s *state, to *Expr) (End, bool) {
	index, count := s.index(to)
	if count == 0 || count > uint64(x.cfg.Bounds.Cases) {
		return EndUnknown, true
	}
	targets := make([]uint64, count)
	for i := range targets {
		var err error
		if targets[i], err = Eval(to.substitute(index, constant(uint64(i))), Env{Mem: x.cfg.Mem}); err != nil {
			return EndUnknown, true
		}
	}
	enter := func(t *state, i int) (tooOften bool) {
		t.assume(Cond{EQ, index, constant(uint64(i))})
		return x.jumpTo(t, targets[i])
	}
	for i := 1; i < len(targets); i++ {
		if t := s.fork(); !enter(t, i) {
			x.push(t)
		}
	}
	return EndLoop, enter(s, 0)
}

// index is the part of an address that is limited on this path, and the number
// of values that it can have, from 0 on; 0 if there is none.
func (s *state) index(to *Expr) (index *Expr, count uint64) {
	for i := len(s.path.Conds) - 1; i >= 0; i-- {
		c := s.path.Conds[i]
		if c.A == nil || c.B.kind != kindConst || !to.contains(c.A) {
			continue
		}
		switch c.Op {
		case ULE:
			return c.A, c.B.val + 1
		case ULT:
			return c.A, c.B.val
		}
	}
	return nil, 0
}

// contains tells whether part is a part of e.
func (e *Expr) contains(part *Expr) bool {
	return e != nil && e.weight >= part.weight && (e.Equal(part) || e.a.contains(part) || e.b.contains(part))
}

// substitute is e with one part replaced.
func (e *Expr) substitute(part, by *Expr) *Expr {
	switch {
	case !e.contains(part):
		return e
	case e.Equal(part):
		return by
	}
	a := e.a.substitute(part, by)
	switch e.kind {
	case kindLoad:
		return load(a, e.size, e.signed)
	case kindExtend:
		return extend(a, e.size, e.signed)
	}
	b := e.b.substitute(part, by)
	if e.kind == kindCompare {
		return compare(Cond{e.cond, a, b})
	}
	return binary(e.op, a, b)
}
