package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// CallsLoaded reports whether the function calls a pointer that it has just loaded through another pointer, as a
// virtual call does, on all paths to the call. Values, if followed, do not show the callee either. A function that
// compares such a pointer with a known function before the call, as GCC's code of std::endl does, reads the address of
// that function, too. It returns false where instructions alone do not show the origin of the pointer.
func (f *Function) CallsLoaded() bool {
	if !f.asked {
		f.asked = true
		_ = f.ensureDecoded()
		for i := range f.insts {
			for _, u := range f.insts[i].Uops {
				if u.Code == lift.UopCall && u.A.IsReg() && u.A.Reg < f.x.ABI.General && f.isLoaded(i, u.A.Reg) {
					f.loaded = true
					return true
				}
			}
		}
	}
	return f.loaded
}

// isLoaded reports whether, on all paths to instruction i, a load through a pointer was the last write to a register.
func (f *Function) isLoaded(i int, r lift.Register) bool {
	seen, work := make([]bool, len(f.blocks)), []int{}
	b, pred, some := f.owner[i], f.predecessors(), false
	for k := i - 1; ; k-- {
		for ; k >= f.blocks[b].first; k-- {
			if f.insts[k].opaque || f.calls(k) && !f.x.ABI.Keeps(r) {
				return false
			}
			if f.writes(k, r) {
				break
			}
		}
		switch {
		case k >= f.blocks[b].first && !f.loadsThrough(k, r):
			return false
		case k >= f.blocks[b].first:
			some = true
		case b == 0 || f.blocks[b].unreached:
			return false
		default:
			for _, p := range pred[b] {
				if !seen[p] {
					seen[p], work = true, append(work, p)
				}
			}
		}
		if len(work) == 0 {
			return some
		}
		b, work = work[len(work)-1], work[:len(work)-1]
		k = f.blocks[b].last
	}
}

// calls reports whether instruction i is a call.
func (f *Function) calls(i int) bool {
	return slices.ContainsFunc(f.insts[i].Uops, func(u lift.Uop) bool { return u.Code == lift.UopCall })
}

// writes reports whether instruction i may write a register.
func (f *Function) writes(i int, r lift.Register) bool {
	return slices.ContainsFunc(f.insts[i].Uops, func(u lift.Uop) bool {
		return u.SetsRegister() && u.Dst == r
	})
}

// loadsThrough reports whether instruction i only loads a register from memory that another register points to, which
// is not in the frame.
func (f *Function) loadsThrough(i int, r lift.Register) bool {
	const framePointer = 6 // DWARF number on x86-64
	var base, from lift.Register
	loads := false
	for _, u := range f.insts[i].Uops {
		switch {
		case u.Code == lift.UopAddress && !loads && u.A.IsReg() && !u.TLS:
			base, from = u.A.Reg, u.Dst
		case u.Code == lift.UopLoad && !loads && u.Size == 8 && u.A.Reg == from:
			loads, from = true, u.Dst
		case u.Code == lift.UopSet && loads && u.Size == 8 && u.A.Reg == from:
			from = u.Dst
		default:
			return false
		}
	}
	return loads && from == r && base < f.x.ABI.General && base != f.x.ABI.SP &&
		f.x.ABI.DWARFNumber(base) != framePointer
}
