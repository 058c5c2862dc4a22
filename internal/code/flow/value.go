package flow

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Value returns the value that an expression of the call at site had, such as one of its arguments, when the
// function last executed it on its path to the current point. sure is false if the value was read from memory
// that may have changed since.
func (f *Function) Value(site CallSite, e *symbolic.Expr, at Point) (v uint64, sure, ok bool) {
	f.ensureSolved()
	now, known := f.indexAt(at)
	from, isInst := f.instAt(site.PC)
	if !known || !isInst || f.blocks[f.owner[now]].in == nil {
		return 0, false, false
	}
	q := &evaluation{f: f, at: at, from: from, now: now, current: site.UnderWay && from == now, sure: true}
	q.state = f.stateAt(now)
	v, ok = q.eval(e)
	return v, q.sure && ok, ok
}

// evaluation is the evaluation of one expression.
type evaluation struct {
	f         *Function
	at        Point
	from, now int  // instructions: the place of the value, and the current place of the function
	current   bool // both are the unfinished call, in the same iteration of every loop
	state     *symbolic.State
	sure      bool
	passage   *passage
}

// passage is the code between two places of a function.
type passage struct {
	after  *reached // instructions reached from the first place without returning to it
	before *reached // instructions from which the second place is reached in the same way
}

// stateAt returns the state before instruction i, in a reachable block.
func (f *Function) stateAt(i int) *symbolic.State {
	if s, ok := f.memo.states[i]; ok {
		return s
	}
	blk := &f.blocks[f.owner[i]]
	s := blk.in.Fork()
	for k := blk.first; k < i; k++ {
		f.execute(s, k)
	}
	if f.memo.states == nil {
		f.memo.states = map[int]*symbolic.State{}
	}
	f.memo.states[i] = s
	return s
}

func (q *evaluation) eval(e *symbolic.Expr) (uint64, bool) {
	switch e.Kind {
	case symbolic.KindConst, symbolic.KindGlobal:
		return e.Val, true
	case symbolic.KindStack:
		return symbolic.StackAddress(e.Val, q.at.CFA-q.f.x.ABI.LinkBytes), q.at.CFA != 0
	}
	if !q.isUnchanged(e) {
		return 0, false
	}
	if v, ok := q.readFromFrame(e); ok {
		q.sure = q.sure && q.f.isFixed(e)
		return v, true
	}
	switch e.Kind {
	case symbolic.KindArg:
		if q.at.Arg != nil {
			return q.at.Arg(int(e.Val))
		}
	case symbolic.KindLoad:
		a, ok := q.eval(e.A)
		if !ok {
			return 0, false
		}
		q.sure = q.sure && q.f.fixed != nil && q.f.fixed(a)
		v, err := symbolic.Env{Mem: q.f.x.Mem}.Word(a, e.Size, e.Signed)
		return v, err == nil
	case symbolic.KindExtend:
		a, ok := q.low(e.A, e.Size)
		return lift.ExtendWord(a, e.Size, e.Signed), ok
	case symbolic.KindBinary:
		a, ok := q.eval(e.A)
		if !ok {
			return 0, false
		}
		b, ok := q.eval(e.B)
		return lift.Compute(e.Op, a, b), ok
	}
	return q.comparison(e)
}

// isFixed reports whether all memory beyond the frame that e reads is at known addresses at which the program cannot
// write.
func (f *Function) isFixed(e *symbolic.Expr) bool {
	if e == nil || !e.Loads() {
		return true
	}
	if e.Kind == symbolic.KindLoad {
		a, ok := e.A.Address()
		return ok && f.fixed != nil && f.fixed(a)
	}
	return f.isFixed(e.A) && f.isFixed(e.B)
}

// comparison returns the value of a comparison, which a choice between two values depends on.
func (q *evaluation) comparison(e *symbolic.Expr) (uint64, bool) {
	if _, ok := e.Holds(0, 0); !ok {
		return 0, false
	}
	a, known := q.eval(e.A)
	b, too := q.eval(e.B)
	v, _ := e.Holds(a, b)
	return v, known && too
}

