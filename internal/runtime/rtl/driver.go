package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// Driver reads one kind of runtime for the OMPD library. A package that reads a runtime has a function that
// returns its Driver, and the library has a list of them.
type Driver struct {
	// Family is the Identity.Family of these runtimes.
	Family string
	// Reads names them and their releases for users.
	Reads string
	// Recognize reports whether a module that defines these symbols, at path, contains such a runtime, and the
	// release as far as they show it. It is called before the target is read.
	Recognize func(defines func(symbol string) bool, path string) (Kind, bool)
	// RecognizeStripped is Recognize for an executable without symbols, by texts in its constant data. It is nil
	// if there are no such texts.
	RecognizeStripped func(contains func(text string) bool) (Kind, bool)
	// Files lists prefixes of the file names of such runtimes.
	Files []string
	// Open opens all such runtimes in t. The handles of the i-th runtime carry the stamp first with i added to
	// its Space. Without such a runtime the error is nil. If one cannot be read, Open returns an error together
	// with the others: a *Dormant if the program has not used it yet.
	Open func(t callbacks.Target, first handles.Stamp, o Options) ([]Runtime, error)
	// Symbols lists the symbols that OMPD libraries and debuggers request of each such runtime in t. For a kind
	// of runtime without such symbols, the error is callbacks.Unsupported.
	Symbols func(t callbacks.Target) ([]ModuleSymbols, error)
}

// Options are the options with which a Driver opens runtimes.
type Options struct {
	layout.Options
	// Taken reports whether an earlier driver reads the module; it may be nil.
	Taken func(*callbacks.Module) bool
}

// ModuleSymbols are the symbols of the runtime in one module, by name. A missing one has an error.
type ModuleSymbols struct {
	Module  *callbacks.Module
	Symbols []Symbol
}
