package rtl

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// Symbol is a name that the symbol table of a runtime's file has, or had before it
// was stripped, and that OMPD libraries and debuggers ask for.
type Symbol struct {
	Name string
	// Address is where it lies in the target. Of a thread-local variable it is
	// the offset in the module's block.
	Address  callbacks.Address
	Size     uint64 // bytes; 0 if it is not known
	Kind     SymbolKind
	Evidence string // how it was found, for people
	Err      error  // why it was not found; nil if it was
}

// LinkedReader is implemented by runtimes that may be linked into an executable without
// symbols.
type LinkedReader interface {
	// LinkedFunctions are the functions of the runtime that were found there by their code;
	// none if it has symbols.
	LinkedFunctions() []Symbol
}

// SymbolKind tells what a symbol names.
type SymbolKind uint8

// Kinds of symbols.
const (
	SymbolObject   SymbolKind = iota // a variable
	SymbolFunction                   // a function
	SymbolThread                     // a thread-local variable
)
