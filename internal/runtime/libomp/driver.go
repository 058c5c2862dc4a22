package libomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp/locate"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Driver returns the reader of LLVM's runtimes.
func Driver() rtl.Driver {
	return rtl.Driver{
		Family: locate.Family, Reads: "LLVM libomp 9-23", Recognize: locate.Recognize, Symbols: allSymbols,
		Files: []string{"libomp.so", "libomp-", "libiomp5."},
		Open: func(t callbacks.Target, first handles.Stamp, o rtl.Options) ([]rtl.Runtime, error) {
			return Open(t, first, o.Options)
		},
	}
}

// allSymbols returns the symbols of all runtimes in t.
func allSymbols(t callbacks.Target) ([]rtl.ModuleSymbols, error) {
	mods, err := locate.Find(t, nil)
	if err != nil {
		return nil, err
	}
	var all []rtl.ModuleSymbols
	var errs []error
	for _, mod := range mods {
		list, err := locate.Symbols(t, mod)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", mod.Path, err))
			continue
		}
		all = append(all, rtl.ModuleSymbols{Module: mod, Symbols: list})
	}
	return all, errors.Join(errs...)
}
