package flow

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/symbolic"
)

// Outline is what the instructions of a function tell one by one, without following values.
type Outline struct {
	// Calls are what its calls, and its jumps out, lead to, each once.
	Calls []symbolic.Target
	// Numbers are what may be addresses that it hands to others, each once.
	Numbers []uint64
}

// minAddress is the least number that is taken for an address: nothing is mapped below.
const minAddress = 1 << 12

// Outline returns the outline of the function; not ok if the code does not tell by itself
// where each call leads. It has all calls that Sites has but those of the function itself,
// and the addresses that are arguments there, and takes a fraction of the work.
func (f *Function) Outline() (Outline, bool) {
	// Elsewhere an address may take two instructions.
	if f.Indirect || f.x.Arch != callbacks.ArchX86_64 {
		return Outline{}, false
	}
	var out Outline
	calls, numbers := map[symbolic.Target]bool{}, map[uint64]bool{}
	for i := range f.insts {
		if t, leads := f.branchTarget(i); leads {
			if _, inside := f.index[t.Entry]; inside {
				continue
			}
			if t.Entry == 0 && t.Slot == 0 {
				return Outline{}, false
			}
			if !calls[t] {
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
	return out, true
}

// note adds the numbers of a micro-operation that may be addresses.
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
