package rtl

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// Symbol is a name that OMPD libraries and debuggers request, from the symbol table of a runtime's file,
// stripped or not.
type Symbol struct {
	Name string
	// Address is its address in the target; for a thread-local variable, its offset in the module's block.
	Address  callbacks.Address
	Size     uint64 // bytes; 0 if unknown
	Kind     SymbolKind
	Evidence string // how it was found, for users
	Err      error  // the reason if it was not found, else nil
}

// LinkedReader is implemented by runtimes that may be linked into an executable without
// symbols.
type LinkedReader interface {
	// LinkedFunctions returns the functions of the runtime that were found there by their code; empty if it has
	// symbols.
	LinkedFunctions() []Symbol
}

// SymbolKind is the kind of object that a symbol names.
type SymbolKind uint8

// Kinds of symbols.
const (
	SymbolObject   SymbolKind = iota // a variable
	SymbolFunction                   // a function
	SymbolThread                     // a thread-local variable
)
