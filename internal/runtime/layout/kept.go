package layout

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// Kept keeps what was found out about modules, from one reading of a process to the
// next: code does not change while a program runs, and neither does where things
// lie. The zero value is empty. It is not for concurrent use.
type Kept struct {
	modules map[*callbacks.Module]*KeptModule
}

// KeptModule is what was found out about the runtime in one module.
type KeptModule struct {
	// Code is the source of what its code shows; nil if none was made. What it is
	// asked later it may read through the target that it was made with, which must
	// be of the same process.
	Code Source
	// Located is the layout in the form of the reader whose runtime it is; nil if
	// it was not found without a doubt. No other reader looks at it.
	Located any
	// Linked is what was found of the functions of a runtime that is linked into an
	// executable without symbols, in the form of the reader whose runtime it is; nil if
	// they were not looked for.
	Linked any
}

// Of returns what is kept of a module. A nil k keeps nothing: what it returns is
// empty, and of no effect.
func (k *Kept) Of(mod *callbacks.Module) *KeptModule {
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
