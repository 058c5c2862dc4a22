package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// Effect is the effect of a call on a fact, such as "this function has taken lock L and not released it".
type Effect uint8

// The effects of calls.
const (
	NoEffect Effect = iota
	Sets            // makes the fact true when the call returns
	Clears          // makes the fact false when the call is made
	MaySet          // makes it true, or has no effect
	MayClear        // makes it false, or has no effect
	Unsure          // may do either
	NoReturn        // does not return
)

// MaySets reports whether a call may make the fact true.
func (e Effect) MaySets() bool { return e == Sets || e == MaySet || e == Unsure }

// MayClears reports whether a call may make the fact false.
func (e Effect) MayClears() bool { return e == Clears || e == MayClear || e == Unsure }

// Join returns the effect of a call with both effects, in unknown order.
func (e Effect) Join(o Effect) Effect {
	switch {
	case e == o || o == NoEffect:
		return e
	case e == NoEffect:
		return o
	case e == NoReturn || o == NoReturn:
		return NoReturn
	case !e.MayClears() && !o.MayClears():
		return Sets
	case !e.MaySets() && !o.MaySets():
		return Clears
	}
	return Unsure
}

// Perhaps returns the effect of a call that may or may not have effect e.
func (e Effect) Perhaps() Effect {
	switch e {
	case Sets:
		return MaySet
	case Clears:
		return MayClear
	}
	return e
}

// Truth is the truth of a fact at a point of a function.
type Truth uint8

// The truth of facts.
const (
	Unreached Truth = iota // no path to the point is known
	No                     // on no path to it
	Yes                    // on all paths to it
	Maybe                  // on some, or unknown
)

// Point is the current position of a function in a frame of a stack.
type Point struct {
	// PC is the next instruction if Exact is set, otherwise the address after the unfinished call.
	PC    uint64
	Exact bool
	// CFA is the value of the stack pointer before the function was called.
	CFA uint64
	// Registers are the registers of the frame, by DWARF number. Only registers known to be unchanged are valid.
	Registers *callbacks.Registers
	// Arg returns integer argument n that the function was called with, from another source. It may be nil.
	Arg func(n int) (uint64, bool)
}

// fact is the truth of a fact and the calls that may have made it true.
type fact struct {
	truth Truth
	by    uint64 // bit n: site n; the last bit stands for all others
}

func (h fact) join(o fact) fact {
	switch {
	case h.truth == Unreached:
		return o
	case o.truth != Unreached && h.truth != o.truth:
		h.truth = Maybe
	}
	h.by |= o.by
	return h
}

func (h fact) apply(e Effect, site int) fact {
	if h.truth == Unreached {
		return h
	}
	switch e {
	case Sets:
		return fact{Yes, 1 << min(site, 63)}
	case Clears:
		return fact{truth: No}
	case Unsure:
		return fact{Maybe, h.by | 1<<min(site, 63)}
	case MaySet:
		return h.join(fact{Yes, 1 << min(site, 63)})
	case MayClear:
		return h.join(fact{truth: No})
	case NoReturn:
		return fact{}
	}
	return h
}

// Holds reports whether a fact that is false at the entry is true at a point, and returns the calls that may
// have made it true last. The unfinished call there counts only if it makes the fact false.
func (f *Function) Holds(at Point, effect func(CallSite) Effect) (Truth, []CallSite) {
	effects, now := f.effects(effect), NoEffect
	if s, ok := f.SiteAt(at); ok {
		now = effect(s)
	}
	return f.HoldsBy(at, effects, nil, now)
}

// HoldsBy is Holds with the effects of calls by index and a separate effect of the unfinished call. tries contains
// the results for which a call that may make the fact true has made it true, also by index; it may be nil.
func (f *Function) HoldsBy(at Point, effects []Effect, tries []Guard, underWay Effect) (Truth, []CallSite) {
	effects, edges := f.tried(effects, tries, Sets)
	return f.holds(at, facts{entry: No, effects: effects, edges: edges}, underWay)
}

