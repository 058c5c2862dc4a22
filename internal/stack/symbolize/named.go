package symbolize

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// namedMax bounds the result of Named: a program has a few such variables.
const namedMax = 4096

// NamedVariable is a variable of some module.
type NamedVariable struct {
	Name    string
	Address uint64 // in the target
}

// VariablesWithPrefix lists the variables with symbols that start with one of the prefixes, from modules and
// their available debug files.
func (s *Symbolizer) VariablesWithPrefix(prefixes ...string) (out []NamedVariable) {
	for _, m := range s.modules {
		out = append(out, namedIn(m, prefixes, namedMax-len(out))...)
	}
	return out
}

// namedIn lists at most most such variables of one module; it takes the lock.
func namedIn(m *module, prefixes []string, most int) (out []NamedVariable) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.ownFile()
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
		if at, ok := m.symbolAddress(list[i]); ok {
			out = append(out, NamedVariable{list[i].Name, at})
		}
	}
	return out
}
