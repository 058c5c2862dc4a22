package recordings

import (
	"cmp"
	"encoding/binary"
	"maps"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Criticals names critical sections by the wait IDs of events. In LLVM's runtime a wait ID is the address of a
// lock that the runtime made when the section was first entered. The variable that leads to the lock has a symbol
// with the section's name.
type Criticals struct {
	Memory  callbacks.Memory
	Symbols *symbolize.Symbolizer // nil: no names

	variables []symbolize.NamedVariable
	names     map[uint64]string // by wait ID; nil before the first use
	read      time.Time
}

// criticalsInterval is the time after which the variables are read again: more sections may have been entered.
const criticalsInterval = 100 * time.Millisecond

// Name returns the name of a critical section, or "".
func (c *Criticals) Name(id uint64) string {
	if c.Symbols == nil {
		return ""
	}
	if f, err := c.Symbols.Function(id); err == nil && f.Low == id {
		return rtl.NamedByFunction(f.Function, picture.Unnamed)
	}
	if c.names == nil {
		c.find()
	}
	name, ok := c.names[id]
	if ok || len(c.variables) == 0 || time.Since(c.read) < criticalsInterval {
		return name
	}
	for _, v := range c.variables {
		name, _ := rtl.CriticalName(v.Name)
		for _, id := range rtl.CriticalIDs(c.Memory, v.Address) {
			c.names[id] = cmp.Or(name, picture.Unnamed)
		}
	}
	c.read = time.Now()
	return c.names[id]
}

// find finds the variables.
func (c *Criticals) find() {
	c.names, c.variables = map[uint64]string{}, c.Symbols.VariablesWithPrefix(rtl.CriticalPrefixes()...)
}

// wordsMax bounds the addresses that Words returns.
const wordsMax = 512

// Words returns the addresses of the pointers that lead to the locks.
func (c *Criticals) Words() (out []uint64) {
	if c.Symbols == nil {
		return nil
	}
	c.find()
	for _, v := range c.variables {
		if ids := rtl.CriticalIDs(c.Memory, v.Address); len(out)+len(ids) <= wordsMax {
			out = append(out, ids[:len(ids)-1]...) // the last is the lock
		}
	}
	return out
}

// Bounds of the code that is read to name critical sections: bytes of one function, and sections.
const codeMax, sitesMax = 1 << 20, 1 << 12

// Called names critical sections by the code that enters them, while the variables' memory does not lead to the
// locks any more. It takes return addresses by wait ID (x86-64). Each call has its section's variable as an
// argument, so the function refers to it before the call. If a function refers to several variables, other calls
// and sections must decide. A section that they leave open has no name.
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
	for found := true; found; { // each round removes a name
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

// unique removes names that two sections have.
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

// candidates returns the names of the sections with a variable that the code refers to before each of some calls; nil
// if no code refers to one. Other code does not count: LLVM's runtime clears the return address of thread 0 when
// another thread leaves a section, and an event of thread 0 at that moment has an address in the runtime.
func (c *Criticals) candidates(pcs []uint64) (all map[string]bool) {
	for _, pc := range pcs {
		here := c.candidatesAt(pc)
		if len(here) == 0 {
			continue
		}
		if all != nil {
			maps.DeleteFunc(here, func(name string, _ bool) bool { return !all[name] })
		}
		all = here
	}
	return all
}

// candidatesAt returns the names of the sections with a variable that a function refers to before a return address.
func (c *Criticals) candidatesAt(pc uint64) map[string]bool {
	f, err := c.Symbols.Function(pc - 1)
	if err != nil || f.Low == 0 || pc-f.Low > codeMax {
		return nil
	}
	code := make([]byte, pc-f.Low)
	if c.Memory.ReadMemory(callbacks.Addr(f.Low), code) != nil {
		return nil
	}
	names := map[string]bool{}
	for _, v := range c.variables {
		if name, _ := rtl.CriticalName(v.Name); refersTo(code, f.Low, v.Address) {
			names[sectionName(name)] = true
		}
	}
	return names
}

// sectionName returns the name of a section for users.
func sectionName(name string) string { return cmp.Or(name, picture.Unnamed) }

// refersTo reports whether x86-64 code at an address contains the address to: relative to the end of an
// instruction, or as a number of four bytes.
func refersTo(code []byte, at, to uint64) bool {
	const size = 4
	for i := 0; i+size <= len(code); i++ {
		n := binary.LittleEndian.Uint32(code[i:])
		if at+uint64(i)+size+uint64(int64(int32(n))) == to || uint64(n) == to {
			return true
		}
	}
	return false
}

// LockCall classifies calls that acquire a lock.
type LockCall uint8

// The classes. A function's last call, if it is a jump, is taken for a call of its caller.
const (
	LockCallUnknown LockCall = iota
	LockCallWaits
	LockCallTests // it does not wait
)

// LockCallBefore classifies the call that returns to an address.
func LockCallBefore(target callbacks.Target, sym *symbolize.Symbolizer, ret uint64) LockCall {
	return lockCallOf(stacks.CallTargetBefore(target, sym, ret))
}

// lockCallOf classifies a function of the standard, in C or in Fortran.
func lockCallOf(name string) LockCall {
	switch strings.TrimSuffix(name, "_") {
	case "omp_set_lock", "omp_set_nest_lock":
		return LockCallWaits
	case "omp_test_lock", "omp_test_nest_lock":
		return LockCallTests
	}
	return LockCallUnknown
}
