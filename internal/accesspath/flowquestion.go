package accesspath

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// Value is the value that an expression of the call at site had, such as one of
// its arguments, when the function came through it last on its way to the point at
// which it is now. sure is false if that was read from memory that may have
// changed since.
func (f *Flow) Value(site Site, e *Expr, at Point) (v uint64, sure, ok bool) {
	f.follow()
	now, known := f.instAt(at)
	from, isInst := f.index[site.PC]
	if !known || !isInst || f.blocks[f.owner[now]].in == nil {
		return 0, false, false
	}
	q := &question{f: f, at: at, from: from, now: now, current: site.UnderWay && from == now, sure: true}
	q.state = f.blocks[f.owner[now]].in.fork()
	for i := f.blocks[f.owner[now]].first; i < now; i++ {
		f.step(q.state, i)
	}
	v, ok = q.eval(e)
	return v, q.sure && ok, ok
}

// question is the evaluation of one value.
type question struct {
	f         *Flow
	at        Point
	from, now int  // instructions: where the value was, and where the function is
	current   bool // both are the call under way, in the same round of every loop
	state     *state
	sure      bool
	after     []bool // instructions that are reached from the one without coming to it again
	before    []bool // those from which the other is reached in the same way
}

func (q *question) eval(e *Expr) (uint64, bool) {
	switch e.kind {
	case kindConst, kindGlobal:
		return e.val, true
	case kindStack:
		return q.at.CFA - q.f.x.abi.linkBytes + e.val, q.at.CFA != 0
	}
	if !q.stable(e) {
		return 0, false
	}
	if v, ok := q.kept(e); ok {
		q.sure = q.sure && !e.loads()
		return v, true
	}
	switch e.kind {
	case kindArg:
		if q.at.Arg != nil {
			return q.at.Arg(int(e.val))
		}
	case kindLoad:
		a, ok := q.eval(e.a)
		if !ok {
			return 0, false
		}
		q.sure = false
		v, err := Env{Mem: q.f.x.cfg.Mem}.word(a, e.size, e.signed)
		return v, err == nil
	case kindExtend:
		a, ok := q.eval(e.a)
		return extendWord(a, e.size, e.signed), ok
	case kindBinary:
		a, ok := q.eval(e.a)
		if !ok {
			return 0, false
		}
		b, ok := q.eval(e.b)
		return compute(e.op, a, b), ok
	}
	return 0, false
}

// stable tells whether nothing that e is made of was made anew since.
func (q *question) stable(e *Expr) bool {
	switch {
	case e == nil:
		return true
	case q.current:
		return !e.nameless()
	case e.kind != kindUnknown:
		return q.stable(e.a) && q.stable(e.b)
	case e.val == 0:
		return false
	}
	name := q.f.names[e.val-1]
	i, ok := q.f.index[name.pc]
	if !ok {
		return name.pc == 0
	}
	q.look()
	if name.joins && i == q.now {
		return !q.after[i]
	}
	return !q.after[i] || !q.before[i]
}

// loads tells whether e reads memory beyond the frame.
func (e *Expr) loads() bool {
	return e != nil && (e.kind == kindLoad || e.a.loads() || e.b.loads())
}

// kept finds e in a register that the frame still has, or in a cell of its stack.
func (q *question) kept(e *Expr) (uint64, bool) {
	for r := range register(temp0) {
		if s := q.state.regs[r]; s.tells(e, 8) && (q.at.Exact || q.f.x.abi.keep>>r&1 != 0) {
			if v, ok := q.at.Registers.Get(q.f.dwarf(r)); ok {
				return e.narrow(v), true
			}
		}
	}
	for _, c := range q.state.stack {
		if q.at.CFA != 0 && c.value.tells(e, c.size) {
			v, err := Env{Mem: q.f.x.cfg.Mem}.word(q.at.CFA-q.f.x.abi.linkBytes+c.off, c.size, false)
			return e.narrow(v), err == nil
		}
	}
	return 0, false
}

// tells tells whether a place of size bytes that has the value v also has e: the
// same, or if e is the low bytes of a value, that value.
func (v *Expr) tells(e *Expr, size uint8) bool {
	switch {
	case v == nil:
		return false
	case e.kind == kindExtend && size >= e.size:
		return lowPart(v, e.size).Equal(lowPart(e.a, e.size))
	}
	return size == 8 && v.Equal(e)
}

// narrow is e if the place that tells it has the value v.
func (e *Expr) narrow(v uint64) uint64 {
	if e.kind == kindExtend {
		return extendWord(v, e.size, e.signed)
	}
	return v
}

// x86ToDWARF are the DWARF numbers of x86-64's first eight registers.
var x86ToDWARF = [...]int{0, 2, 1, 3, 7, 6, 4, 5}

// dwarf is the DWARF number of r.
func (f *Flow) dwarf(r register) int {
	if f.x.cfg.Arch == callbacks.ArchX86_64 && int(r) < len(x86ToDWARF) {
		return x86ToDWARF[r]
	}
	return int(r)
}

// look finds the instructions between the question's two places.
func (q *question) look() {
	if q.after != nil {
		return
	}
	back := make([][]int, len(q.f.insts))
	for i := range q.f.insts {
		for _, n := range q.f.next(i) {
			back[n] = append(back[n], i)
		}
	}
	q.after = q.f.reach(q.from, q.from, q.f.next)
	q.before = q.f.reach(q.now, q.from, func(i int) []int { return back[i] })
}
