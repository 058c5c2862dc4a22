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
	f.follow()
	now, ok := f.instAt(at)
	if !ok {
		return FactPerhaps, nil
	}
	effects := f.effects(effect)
	in := f.spread(FactNo, effects)
	b := f.owner[now]
	h := f.through(in[b], f.blocks[b].first, now, effects)
	if s, ok := f.siteOf[now]; ok && !at.Exact {
		if e := effect(f.underWay(s)); e != EffectSet {
			h = h.after(e, s)
		}
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
	f.follow()
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
	f.follow()
	i, ok := f.instAt(at)
	if !ok || at.Exact {
		return Site{}, false
	}
	s, ok := f.siteOf[i]
	if !ok {
		return Site{}, false
	}
	return f.underWay(s), true
}

// underWay is site s as the call that has not returned.
func (f *Flow) underWay(s int) Site {
	out := f.sites[s]
	out.UnderWay = true
	return out
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
