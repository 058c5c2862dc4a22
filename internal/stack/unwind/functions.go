package unwind

import "github.com/ompd-inspect/ompd-inspect/callbacks"

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
