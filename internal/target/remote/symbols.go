package remote

import (
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/modules"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// symbol is a question for a symbol; lwp is 0 for a global one.
type symbol struct {
	name, file string
	lwp        uint64
}

type found struct {
	address callbacks.Address
	err     error
}

// symbols contains the debugger's answers of one stop.
type symbols struct {
	mu    sync.Mutex
	known map[symbol]found
}

// Symbol finds a global symbol: in the files of the modules, if they are available, otherwise through the
// debugger.
func (b bound) Symbol(name, file string) (callbacks.Address, error) {
	if table := b.s.modules.table.Load(); table != nil {
		a, err := table.Symbol(name, file)
		if err == nil || complete(table, file) {
			return a, err
		}
	}
	return b.askSymbol(symbol{name: name, file: file})
}

// complete reports whether the files of all modules named file are available, so that a symbol missing there
// does not exist. The kernel's own module does not count.
func complete(table *modules.Table, file string) bool {
	list, _ := table.Modules()
	for _, m := range list {
		if m.Image == nil && m.Path != "[vdso]" && (file == "" || file == m.Path) {
			return false
		}
	}
	return true
}

// ThreadSymbol finds a thread's own instance of a symbol: by the thread's pointer and the loader's tables, if
// available, otherwise through the debugger.
func (b bound) ThreadSymbol(id callbacks.ThreadID, name, file string) (callbacks.Address, error) {
	n, err := b.thread(id)
	if err != nil {
		return callbacks.Address{}, err
	}
	table := b.table()
	if tp := n.GetRegisters().GetThreadPointer(); tp != 0 {
		a, err := table.ThreadSymbol(tp, name, file)
		if err == nil || complete(table, file) {
			return a, err
		}
	}
	return b.askSymbol(symbol{name, file, n.GetLwp()})
}

// askSymbol asks the debugger, once per stop.
func (b bound) askSymbol(s symbol) (callbacks.Address, error) {
	known := &b.s.symbols
	known.mu.Lock()
	defer known.mu.Unlock()
	if f, ok := known.known[s]; ok {
		return f.address, f.err
	}
	q := &ompdv1.SymbolQuestion{Name: s.name, File: s.file, Lwp: s.lwp}
	answers, err := b.ask(&ompdv1.Question{Question: &ompdv1.Question_Symbol{Symbol: q}})
	if err != nil {
		return callbacks.Address{}, fmt.Errorf("%s: %w", s.name, err)
	}
	f := found{address: callbacks.Addr(answers[0].GetSymbol().GetAddress())}
	if err := errorOf(answers[0], answers[0].GetSymbol() != nil); err != nil {
		f = found{err: fmt.Errorf("%s: %w", s.name, err)}
	}
	known.known[s] = f
	return f.address, f.err
}
