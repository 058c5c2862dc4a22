package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// DirectCalls calls yield for each call with a target that the instruction itself shows, but for no jump. Values are
// not followed.
func (f *Function) DirectCalls(yield func(pc uint64, t symbolic.Target)) {
	_ = f.ensureDecoded()
	for i := range f.insts {
		if !slices.ContainsFunc(f.insts[i].Uops, isCall) {
			continue
		}
		t, leads := f.branchTarget(i)
		if !leads || f.isInside(t.Entry) || t.Entry == 0 && t.Slot == 0 {
			continue
		}
		t.Name = f.x.Stub(t)
		yield(f.insts[i].pc, t)
	}
}

// CallsThroughPointers yields the calls with a callee that the instruction does not show.
func (f *Function) CallsThroughPointers(yield func(pc uint64)) {
	_ = f.ensureDecoded()
	for i := range f.insts {
		if !slices.ContainsFunc(f.insts[i].Uops, isCall) {
			continue
		}
		if t, leads := f.branchTarget(i); leads && t.Entry == 0 && t.Name == "" {
			yield(f.insts[i].pc)
		}
	}
}

// TargetsAfter returns the targets of the calls that the function may still make after a point, and of its jumps out,
// as far as instructions show them. The target of the unfinished call at the point is separate, and empty if there is
// none. Values are not followed. It is not ok if all calls of the function may be made after the point: if it calls
// itself or setjmp there, or if its code is unreadable.
func (f *Function) TargetsAfter(at Point) (after []symbolic.Target, unfinished symbolic.Target, ok bool) {
	if f.ensureDecoded() != nil {
		return nil, symbolic.Target{}, false
	}
	now, ok := f.indexAt(at)
	if !ok || f.returnsTwice {
		return nil, symbolic.Target{}, false
	}
	seen := f.reachAfter(now)
	for i := range f.insts {
		isAfter := seen.contains(i) || at.Exact && i == now
		if !isAfter && i != now {
			continue
		}
		t, leads := f.branchTarget(i)
		switch {
		case !leads || t.Entry == 0 && t.Slot == 0:
			continue
		case f.isInside(t.Entry):
			if isAfter && slices.ContainsFunc(f.insts[i].Uops, isCall) {
				return nil, symbolic.Target{}, false
			}
			continue
		}
		t.Name = f.x.Stub(t)
		if isAfter {
			after = append(after, t)
		}
		if i == now && !at.Exact {
			unfinished = t
		}
	}
	return after, unfinished, true
}

// isCall reports whether a micro-operation calls a function.
func isCall(u lift.Uop) bool { return u.Code == lift.UopCall }

// FirstCall returns the first call or jump out of the function in the straight code from pc on; not ok if that code
// branches first, or has none.
func (f *Function) FirstCall(pc uint64) (t symbolic.Target, ok bool) {
	_ = f.ensureDecoded()
	i, ok := f.instAt(pc)
	for n := 0; ok && i < len(f.insts) && n < len(f.insts); n++ {
		t, leads := f.branchTarget(i)
		to, inside := f.instAt(t.Entry)
		switch {
		case !leads:
			i++
		case inside && !f.isBranch(i):
			i = to
		case inside, t.Entry == 0 && t.Slot == 0:
			return symbolic.Target{}, false
		default:
			t.Name = f.x.Stub(t)
			return t, true
		}
	}
	return symbolic.Target{}, false
}
