package readers

import (
	"errors"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// RecoverSymbols lists the symbols that OMPD libraries and debuggers look up, for every runtime in t that
// describes itself to OMPD, even if its file is stripped. The program need not have used the runtime yet. The
// error is callbacks.Incompatible for a target without a readable runtime, and callbacks.Unsupported for a
// runtime without such symbols.
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
	if len(all) > 0 { // the errors of others do not matter then
		errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, callbacks.Unsupported) })
	}
	err := errors.Join(errs...)
	if err == nil && len(all) == 0 {
		err = ErrNoRuntime
	}
	return all, err
}
