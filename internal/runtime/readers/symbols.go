package readers

import (
	"errors"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// RecoverSymbols lists, for every runtime in t that describes itself to OMPD, the
// symbols that OMPD libraries and debuggers ask for, whether its file is stripped
// or not. The program need not have used the runtime yet. A target of which
// nothing can be told is callbacks.Incompatible, a runtime that has nothing of
// the kind callbacks.Unsupported.
func RecoverSymbols(t callbacks.Target) ([]rtl.ModuleSymbols, error) {
	var all []rtl.ModuleSymbols
	var errs []error
	for _, d := range drivers() {
		if d.Symbols == nil {
			continue
		}
		found, err := d.Symbols(t)
		all = append(all, found...)
		errs = append(errs, err)
	}
	if len(all) > 0 { // that others have none does not matter then
		errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, callbacks.Unsupported) })
	}
	err := errors.Join(errs...)
	if err == nil && len(all) == 0 {
		err = ErrNoRuntime
	}
	return all, err
}
