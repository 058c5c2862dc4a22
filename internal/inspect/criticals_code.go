package inspect

import (
	"cmp"
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Bounds of what the code of critical sections is read for: bytes of one function, and sections.
const codeMax, sitesMax = 1 << 20, 1 << 12

// Called names critical sections by the code that enters them, as long as the variables' memory does
// not lead to the locks any more. It takes return addresses by wait id (x86-64). Each call has its
// section's variable as an argument, so that the function names it before; with several variables in
// one function, other calls and sections must tell which it is. What they leave open has no name.
func (c *Criticals) Called(sites map[uint64][]uint64) map[uint64]string {
	names := map[uint64]string{}
	if c.Symbols == nil || len(sites) > sitesMax {
		return names
	}
	if c.names == nil {
		c.find()
	}
	open := map[uint64]map[string]bool{}
	for id, pcs := range sites {
		open[id] = c.candidates(pcs)
	}
	for found := true; found; { // each round takes a name away
		found = false
		for id, these := range open {
			if len(these) != 1 {
				continue
			}
			for name := range these {
				names[id], found = name, true
			}
			delete(open, id)
			for _, others := range open {
				delete(others, names[id])
			}
		}
	}
	return unique(names)
}

// unique leaves names out that two sections have.
func unique(names map[uint64]string) map[uint64]string {
	count := map[string]int{}
	for _, name := range names {
		count[name]++
	}
	for id, name := range names {
		if count[name] > 1 {
			delete(names, id)
		}
	}
	return names
}

// candidates are the names of sections whose variables are named in front of all of some calls.
func (c *Criticals) candidates(pcs []uint64) (all map[string]bool) {
	for i, pc := range pcs {
		f, err := c.Symbols.Function(pc - 1)
		if err != nil || f.Low == 0 || pc-f.Low > codeMax {
			return nil
		}
		code := make([]byte, pc-f.Low)
		if c.Memory.ReadMemory(callbacks.At(f.Low), code) != nil {
			return nil
		}
		here := map[string]bool{}
		for _, v := range c.variables {
			if name, _ := rtl.CriticalName(v.Name); refers(code, f.Low, v.Address) && (i == 0 || all[critical(name)]) {
				here[critical(name)] = true
			}
		}
		all = here
	}
	return all
}

// critical is the name of a section for people.
func critical(name string) string { return cmp.Or(name, picture.Unnamed) }

// refers reports whether code of x86-64 at an address has another one in it: relative to the end of an
// instruction, or as a number of four bytes.
func refers(code []byte, at, to uint64) bool {
	const size = 4
	for i := 0; i+size <= len(code); i++ {
		n := binary.LittleEndian.Uint32(code[i:])
		if at+uint64(i)+size+uint64(int64(int32(n))) == to || uint64(n) == to {
			return true
		}
	}
	return false
}
