package accesspath

import (
	"fmt"
	"slices"
)

// edge is one side of a branch.
type edge struct {
	pc    uint64
	taken bool
}

// explorer follows all paths of one function.
type explorer struct {
	cfg    Config
	lifter lifter
	abi    *convention
	code   code
	insts  map[uint64]instruction
	edges  map[edge]int
	stubs  map[uint64]string
	work   []*state
	steps  int
	paths  []Path
}

// run follows the paths from s on: of each the side that falls through, then
// the forks in the order in which they were met, so that under tight bounds the
// simple paths come before those that loop.
func (x *explorer) run(s *state) {
	x.insts, x.edges, x.stubs = map[uint64]instruction{}, map[edge]int{}, map[uint64]string{}
	x.work = []*state{s}
	for len(x.work) > 0 {
		s := x.work[0]
		x.work = x.work[1:]
		s.path.End = x.follow(s)
		if s.path.End == EndReturn {
			s.path.Result = s.content(x.abi.result)
		}
		x.paths = append(x.paths, s.path)
	}
}

// push puts a fork in the queue, unless there are too many paths already.
func (x *explorer) push(s *state) {
	if len(x.work)+len(x.paths)+1 < x.cfg.Bounds.Paths { // one is being followed
		x.work = append(x.work, s)
	}
}

// follow runs one path to its end.
func (x *explorer) follow(s *state) End {
	for {
		if x.steps >= x.cfg.Bounds.Steps {
			return EndLimit
		}
		x.steps++
		in, ok := x.fetch(s.pc)
		if !ok {
			return EndUnknown
		}
		if end, done := x.execute(s, in); done {
			return end
		}
		if s.live != nil && s.live.err != nil {
			return EndUnknown
		}
	}
}

// fetch decodes the instruction at pc.
func (x *explorer) fetch(pc uint64) (instruction, bool) {
	if in, ok := x.insts[pc]; ok {
		return in, in.length > 0
	}
	var in instruction
	if b, err := x.code.at(pc, x.abi.maxLength); err == nil {
		in, _ = x.lifter.lift(b, pc)
	}
	x.insts[pc] = in
	return in, in.length > 0
}

// execute runs the micro-operations of one instruction from s.next on. It
// leaves s.pc at the following instruction unless the path is done.
func (x *explorer) execute(s *state, in instruction) (End, bool) {
	next := s.pc + uint64(in.length)
	for s.next < len(in.uops) {
		u := &in.uops[s.next]
		s.next++
		switch u.code {
		case uSelect:
			x.choose(s, u)
		case uSkip:
			x.skip(s, u)
		case uEnd:
			s.next = len(in.uops)
		case uBranch:
			s.next = 0
			return x.branch(s, u, next)
		case uJump:
			s.next = 0
			return x.jump(s, s.value(u.a))
		case uCall:
			s.next = 0
			return x.call(s, x.target(s.value(u.a)), in.tlsCall, next)
		case uReturn:
			s.next = 0
			return x.leave(s)
		case uStop:
			return EndStop, true
		default:
			s.apply(u)
		}
	}
	s.pc, s.next = next, 0
	return EndReturn, false
}

// apply does a micro-operation that neither forks nor jumps.
func (s *state) apply(u *uop) {
	switch u.code {
	case uSet:
		s.regs[u.dst] = extend(s.value(u.a), u.size, u.signed)
	case uInsert:
		kept := binary(opAnd, s.content(u.dst), constant(^width(u.size)))
		s.regs[u.dst] = binary(opOr, kept, extend(s.value(u.a), u.size, false))
	case uBinary:
		s.regs[u.dst] = arithmetic(u.op, s.value(u.a), s.value(u.b), u.size)
	case uAddress:
		s.regs[u.dst] = s.address(u)
	case uLoad:
		s.regs[u.dst] = s.load(s.value(u.a), u.size)
	case uStore, uPush:
		s.store(s.value(u.a), extend(s.value(u.b), u.size, false), u.size, u.code == uPush)
	case uFlags:
		s.flags = flagState{u.flags, u.size, extend(s.value(u.a), u.size, false), extend(s.value(u.b), u.size, false)}
	case uSetIf:
		s.regs[u.dst] = compare(s.cond(u.cc))
	case uForget:
		s.regs[u.dst] = nil
	}
}

