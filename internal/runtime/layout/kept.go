package layout

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// Kept caches facts on modules from one reading of a process to the next: code does not change
// while a program runs, and neither do offsets. The zero value is empty. It is not for concurrent
// use.
type Kept struct {
	modules map[*callbacks.Module]*KeptModule
}

// KeptModule caches the facts on the runtime in one module.
type KeptModule struct {
	// Code is the source of facts from code; it may be nil. It may read through the target with which it was
	// made, which must be of the same process.
	Code Source
	// Located is the layout in the form of the runtime's reader; nil unless it was found beyond
	// doubt. No other reader uses it.
	Located any
	// Linked holds the functions found of a runtime that is linked into an executable without
	// symbols, in the form of the runtime's reader; nil if they were not searched.
	Linked any
	// Forks holds the functions that calls of the runtime pass to it, in the form of the runtime's reader; nil
	// before the first.
	Forks any
	// Lacks means that the file of the module was searched for a linked runtime of LLVM's kind, without result.
	Lacks bool
}

// ModuleOf returns the cached facts of a module. For a nil k the result is empty and has no effect.
func (k *Kept) ModuleOf(mod *callbacks.Module) *KeptModule {
	if k == nil {
		return &KeptModule{}
	}
	m := k.modules[mod]
	if m == nil {
		m = &KeptModule{}
		if k.modules == nil {
			k.modules = map[*callbacks.Module]*KeptModule{}
		}
		k.modules[mod] = m
	}
	return m
}
