package symbolize

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// namedMax bounds the symbols that Named lists: a program has a few such variables.
const namedMax = 4096

// Named is a variable of some module.
type Named struct {
	Name    string
	Address uint64 // in the target
}

// Named lists the variables whose symbols begin with one of some prefixes, as far as modules and
// their debug files that are at hand name them.
func (s *Symbolizer) Named(prefixes ...string) (out []Named) {
	for _, m := range s.modules {
		out = append(out, namedIn(m, prefixes, namedMax-len(out))...)
	}
	return out
}

// namedIn lists the first such variables of one module; it takes the lock.
func namedIn(m *module, prefixes []string, most int) (out []Named) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.elf()
	if f == nil {
		return nil
	}
	list, err := f.Symbols()
	if debug := m.debugFile(false); err != nil && debug != nil {
		f = debug
		list, _ = f.Symbols()
	}
	defer f.Release(list)
	begins := func(s *elfx.Symbol) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s.Name, p) })
	}
	for i := range list {
		if !begins(&list[i]) || len(out) == most {
			continue
		}
		if at, ok := m.address(list[i]); ok {
			out = append(out, Named{list[i].Name, at})
		}
	}
	return out
}