// arithmetic is a op b in size bytes, zero-extended.
func arithmetic(op operator, a, b *Expr, size uint8) *Expr {
	switch {
	case op == opShr && size < 8:
		a = extend(a, size, false)
	case op == opSar && size < 8:
		a = extend(a, size, true)
	}
	return extend(binary(op, a, b), size, false)
}

// address is base + index*scale + displacement.
func (s *state) address(u *uop) *Expr {
	e := constant(u.disp)
	if u.a.isReg() || u.a.abs {
		e = add(s.value(u.a), e)
	}
	if u.b.isReg() {
		e = add(e, binary(opMul, s.content(u.b.reg), constant(uint64(u.scale))))
	}
	switch {
	case u.tls && s.live != nil:
		e = add(constant(s.live.threadPointer), e)
	case u.tls:
		e = add(leaf(kindTLSBase, 0), e)
	}
	return e
}

// choose sets a register to one of two values and leaves the other to a fork.
func (x *explorer) choose(s *state, u *uop) {
	a, b := s.value(u.a), s.value(u.b)
	if a.Equal(b) {
		s.regs[u.dst] = extend(a, u.size, false)
		return
	}
	yes, no := x.split(s, s.cond(u.cc))
	if yes && no {
		t := s.fork()
		t.assume(s.cond(u.cc).negate())
		t.regs[u.dst] = extend(b, u.size, false)
		x.push(t)
	}
	if yes {
		s.assume(s.cond(u.cc))
		s.regs[u.dst] = extend(a, u.size, false)
		return
	}
	s.assume(s.cond(u.cc).negate())
	s.regs[u.dst] = extend(b, u.size, false)
}

// skip leaves out some micro-operations if a condition holds.
func (x *explorer) skip(s *state, u *uop) {
	c := s.cond(u.cc)
	yes, no := x.split(s, c)
	if yes && no {
		t := s.fork()
		t.assume(c.negate())
		x.push(t)
	}
	if yes {
		s.assume(c)
		s.next += int(u.scale)
		return
	}
	s.assume(c.negate())
}

// branch takes one side of a branch and leaves the other to a fork.
func (x *explorer) branch(s *state, u *uop, next uint64) (End, bool) {
	c, target := s.cond(u.cc), u.a.val
	yes, no := x.split(s, c)
	yes, no = yes && x.enter(s.pc, true), no && x.enter(s.pc, false)
	switch {
	case yes && no:
		t := s.fork()
		t.assume(c)
		if !x.jumpTo(t, target) {
			x.push(t)
		}
		fallthrough
	case no:
		s.assume(c.negate())
		s.pc = next
		return EndReturn, false
	case yes:
		s.assume(c)
		return EndLoop, x.jumpTo(s, target)
	}
	return EndLimit, true
}

// enter counts the use of one side of a branch and tells whether it is still
// within the bounds.
func (x *explorer) enter(pc uint64, taken bool) bool {
	limit := x.cfg.Bounds.Edges
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

// split tells which sides of c are possible on this path.
func (x *explorer) split(s *state, c Cond) (yes, no bool) {
	if v, ok := c.decided(); ok {
		return v, !v
	}
	if s.live != nil {
		s.live.fail(fmt.Errorf("a branch %w", ErrOpaque))
		return false, false
	}
	if slices.ContainsFunc(s.path.Conds, c.equal) {
		return true, false
	}
	if slices.ContainsFunc(s.path.Conds, c.negate().equal) {
		return false, true
	}
	return true, true
}

// assume adds a condition to the path, unless it says nothing new.
func (s *state) assume(c Cond) {
	if _, ok := c.decided(); !ok && !slices.ContainsFunc(s.path.Conds, c.equal) {
		s.path.Conds = append(s.path.Conds, c)
	}
}

// jumpTo moves s to pc; it tells whether the path has been there too often.
func (x *explorer) jumpTo(s *state, pc uint64) (tooOften bool) {
	back := pc <= s.pc
	s.pc = pc
	return back && !s.again(pc, x.cfg.Bounds.Visits)
}
