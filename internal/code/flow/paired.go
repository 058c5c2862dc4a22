package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// End is a call that ends the effect of another call on a value.
type End struct {
	Site  int // index of the call
	Value *symbolic.Expr
}

// EndsBefore reports whether each path from the call at from to the point comes to one of some calls on the same value,
// before an unknown value in e is computed again: e then has the same value at both calls, unless memory that it is
// read from has changed. The value at such a call is e, or that of a register that has contained e since the call at
// from: paths on which other values were computed may join between the calls.
func (f *Function) EndsBefore(from CallSite, e *symbolic.Expr, ends []End, at Point) bool {
	f.ensureSolved()
	now, ok := f.indexAt(at)
	first, isInst := f.instAt(from.PC)
	if !ok || !isInst || len(ends) == 0 || e.Nameless() || f.spend(len(f.insts)) != nil {
		return false
	}
	after, ok := f.next(first)
	if !ok {
		return false
	}
	again := map[int]bool{now: true, first: true}
	for _, part := range e.Leaves() {
		if part.Kind == symbolic.KindUnknown {
			if i, ok := f.instAt(f.names[part.Val-1].pc); ok {
				again[i] = true
			}
		}
	}
	type visit struct {
		from int
		kept uint64 // the registers that contain e on each path, as a set of bits
	}
	seen := map[int]uint64{}
	work := []visit{{after, f.containing(after, e)}}
	for len(work) > 0 {
		i, kept := work[len(work)-1].from, work[len(work)-1].kept
		work = work[:len(work)-1]
		b := &f.blocks[f.owner[i]]
		for ended := false; !ended; i++ {
			if i >= b.last {
				for _, n := range b.succ {
					start := f.blocks[n].first
					if before, again := seen[start]; !again || before&^kept != 0 {
						seen[start] = kept
						if again {
							seen[start] &= before
						}
						work = append(work, visit{start, seen[start]})
					}
				}
				break
			}
			if again[i] {
				return false
			}
			s, call := f.siteOf[i]
			ended = call && slices.ContainsFunc(ends, func(end End) bool {
				return end.Site == s && (e.Equal(end.Value) || f.containing(i, end.Value)&kept != 0)
			})
			kept &^= f.written(i)
		}
	}
	return true
}

// containing returns the registers that contain a value before instruction i, as a set of bits.
func (f *Function) containing(i int, e *symbolic.Expr) (set uint64) {
	if f.blocks[f.owner[i]].in == nil {
		return 0
	}
	s := f.stateAt(i)
	for r := range f.x.ABI.General {
		if r != f.x.ABI.SP && s.Regs[r].Equal(e) {
			set |= 1 << r
		}
	}
	return set
}

// written returns the registers that instruction i may write, as a set of bits.
func (f *Function) written(i int) (set uint64) {
	if f.insts[i].opaque {
		return ^uint64(0)
	}
	if f.calls(i) {
		set = ^f.x.ABI.Keep
	}
	for r := range f.x.ABI.General {
		if f.writes(i, r) {
			set |= 1 << r
		}
	}
	return set
}

// maxOpen bounds the number of calls that an innermost count has open at once.
const maxOpen = 8

// EndsInnermost reports whether each path from the call at from ends the effect of that call before the point, or if
// that is nil, before a return of the function. effects are those of the calls, by index; a call that ends an effect
// ends the innermost one, as calls in brackets do.
func (f *Function) EndsInnermost(from CallSite, effects []Effect, before *Point) bool {
	f.ensureSolved()
	now := -1
	if before != nil {
		at, ok := f.indexAt(*before)
		if !ok {
			return false
		}
		now = at
	}
	call, ok := f.instAt(from.PC)
	if !ok || f.Indirect || effects[from.Index] != Sets || f.spend(len(f.insts)) != nil {
		return false
	}
	first, ok := f.next(call)
	if !ok {
		return false
	}
	type visit struct{ inst, open int }
	seen := map[visit]bool{}
	work := []visit{{first, 1}}
	for len(work) > 0 {
		i, open := work[len(work)-1].inst, work[len(work)-1].open
		work = work[:len(work)-1]
		in := f.owner[i]
		b := &f.blocks[in]
		for ; i < b.last && open > 0; i++ {
			if i == now {
				return false
			}
			s, ok := f.siteOf[i]
			if !ok {
				continue
			}
			switch e := effects[s]; {
			case e == NoEffect:
			case e == NoReturn:
				open = 0
			case f.isBranch(i) || open == maxOpen: // a conditional call, or a loop of calls
				return false
			case e == Sets:
				open++
			case e == Clears:
				open--
			default:
				return false
			}
		}
		if open == 0 {
			continue
		}
		if before == nil && f.isExit(b.last-1) {
			return false
		}
		for _, n := range b.succ {
			if v := (visit{f.blocks[n].first, open}); !f.never[edge{in, n}] && !seen[v] {
				seen[v] = true
				work = append(work, v)
			}
		}
	}
	return true
}
