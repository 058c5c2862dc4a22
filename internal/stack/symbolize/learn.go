package symbolize

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/spans"
)

// KnownFunction is a function that is in no symbol table.
type KnownFunction struct {
	Name string
	Low  uint64 // address in the target
	Size uint64 // bytes
}

// learnedFunctions are functions of a module that were recognized by their code.
type learnedFunctions struct {
	spans  spans.Set[*symbol]
	byName map[string]*symbol
}

func (l *learnedFunctions) findSymbol(addr uint64) (*symbol, bool) {
	if len(l.byName) == 0 {
		return nil, false
	}
	s, ok := l.spans.Find(addr)
	return s.Value, ok
}

// Learn adds names for functions of a module, as if it had symbols for them: those of a library that is linked
// into an executable without symbols. Call it before code is named; it replaces the module's earlier names.
func (s *Symbolizer) Learn(mod *callbacks.Module, functions []KnownFunction) {
	for _, m := range s.modules {
		if m.mod != mod || len(functions) == 0 {
			continue
		}
		m.mu.Lock()
		m.learned = learnedFunctions{byName: map[string]*symbol{}}
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
