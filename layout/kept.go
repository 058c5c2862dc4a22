package layout

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// Kept keeps what the code of modules told, from one reading of a process to the
// next: code does not change while a program runs. The zero value is empty. It is
// not for concurrent use.
type Kept struct {
	sources map[*callbacks.Module]Source
}

// Keep returns the source of kind S that k has of module mod; if it has none, it is
// created. A nil k keeps nothing. What a source is asked later it may read through
// the target that it was created with, which must be of the same process.
func Keep[S Source](k *Kept, mod *callbacks.Module, create func() S) S {
	if k == nil {
		return create()
	}
	if s, ok := k.sources[mod].(S); ok {
		return s
	}
	s := create()
	if k.sources == nil {
		k.sources = map[*callbacks.Module]Source{}
	}
	k.sources[mod] = s
	return s
}
