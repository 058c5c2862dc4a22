package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Outline contains the facts about a function that single instructions show, without following values.
type Outline struct {
	// Calls are the targets of its calls and of its jumps out, each once.
	Calls []symbolic.Target
	// Numbers are the possible addresses that it may pass to others, each once.
	Numbers []uint64
	// ByMemory are the addresses of calls through pointers in memory that are found by a register. ByRegister is
	// set if another call has its target in a register. Calls does not include these.
	ByMemory   []uint64
	ByRegister bool
}

// minAddress is the lowest number considered an address: no memory is mapped below it.
const minAddress = 1 << 12

// Outline returns the outline of the function; not ok for instruction sets without support. Calls contains all
// calls in Sites except recursive ones, and Numbers contains the addresses in their arguments. It takes a
// fraction of the work and is cached.
func (f *Function) Outline() (*Outline, bool) {
	// On other instruction sets, loading an address may take two instructions.
	if f.x.Arch != callbacks.ArchX86_64 {
		return nil, false
	}
	if f.outline == nil {
		f.outline = f.findOutline()
	}
	return f.outline, true
}

func (f *Function) findOutline() *Outline {
	out := &Outline{}
	calls, numbers := map[symbolic.Target]bool{}, map[uint64]bool{}
	for i := range f.insts {
		if t, leads := f.branchTarget(i); leads {
			if f.isInside(t.Entry) {
				continue
			}
			switch {
			case t.Entry == 0 && t.Slot == 0:
				out.noteUnknown(&f.insts[i])
			case !calls[t]:
				calls[t] = true
				named := t
				named.Name = f.x.Stub(t)
				out.Calls = append(out.Calls, named)
			}
			continue
		}
		for k := range f.insts[i].Uops {
			out.note(&f.insts[i].Uops[k], numbers)
		}
	}
	return out
}

// noteUnknown adds a call or jump without a known target. Jumps through tables do not leave the function.
func (o *Outline) noteUnknown(in *inst) {
	for k := range in.Uops {
		switch u := &in.Uops[k]; {
		case u.Code == lift.UopCall && u.A.Reg >= lift.Temp0:
			o.ByMemory = append(o.ByMemory, in.pc)
			return
		case u.Code == lift.UopCall || u.Code == lift.UopJump:
			o.ByRegister = true
			return
		}
	}
}

// MayCallNamed reports whether the function may call a function with one of some names: by a single instruction,
// or by the values in the function.
func (f *Function) MayCallNamed(named func(name string) bool) bool {
	o, ok := f.Outline()
	if !ok {
		return f.MayCall(named)
	}
	if slices.ContainsFunc(o.Calls, func(t symbolic.Target) bool { return named(t.Name) }) {
		return true
	}
	return o.ByRegister && f.x.Names(o.Numbers, named)
}

// CallsByMemoryAfter reports whether the function may still make a call through a pointer in memory after a
// point, not counting the unfinished call. It does not follow values.
func (f *Function) CallsByMemoryAfter(at Point) bool {
	o, ok := f.Outline()
	if !ok || len(o.ByMemory) == 0 {
		return false
	}
	now, ok := f.indexAt(at)
	if !ok || f.returnsTwice {
		return true
	}
	seen := f.reachAfter(now)
	for _, pc := range o.ByMemory {
		if i, _ := f.instAt(pc); seen.contains(i) || at.Exact && i == now {
			return true
		}
	}
	return false
}

// note adds the operands of a micro-operation that may be addresses.
func (o *Outline) note(u *lift.Uop, seen map[uint64]bool) {
	if u.Code == lift.UopBranch {
		return
	}
	add := func(v uint64) {
		if v >= minAddress && !seen[v] {
			seen[v] = true
			o.Numbers = append(o.Numbers, v)
		}
	}
	switch {
	case u.Code == lift.UopAddress && !u.A.IsReg():
		add(u.A.Val + u.Disp)
	case u.Code == lift.UopAddress:
		add(u.Disp)
	case !u.A.IsReg():
		add(u.A.Val)
	}
	if !u.B.IsReg() {
		add(u.B.Val)
	}
}