// StillHolds reports whether a fact that is true at the entry is true at a point. The effects are those of
// HoldsBy.
func (f *Function) StillHolds(at Point, effects []Effect, underWay Effect) Truth {
	truth, _ := f.holds(at, facts{entry: Yes, effects: effects}, underWay)
	return truth
}

// facts is the input of propagate: the start and the effects on a fact.
type facts struct {
	start   int             // the block where the truth is given; 0 is the entry
	entry   Truth           // the truth there
	by      uint64          // calls that may have made it true, as in a fact
	effects []Effect        // of calls, by index
	edges   map[edge]change // effects of edges
	all     bool            // edges that branches never take count too
	normal  bool            // blocks without a known predecessor do not count
	entered []bool          // of these blocks, only those count that are marked here; nil for all
}

// may reports whether a call may have made the fact true.
func (fs *facts) may(site int) bool {
	if fs.effects[site].MaySets() {
		return true
	}
	for _, c := range fs.edges {
		if c.site == site {
			return true
		}
	}
	return false
}

func (f *Function) holds(at Point, fs facts, underWay Effect) (Truth, []CallSite) {
	f.ensureSolved()
	now, ok := f.indexAt(at)
	if !ok || f.spend(len(f.insts)) != nil {
		return Maybe, nil
	}
	in := f.propagate(fs)
	b := f.owner[now]
	if in[b].truth == Unreached && len(f.never) > 0 {
		fs.all = true // the point was reached, whatever the branch conditions are
		in = f.propagate(fs)
	}
	h := f.transfer(in[b], f.blocks[b].first, now, fs.effects)
	if s, ok := f.siteOf[now]; ok && !at.Exact && underWay != Sets {
		h = h.apply(underWay, s)
	}
	var by []CallSite
	for i := range f.sites {
		if h.by>>min(i, 63)&1 != 0 && fs.may(i) {
			by = append(by, f.sites[i])
		}
	}
	return h.truth, by
}

func (f *Function) effects(effect func(CallSite) Effect) []Effect {
	f.ensureSolved()
	out := make([]Effect, len(f.sites))
	for i, s := range f.sites {
		out[i] = effect(s)
	}
	return out
}

// propagate finds the truth at the start of each block that can be reached from the start block.
func (f *Function) propagate(fs facts) []fact {
	in := make([]fact, len(f.blocks))
	in[fs.start] = fact{fs.entry, fs.by}
	work := []int{fs.start}
	for b := range f.blocks {
		if f.blocks[b].unreached && !fs.normal && (fs.entered == nil || fs.entered[b]) {
			in[b].truth = Maybe
			work = append(work, b)
		}
	}
	for len(work) > 0 {
		b := work[0]
		work = work[1:]
		out := f.transfer(in[b], f.blocks[b].first, f.blocks[b].last, fs.effects)
		for _, n := range f.blocks[b].succ {
			way := out
			if f.never[edge{b, n}] && !fs.all {
				continue
			}
			if c := fs.edges[edge{b, n}]; way.truth != Unreached {
				way = way.apply(c.effect, c.site)
			}
			if j := in[n].join(way); j != in[n] {
				in[n] = j
				work = append(work, n)
			}
		}
	}
	return in
}

// AtReturn returns whether a fact holds when the function returns, given its truth at the entry and the effects of
// calls by their index. tries contains the results for which a call has the effect success, also by index; it may be
// nil. The result is Unreached if the function does not return.
func (f *Function) AtReturn(entry Truth, effects []Effect, tries []Guard, success Effect) Truth {
	effects, edges := f.tried(effects, tries, success)
	fs := facts{entry: entry, effects: effects, edges: edges}
	f.ensureSolved()
	if f.spend(len(f.insts)) != nil {
		return Maybe
	}
	if f.pad != nil && f.hasUnreached() {
		fs.entered, _ = f.enteredBlocks()
	}
	end := fact{}
	for b, h := range f.propagate(fs) {
		blk := &f.blocks[b]
		if !f.isExit(blk.last - 1) {
			continue
		}
		h = f.transfer(h, blk.first, blk.last, effects)
		if s, out := f.siteOf[blk.last-1]; out && f.isBranch(blk.last-1) {
			h = h.apply(effects[s], s)
		}
		end = end.join(h)
	}
	return end.truth
}

