package ompd

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// ModuleSymbols are the symbols of the runtime in one module, by name. Those that
// were not found say why.
type ModuleSymbols struct {
	Module  *callbacks.Module
	Symbols []rtl.Symbol
}

// RecoverSymbols lists, for every runtime in t that describes itself to OMPD, the
// symbols that OMPD libraries and debuggers ask for, whether its file is stripped
// or not. The program need not have used the runtime yet. A target of which
// nothing can be told is callbacks.Incompatible, a runtime that has nothing of
// the kind callbacks.Unsupported.
func RecoverSymbols(t callbacks.Target) ([]ModuleSymbols, error) {
	all, err := recoverSymbols(t)
	if err == nil && len(all) == 0 {
		err = ErrNoRuntime
	}
	return all, fail("RecoverSymbols", nil, err)
}

// recoverModules recovers the symbols of each module.
func recoverModules(mods []*callbacks.Module, symbols func(*callbacks.Module) ([]rtl.Symbol, error)) ([]ModuleSymbols, error) {
	var all []ModuleSymbols
	var errs []error
	for _, mod := range mods {
		list, err := symbols(mod)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", mod.Path, err))
			continue
		}
		all = append(all, ModuleSymbols{mod, list})
	}
	return all, errors.Join(errs...)
}
