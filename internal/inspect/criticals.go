package inspect

import (
	"cmp"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Criticals names critical sections by the wait ids of events. In LLVM's runtime these are addresses
// of locks that the runtime made when the section was first entered; the variables that lead to them
// have symbols that say the section's name.
type Criticals struct {
	Memory  callbacks.Memory
	Symbols *symbolize.Symbolizer // nil without

	variables []symbolize.NamedVariable
	names     map[uint64]string // by wait id; nil until one is asked for
	read      time.Time
}

// criticalsAnew is how long at least the variables are believed: sections may have been entered
// since.
const criticalsAnew = 100 * time.Millisecond

// Name is the name of a critical section, or "".
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
	if ok || len(c.variables) == 0 || time.Since(c.read) < criticalsAnew {
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

// wordsMax bounds the addresses that Words tells.
const wordsMax = 512

// Words are the addresses of the words by which the names are found, each of them a pointer.
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