// isExit reports whether instruction i returns, or jumps or may branch out of the function.
func (f *Function) isExit(i int) bool {
	for k := range f.insts[i].Uops {
		switch f.insts[i].Uops[k].Code {
		case lift.UopReturn:
			return true
		case lift.UopJump, lift.UopBranch:
			_, out := f.siteOf[i]
			return out
		}
	}
	return false
}

// NeverReturns reports whether all paths through a function lead to the end of the program or loop forever. elsewhere
// lists the code outside the function that exceptions enter: the answer holds only if that code does not return either.
func NeverReturns(f *Function) (never bool, elsewhere []uint64) {
	f.ensureSolved()
	if f.spend(len(f.insts)) != nil || f.Indirect {
		return false, nil
	}
	entered, elsewhere := f.enteredBlocks()
	for b, ok := range entered {
		if ok && f.isExit(f.blocks[b].last-1) {
			return false, nil
		}
	}
	return true, elsewhere
}

// enteredBlocks marks the blocks that are reached from the entry, also by exceptions out of the calls on the way.
// elsewhere lists the code outside the function that such exceptions enter. If it is not known where an exception
// enters, all blocks without a predecessor count. A part that the compiler put apart has several entries: from one
// entry, much of it is not reached.
func (f *Function) enteredBlocks() (entered []bool, elsewhere []uint64) {
	entered = make([]bool, len(f.blocks))
	work := []int{0}
	for b := range f.blocks {
		if f.pad == nil && f.blocks[b].unreached {
			work = append(work, b)
		}
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if entered[b] {
			continue
		}
		entered[b] = true
		work = append(work, f.blocks[b].succ...)
		for i := f.blocks[b].first; i < f.blocks[b].last && f.pad != nil; i++ {
			if !slices.ContainsFunc(f.insts[i].Uops, isCall) {
				continue
			}
			to := f.pad(f.insts[i].pc)
			if n, inside := f.instAt(to); inside {
				work = append(work, f.owner[n])
			} else if to != 0 {
				elsewhere = append(elsewhere, to)
			}
		}
	}
	return entered, elsewhere
}

// hasUnreached reports whether no path from the entry reaches some block.
func (f *Function) hasUnreached() bool {
	return slices.ContainsFunc(f.blocks, func(b block) bool { return b.unreached })
}

// isBranch reports whether instruction i is a conditional branch. Such a branch may leave the function: GCC
// moves unlikely code to a separate part.
func (f *Function) isBranch(i int) bool {
	return slices.ContainsFunc(f.insts[i].Uops, func(u lift.Uop) bool { return u.Code == lift.UopBranch })
}

// transfer returns h after instructions [from, to) of one block, if no branch out of the function was taken.
func (f *Function) transfer(h fact, from, to int, effects []Effect) fact {
	for i := from; i < to && h.truth != Unreached; i++ {
		if s, ok := f.siteOf[i]; ok && !f.isBranch(i) {
			h = h.apply(effects[s], s)
		}
	}
	return h
}

// indexAt returns the current instruction of the function: the unfinished call, or the next instruction.
func (g *graph) indexAt(at Point) (int, bool) {
	if at.Exact {
		i, ok := g.instAt(at.PC)
		return i, ok
	}
	return g.endingAt(at.PC)
}

// SiteAt returns the unfinished call at a point.
func (f *Function) SiteAt(at Point) (CallSite, bool) {
	f.ensureSolved()
	i, ok := f.indexAt(at)
	if !ok || at.Exact {
		return CallSite{}, false
	}
	s, ok := f.siteOf[i]
	if !ok {
		return CallSite{}, false
	}
	return f.callUnderWay(s), true
}

// callUnderWay returns site s as the unfinished call.
func (f *Function) callUnderWay(s int) CallSite {
	out := f.sites[s]
	out.UnderWay = true
	return out
}
