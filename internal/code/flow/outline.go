package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Outline contains the facts about a function that single instructions show, without following values.
type Outline struct {
	// Calls are the targets of its calls and of its jumps out, each once.
	Calls []symbolic.Target
	// Jumps are the addresses outside of the function to which single instructions jump or branch, each once.
	Jumps []uint64
	// Numbers are the possible addresses that it may pass to others, each once.
	Numbers []uint64
	// ByMemory are the addresses of calls through pointers in memory that are found by a register. ByRegister is
	// set if another call has its target in a register. Calls does not include these.
	ByMemory   []uint64
	ByRegister bool
}

// minAddress is the lowest number considered an address: no memory is mapped below it.
const minAddress = 1 << 12

// Outline returns the outline of the function; not ok for instruction sets without support, and for code with
// unusual instructions. Calls contains all calls in Sites except recursive ones, and Numbers contains the addresses
// in their arguments. It takes a fraction of the work of decoding.
func (f *Function) Outline() (*Outline, bool) { return f.outline, f.outline != nil }

// findOutline finds the outline of code, without decoding it. indirect is the value of Function.Indirect. It is not ok
// if the code may have to be decoded for that.
func findOutline(x *symbolic.Reader, code []piece) (out *Outline, indirect, ok bool) {
	if !arch.HasBriefs(x.Arch) { // loading an address may take two instructions
		return nil, false, false
	}
	out = &Outline{}
	starts := make([][]bool, len(code)) // by piece and byte: an instruction starts there
	numbers := map[uint64]bool{}
	var leaving []arch.Brief
	for i, p := range code {
		starts[i] = make([]bool, len(p.code))
		for off := 0; off < len(p.code); {
			pc := p.low + uint64(off)
			in, known := arch.BriefOf(x.Arch, p.code[off:], pc)
			if !known {
				return nil, false, false
			}
			starts[i][off] = true
			off += in.Length
			switch {
			case in.Leads == arch.LeadsOn:
				out.note(in.Address, numbers)
				out.note(in.Number, numbers)
			case in.By == arch.LedByNumber || in.By == arch.LedBySlot:
				leaving = append(leaving, in)
			case in.Leads == arch.LeadsCall && in.By == arch.LedByMemory:
				out.ByMemory = append(out.ByMemory, pc)
			default: // jumps through tables do not leave the function
				out.ByRegister = true
				indirect = indirect || in.Leads == arch.LeadsJump
			}
		}
	}
	inside := func(pc uint64) bool {
		for i, p := range code {
			if off := pc - p.low; off < uint64(len(starts[i])) && starts[i][off] {
				return true
			}
		}
		return false
	}
	return out, out.addCalls(x, leaving, inside) || indirect, true
}

// addCalls adds the targets of some instructions, except those at an instruction of the function itself. It
// reports whether one calls a function that returns twice.
func (o *Outline) addCalls(x *symbolic.Reader, leaving []arch.Brief, inside func(pc uint64) bool) (twice bool) {
	names := map[symbolic.Target]string{}
	for _, in := range leaving {
		if in.By == arch.LedByNumber && inside(in.Target) { // most branches
			continue
		}
		to := symbolic.Global(in.Target)
		if in.By == arch.LedBySlot {
			to = symbolic.Load(to, 8, false)
		}
		t := x.Target(to)
		if inside(t.Entry) {
			continue
		}
		if in.Leads != arch.LeadsCall && t.Entry != 0 && !slices.Contains(o.Jumps, t.Entry) {
			o.Jumps = append(o.Jumps, t.Entry)
		}
		name, seen := names[t]
		if !seen {
			name = x.Stub(t)
			names[t] = name
			named := t
			named.Name = name
			o.Calls = append(o.Calls, named)
		}
		twice = twice || in.Leads == arch.LeadsCall && in.By == arch.LedByNumber && symbolic.ReturnsTwice(name)
	}
	return twice
}

// note adds a number that may be an address.
func (o *Outline) note(v uint64, seen map[uint64]bool) {
	if v >= minAddress && !seen[v] {
		seen[v] = true
		o.Numbers = append(o.Numbers, v)
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
	_ = f.ensureDecoded()
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
