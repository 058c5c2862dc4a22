package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/lift"
)

// Departure is where a function goes on, by a branch, without making a fact false any more
// that a call made true: behind it, no path comes to a call that does before the function
// returns or makes the fact true again, while behind the branch's other side one does.
type Departure struct {
	Branch uint64 // the branch instruction
	Target uint64 // where it goes on, if that is one more jump, which nothing else leads to; else 0
}

// Departures lists where the function departs while a fact is true that calls make true
// and false, as effects tell by their index.
func (f *Function) Departures(effects []Effect) []Departure {
	f.ensureSolved()
	if f.spend(len(f.insts)) != nil || f.Indirect {
		return nil
	}
	in, closes := f.propagate(facts{entry: No, effects: effects}), f.closes(effects)
	entries := make([]int, len(f.blocks))
	for b := range f.blocks {
		for _, s := range f.blocks[b].succ {
			entries[s]++
		}
	}
	var out []Departure
	for b := range f.blocks {
		blk := &f.blocks[b]
		held := f.transfer(in[b], blk.first, blk.last, effects)
		if held.by == 0 || !slices.ContainsFunc(blk.succ, func(s int) bool { return closes[s] }) {
			continue
		}
		for _, s := range blk.succ {
			if closes[s] {
				continue
			}
			d := Departure{Branch: f.insts[blk.last-1].pc}
			if entries[s] == 1 && f.endsInJump(s) {
				d.Target = f.insts[f.blocks[s].first].pc
			}
			out = append(out, d)
		}
	}
	return out
}

// endsInJump reports whether block b ends in a jump, as the code of continue, goto and return.
func (f *Function) endsInJump(b int) bool {
	return slices.ContainsFunc(f.insts[f.blocks[b].last-1].Uops, func(u lift.Uop) bool { return u.Code == lift.UopJump })
}

// closes reports of each block whether some path from its start comes to a call that may
// make a fact false, or does not return at all, before one that makes it true.
func (f *Function) closes(effects []Effect) []bool {
	out := make([]bool, len(f.blocks))
	own := make([]Effect, len(f.blocks)) // of the first call that has one
	for b := range f.blocks {
		blk := &f.blocks[b]
		for i := blk.first; i < blk.last && own[b] == NoEffect; i++ {
			if s, ok := f.siteOf[i]; ok && !f.isBranch(i) {
				own[b] = effects[s]
			}
		}
		ends := len(blk.succ) == 0 && !f.isExit(blk.last-1)
		if s, ok := f.siteOf[blk.last-1]; ok && f.isBranch(blk.last-1) {
			ends = ends || effects[s] != NoEffect && effects[s] != Sets
		}
		out[b] = own[b] != Sets && (own[b] != NoEffect || ends)
	}
	for changed := true; changed; {
		changed = false
		for b := range f.blocks {
			if out[b] || own[b] != NoEffect {
				continue
			}
			if slices.ContainsFunc(f.blocks[b].succ, func(s int) bool { return out[s] }) {
				out[b], changed = true, true
			}
		}
	}
	return out
}

// TrueAt reports of each call, by its index, whether a fact may be true when it is made.
func (f *Function) TrueAt(effects []Effect) []bool {
	f.ensureSolved()
	out := make([]bool, len(f.sites))
	if f.spend(len(f.insts)) != nil {
		return out
	}
	in := f.propagate(facts{entry: No, effects: effects})
	for b := range f.blocks {
		h := in[b]
		for i := f.blocks[b].first; i < f.blocks[b].last; i++ {
			if s, ok := f.siteOf[i]; ok {
				out[s] = h.by != 0
				h = h.apply(effects[s], s)
			}
		}
	}
	return out
}
