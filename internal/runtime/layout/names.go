package layout

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// SymbolIn looks name up in one module only. It returns ErrUnknown if the module does not define it.
func SymbolIn(t callbacks.Target, mod *callbacks.Module, name string) (callbacks.Address, error) {
	a, err := t.Symbol(name, mod.Path)
	if err != nil || !mod.Contains(a) {
		return callbacks.Address{}, ErrUnknown
	}
	return a, nil
}

// FieldName identifies a field of a structure, or the structure if Field is empty.
type FieldName struct{ Type, Field string }

// String returns the name as in a declaration.
func (n FieldName) String() string { return entryName(n.Type, n.Field) }
