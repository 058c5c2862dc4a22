package unwind

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// StartsInFrame reports whether the code that the unwind tables describe from low on starts with a part of a frame on
// the stack: it is not a function, but a part of one that was put elsewhere. Other code may be such a part, too.
func (u *Unwinder) StartsInFrame(low uint64) bool {
	m := u.moduleAt(low)
	if m == nil {
		return false
	}
	f, _, err := m.findFDE(low - m.Bias)
	if err != nil || f.low != low-m.Bias {
		return false
	}
	first, err := f.makeRow(f.low, u.arch)
	if err != nil || first.signal {
		return false
	}
	last, err := f.makeRow(f.high-1, u.arch)
	p := program{cie: f.cie, b: f.cie.insts} // up to the start of any function
	if err != nil || p.run(^uint64(0)) != nil || p.state.cfa.kind != ruleRegister {
		return false
	}
	if first.cfa.kind == ruleRegister && last.cfa.kind != ruleRegister { // a procedure linkage table
		return false
	}
	is, was := first.cfa, p.state.cfa
	return is.kind != was.kind || is.reg != was.reg || is.offset != was.offset
}

// Functions returns the functions, and parts of functions, that the unwind tables of a module
// describe, as [low, high) in the target, by address. It reads the whole table.
func (u *Unwinder) Functions(mod *callbacks.Module) [][2]uint64 {
	for _, m := range u.mods {
		if m.Module != mod {
			continue
		}
		m.load.Do(m.open)
		if m.eh == nil {
			return nil
		}
		m.eh.readAll()
		all := make([][2]uint64, 0, len(m.eh.scanned))
		for _, s := range m.eh.scanned {
			all = append(all, [2]uint64{s.low + m.Bias, s.high + m.Bias})
		}
		return all
	}
	return nil
}
