package rtl

import (
	"fmt"
	"math"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Kind describes a runtime as far as its module's symbols and path show it, before the target is read.
type Kind struct {
	Family  string // as in Identity
	Name    string
	Version string // as far as it is known
}

// SymbolsOnly returns a target of one module that can only answer whether a symbol is defined.
func SymbolsOnly(defines func(symbol string) bool, path string) (callbacks.Target, *callbacks.Module) {
	m := &callbacks.Module{Path: path, High: callbacks.Addr(math.MaxUint64)}
	return symbolsOnly{defines: defines}, m
}

type symbolsOnly struct {
	callbacks.Target
	defines func(string) bool
}

// Symbol reports that a symbol exists, without its address.
func (s symbolsOnly) Symbol(name, _ string) (callbacks.Address, error) {
	if s.defines(name) {
		return callbacks.Addr(1), nil
	}
	return callbacks.Address{}, fmt.Errorf("%s: %w", name, callbacks.ErrNoSymbol)
}