// low returns a value with the same low size bytes as e. Often the frame contains only these bytes of the parts
// of e, for example for a 4-byte argument on the stack.
func (q *evaluation) low(e *symbolic.Expr, size uint8) (uint64, bool) {
	if narrow := symbolic.Extend(e, size, false); narrow.Kind == symbolic.KindExtend && q.isUnchanged(e) {
		if v, ok := q.readFromFrame(narrow); ok {
			q.sure = q.sure && q.f.isFixed(e)
			return v, true
		}
	}
	if e.Kind != symbolic.KindBinary || !e.Op.LowBytes() {
		return q.eval(e)
	}
	a, ok := q.low(e.A, size)
	if !ok {
		return 0, false
	}
	b, ok := q.low(e.B, size)
	return lift.Compute(e.Op, a, b), ok
}

// isUnchanged reports whether no part of e was computed again since.
func (q *evaluation) isUnchanged(e *symbolic.Expr) bool {
	switch {
	case e == nil:
		return true
	case q.current:
		return !e.Nameless()
	case e.Kind != symbolic.KindUnknown:
		return q.isUnchanged(e.A) && q.isUnchanged(e.B)
	case e.Val == 0:
		return false
	}
	name := q.f.names[e.Val-1]
	i, ok := q.f.instAt(name.pc)
	if !ok {
		return name.pc == 0
	}
	q.findPassage()
	if name.atJoin && i == q.now {
		return !q.passage.after.contains(i)
	}
	return !q.passage.after.contains(i) || !q.passage.before.contains(i)
}

// readFromFrame finds e in a register that is intact in the frame, or in a cell of its stack.
func (q *evaluation) readFromFrame(e *symbolic.Expr) (uint64, bool) {
	for r := range q.f.x.ABI.General {
		if s := q.state.Regs[r]; s.Covers(e, 8) && (q.at.Exact || q.f.x.ABI.Keep>>r&1 != 0) {
			if v, ok := q.at.Registers.Get(q.f.x.ABI.DWARFNumber(r)); ok {
				return e.Narrow(v), true
			}
		}
	}
	for _, c := range q.state.Stack {
		if q.at.CFA != 0 && c.Value.Covers(e, c.Size) {
			at := symbolic.StackAddress(c.Off, q.at.CFA-q.f.x.ABI.LinkBytes)
			v, err := symbolic.Env{Mem: q.f.x.Mem}.Word(at, c.Size, false)
			return e.Narrow(v), err == nil
		}
	}
	return 0, false
}

// findPassage finds the instructions between the two places.
func (q *evaluation) findPassage() {
	if q.passage == nil {
		q.passage = q.f.passageOf(q.from, q.now)
	}
}

// passageOf finds the instructions between two others, cached.
func (f *Function) passageOf(from, to int) *passage {
	key := [2]int{from, to}
	if p, ok := f.memo.between[key]; ok {
		return p
	}
	if f.memo.between == nil {
		f.memo.between = map[[2]int]*passage{}
	}
	p := &passage{after: f.reachedFrom(from, from, false), before: f.reachedFrom(to, from, true)}
	f.memo.between[key] = p
	return p
}

// load applies a load. A load of an unknown stack cell names the content of the cell from then on.
func (f *Function) load(s *symbolic.State, in *inst, u *lift.Uop, perhaps bool) {
	at := s.Value(u.A)
	s.Apply(u)
	switch e := s.Regs[u.Dst]; {
	case perhaps:
		s.Regs[u.Dst] = nil
	case at.Kind == symbolic.KindStack && e.Nameless():
		s.Regs[u.Dst] = symbolic.Extend(f.leaf(valueName{pc: in.pc, reg: u.Dst}), u.Size, false)
		s.Holds(at.Val, u.Size, s.Regs[u.Dst])
	}
}
