package symbolize

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/spans"
)

// Known is a function that no symbol table names.
type Known struct {
	Name string
	Low  uint64 // address in the target
	Size uint64 // bytes
}

// learned are functions of a module that were told by what their code does.
type learned struct {
	spans  spans.Set[*symbol]
	byName map[string]*symbol
}

func (l *learned) at(addr uint64) (*symbol, bool) {
	if len(l.byName) == 0 {
		return nil, false
	}
	s, ok := l.spans.Find(addr)
	return s.Value, ok
}

// Learn has the functions of a module named, as if it had symbols of them: those of a library
// that is linked into an executable without any. It is called before code is named; what was
// learned of the module before is forgotten.
func (s *Symbolizer) Learn(mod *callbacks.Module, functions []Known) {
	for _, m := range s.modules {
		if m.mod != mod || len(functions) == 0 {
			continue
		}
		m.mu.Lock()
		m.learned = learned{byName: map[string]*symbol{}}
		for _, f := range functions {
			low := f.Low - mod.Bias
			known := &symbol{name: f.Name, low: low, high: low + f.Size, sized: true, source: SourceCode}
			m.learned.spans.Add(low, known.high, known)
			m.learned.byName[f.Name] = known
		}
		m.learned.spans.Seal()
		m.mu.Unlock()
	}
}
