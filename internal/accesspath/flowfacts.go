package accesspath

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Effect is what a call does to a fact, such as "this function has taken lock L
// and not given it back".
type Effect uint8

// The effects of calls.
const (
	EffectNone   Effect = iota
	EffectSet           // makes it true, when it returns
	EffectClear         // makes it false, when it is called
	EffectUnsure        // may do either
	EffectStop          // does not return
)

// Fact tells whether something holds at a point of a function.
type Fact uint8

// The truth of facts.
const (
	FactUnreached Fact = iota // no way to the point is known
	FactNo                    // on no way to it
	FactYes                   // on all ways to it
	FactPerhaps               // on some, or it cannot be told
)

// Point is where a function is being executed: in a frame of a stack.
type Point struct {
	// PC is the next instruction, if Exact is set, or the address behind the
	// call that has not returned yet.
	PC    uint64
	Exact bool
	// CFA is the value of the stack pointer before the function was called.
	CFA uint64
	// Registers are those of the frame, by DWARF number; only what is known
	// to be unchanged is valid.
	Registers callbacks.Registers
	// Arg gives integer argument n that the function was called with, if it
	// can be told otherwise. It may be nil.
	Arg func(n int) (uint64, bool)
}

// holding is a fact and the calls that may have made it true.
type holding struct {
	fact Fact
	by   uint64 // bit n: site n; the last bit stands for all others
}

func (h holding) join(o holding) holding {
	switch {
	case h.fact == FactUnreached:
		return o
	case o.fact != FactUnreached && h.fact != o.fact:
		h.fact = FactPerhaps
	}
	h.by |= o.by
	return h
}

func (h holding) after(e Effect, site int) holding {
	switch e {
	case EffectSet:
		return holding{FactYes, 1 << min(site, 63)}
	case EffectClear:
		return holding{fact: FactNo}
	case EffectUnsure:
		return holding{FactPerhaps, h.by | 1<<min(site, 63)}
	case EffectStop:
		return holding{}
	}
	return h
}

// Holds tells whether a fact that is false when the function begins is true at a
// point of it, and gives the calls that may have made it true last. The call that
// is under way there counts as far as it makes the fact false.
func (f *Flow) Holds(at Point, effect func(Site) Effect) (Fact, []Site) {
	now, ok := f.instAt(at)
	if !ok {
		return FactPerhaps, nil
	}
	effects := f.effects(effect)
	in := f.spread(FactNo, effects)
	b := f.owner[now]
	h := f.through(in[b], f.blocks[b].first, now, effects)
	if s, ok := f.siteOf[now]; ok && !at.Exact && effects[s] != EffectSet {
		h = h.after(effects[s], s)
	}
	var by []Site
	for i := range f.sites {
		if h.by>>min(i, 63)&1 != 0 && effects[i] != EffectNone {
			by = append(by, f.sites[i])
		}
	}
	return h.fact, by
}

func (f *Flow) effects(effect func(Site) Effect) []Effect {
	out := make([]Effect, len(f.sites))
	for i, s := range f.sites {
		out[i] = effect(s)
	}
	return out
}

// spread finds what holds at the begin of each block, if entry holds at the
// function's.
func (f *Flow) spread(entry Fact, effects []Effect) []holding {
	in := make([]holding, len(f.blocks))
	in[0].fact = entry
	work := []int{0}
	for b := range f.blocks {
		if f.blocks[b].lost {
			in[b].fact = FactPerhaps
			work = append(work, b)
		}
	}
	for len(work) > 0 {
		b := work[0]
		work = work[1:]
		out := f.through(in[b], f.blocks[b].first, f.blocks[b].last, effects)
		for _, n := range f.blocks[b].succ {
			if j := in[n].join(out); j != in[n] {
				in[n] = j
				work = append(work, n)
			}
		}
	}
	return in
}

// After tells whether a fact holds when the function returns, if entry tells
// whether it does when the function begins. It is FactUnreached if the function
// does not return then.
func (f *Flow) After(entry Fact, effect func(Site) Effect) Fact {
	effects := f.effects(effect)
	end := holding{}
	for b, h := range f.spread(entry, effects) {
		blk := &f.blocks[b]
		if !f.leaves(blk.last - 1) {
			continue
		}
		end = end.join(f.through(h, blk.first, blk.last, effects))
	}
	return end.fact
}

// leaves tells whether instruction i returns, or jumps out of the function.
func (f *Flow) leaves(i int) bool {
	for k := range f.insts[i].uops {
		switch f.insts[i].uops[k].code {
		case uReturn:
			return true
		case uJump:
			_, out := f.siteOf[i]
			return out
		}
	}
	return false
}

// through is h behind instructions [from, to) of one block.
func (f *Flow) through(h holding, from, to int, effects []Effect) holding {
	if h.fact == FactUnreached {
		return h
	}
	for i := from; i < to; i++ {
		if s, ok := f.siteOf[i]; ok {
			h = h.after(effects[s], s)
		}
	}
	return h
}

// instAt is the instruction at which the function is: the call under way, or the
// next one.
func (f *Flow) instAt(at Point) (int, bool) {
	if at.Exact {
		i, ok := f.index[at.PC]
		return i, ok
	}
	if i, ok := f.index[at.PC]; ok && i > 0 {
		return i - 1, f.insts[i-1].end() == at.PC
	}
	last := len(f.insts) - 1 // a call that does not return may end the function
	return last, f.insts[last].end() == at.PC
}

// SiteAt returns the call that is under way at a point.
func (f *Flow) SiteAt(at Point) (Site, bool) {
	i, ok := f.instAt(at)
	if !ok || at.Exact {
		return Site{}, false
	}
	s, ok := f.siteOf[i]
	if !ok {
		return Site{}, false
	}
	return f.sites[s], true
}

// Value is the value that an expression of the call at site had, such as one of
// its arguments, when the function came through it last on its way to the point at
// which it is now. sure is false if that was read from memory that may have
// changed since.
func (f *Flow) Value(site Site, e *Expr, at Point) (v uint64, sure, ok bool) {
	now, known := f.instAt(at)
	from, isInst := f.index[site.PC]
	if !known || !isInst || f.blocks[f.owner[now]].in == nil {
		return 0, false, false
	}
	q := &question{f: f, at: at, from: from, now: now, sure: true}
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
	from, now int // instructions: where the value was, and where the function is
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
		if s := q.state.regs[r]; s != nil && s.Equal(e) && (q.at.Exact || q.f.x.abi.keep>>r&1 != 0) {
			if v, ok := q.at.Registers.Get(q.f.dwarf(r)); ok {
				return v, true
			}
		}
	}
	for _, c := range q.state.stack {
		if q.at.CFA != 0 && c.size == 8 && c.value.Equal(e) {
			v, err := Env{Mem: q.f.x.cfg.Mem}.word(q.at.CFA-q.f.x.abi.linkBytes+c.off, 8, false)
			return v, err == nil
		}
	}
	return 0, false
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

// next are the instructions that may follow instruction i.
func (f *Flow) next(i int) []int {
	blk := &f.blocks[f.owner[i]]
	if i+1 < blk.last {
		return []int{i + 1}
	}
	var out []int
	for _, s := range blk.succ {
		out = append(out, f.blocks[s].first)
	}
	return out
}

// reach are the instructions that are reached from one in one step at least, not
// through another.
func (f *Flow) reach(from, not int, step func(int) []int) []bool {
	seen := make([]bool, len(f.insts))
	work := step(from)
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		if !seen[n] && n != not {
			seen[n] = true
			work = append(work, step(n)...)
		}
	}
	return seen
}
