package layout

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// Kept keeps what was found out about modules, from one reading of a process to the
// next: code does not change while a program runs, and neither does where things
// lie. The zero value is empty. It is not for concurrent use.
type Kept struct {
	values map[any]any // by keptKey
}

// keptKey is the place of a value of type T.
type keptKey[T any] struct{ mod *callbacks.Module }

// Keep returns the value of type T that k has of module mod; if it has none, it is
// created. A nil k keeps nothing. What a source is asked later it may read through
// the target that it was created with, which must be of the same process.
func Keep[T any](k *Kept, mod *callbacks.Module, create func() T) T {
	if v, ok := Recall[T](k, mod); ok {
		return v
	}
	v := create()
	Remember(k, mod, v)
	return v
}

// Recall returns the value of type T that k has of module mod, and whether it has
// one. A nil k has none.
func Recall[T any](k *Kept, mod *callbacks.Module) (v T, ok bool) {
	if k == nil {
		return v, false
	}
	v, ok = k.values[keptKey[T]{mod}].(T)
	return v, ok
}

// Remember keeps a value of module mod in place of the one of its type that k may
// have. A nil k keeps nothing.
func Remember[T any](k *Kept, mod *callbacks.Module, v T) {
	if k == nil {
		return
	}
	if k.values == nil {
		k.values = map[any]any{}
	}
	k.values[keptKey[T]{mod}] = v
}
