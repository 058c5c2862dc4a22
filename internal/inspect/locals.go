package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
)

// localName names the data at addr by the local variable of the frame that it lies
// in: "lk in transfer". It is empty if addr is in no frame, or debug information
// does not tell.
func (d *dataNames) localName(addr uint64) string {
	if name, ok := d.locals[addr]; ok {
		return name
	}
	name := d.findLocal(addr)
	d.locals[addr] = name
	return name
}

func (d *dataNames) findLocal(addr uint64) string {
	for _, n := range d.roster.sorted() {
		regs := d.roster.registers(n)
		if regs == nil {
			continue
		}
		st, low := d.stacks.stackOf(n), regs.SP()
		for i, f := range st.frames {
			if addr < low || f.CFA <= low {
				break // frames lie above each other
			}
			if low = f.CFA; addr >= low {
				continue
			}
			if st.kinds[i] != kindUser {
				return ""
			}
			at := symbolize.Activation{PC: f.LookupPC(), CFA: f.CFA, Register: f.Registers.Get}
			if name, function, ok := d.code.sym.Local(at, addr); ok {
				return name + " in " + function
			}
			return ""
		}
	}
	return ""
}
