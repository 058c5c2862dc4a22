package layout

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// SymbolIn looks name up in one module only. It returns ErrUnknown if the module does not define it.
func SymbolIn(t callbacks.Target, mod *callbacks.Module, name string) (callbacks.Address, error) {
	a, err := t.Symbol(name, mod.Path)
	if err != nil || !mod.Contains(a) {
		return callbacks.Address{}, ErrUnknown
	}
	return a, nil
}

// MissingFiles returns the errors of a list of modules that may hide a runtime: those of modules without a file, and
// the error of the list if no module explains it. A file that was used without proof of its identity hides none.
func MissingFiles(mods []*callbacks.Module, err error) error {
	var missing []error
	explained := false
	for _, m := range mods {
		explained = explained || m.Err != nil
		if m.Image == nil {
			missing = append(missing, m.Err)
		}
	}
	if !explained {
		return err
	}
	return errors.Join(missing...)
}

// FieldName identifies a field of a structure, or the structure if Field is empty.
type FieldName struct{ Type, Field string }

// String returns the name as in a declaration.
func (n FieldName) String() string { return entryName(n.Type, n.Field) }
