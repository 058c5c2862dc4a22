package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// Driver is the reader of one kind of runtime: all that the OMPD library asks of it.
// A package that reads a runtime has one function that returns its Driver, and the
// library has a list of them.
type Driver struct {
	// Family is the Identity.Family of the runtimes that it reads.
	Family string
	// Reads names them and their releases for people.
	Reads string
	// Recognize reports whether a module that defines these symbols and lies at
	// path holds such a runtime, and as much of its release as they tell. It is
	// asked before anything of a target is read.
	Recognize func(defines func(symbol string) bool, path string) (Kind, bool)
	// RecognizeStripped does the same for an executable without symbols, by texts
	// in its constant data. It is nil where there are no such texts.
	RecognizeStripped func(contains func(text string) bool) (Kind, bool)
	// Files are how the names of the files of such runtimes begin.
	Files []string
	// Open opens all such runtimes in t. The handles of the i-th of the result
	// carry the stamp first with i added to its Space. None is no error; one that
	// is there and cannot be read is an error beside those that can, a *Dormant if
	// the program has not used it yet.
	Open func(t callbacks.Target, first handles.Stamp, o Options) ([]Runtime, error)
	// Symbols lists what OMPD libraries and debuggers ask of each such runtime in
	// t. A kind of runtime that has nothing for them is callbacks.Unsupported if
	// one is in t.
	Symbols func(t callbacks.Target) ([]ModuleSymbols, error)
}

// Options say how a Driver opens runtimes.
type Options struct {
	layout.Options
	// Taken reports whether a module is read by a driver that comes before this
	// one; nil stands for none.
	Taken func(*callbacks.Module) bool
}

// ModuleSymbols are the symbols of the runtime in one module, by name. Those that
// were not found say why.
type ModuleSymbols struct {
	Module  *callbacks.Module
	Symbols []Symbol
}
