package rtl

import (
	"fmt"
	"math"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Kind is what the names of a module's symbols and its path tell of the runtime
// in it, before anything of the target is read.
type Kind struct {
	Family  string // as in Identity
	Name    string
	Version string // as far as it can be told
}

// SymbolsOnly makes a target of one module of which nothing is known but whether
// it defines a symbol. It answers Symbol and nothing else.
func SymbolsOnly(defines func(symbol string) bool, path string) (callbacks.Target, *callbacks.Module) {
	m := &callbacks.Module{Path: path, High: callbacks.Addr(math.MaxUint64)}
	return symbolsOnly{defines: defines}, m
}

type symbolsOnly struct {
	callbacks.Target
	defines func(string) bool
}

// Symbol tells that a symbol is there, not where.
func (s symbolsOnly) Symbol(name, _ string) (callbacks.Address, error) {
	if s.defines(name) {
		return callbacks.Addr(1), nil
	}
	return callbacks.Address{}, fmt.Errorf("%s: %w", name, callbacks.ErrNoSymbol)
}
