// Package accesspath finds the variables and fields that a function reads, by executing its machine code on
// symbols (package symbolic).
//
// The code of a runtime's exported accessors (such as omp_get_level) contains the addresses of the runtime's
// variables and the offsets of its fields. Run follows every path through such a function and returns the result
// of each path as an expression over the machine's state at entry: an access path such as
//
//	load4(load8(load8(load8(global 0x12c980)+sext4(call 0x39360)*8)+64)+848)
//
// No byte patterns are used: code of another compiler for the same source has the same paths.
//
// The executor assumes that code follows the calling convention, that a call that is not followed changes no
// memory that is read after it, and that stores through pointers change no memory that is read through another
// expression. These assumptions hold for accessors. For other code a path may be wrong and must not be trusted
// alone.
package accesspath

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Config contains the source of code and the bounds of the work.
type Config struct {
	// Arch is the instruction set.
	Arch callbacks.Arch
	// Mem contains the instructions and the tables among them: the target's memory, or the content of a file at
	// its own addresses.
	Mem callbacks.Memory
	// Resolve returns the function that a pointer in the module's global offset table leads to, or that starts
	// at an address. If it is nil, calls through pointers are not followed.
	Resolve func(addr uint64) (symbolic.Target, bool)
	// Follow reports whether to follow a call. If it is nil, no calls are followed. Jumps to other functions are
	// always followed.
	Follow func(symbolic.Target) bool
	// Bounds limits the work. The zero value means defaultBounds.
	Bounds Bounds
}

// Bounds limits the work of one Run.
type Bounds struct {
	Steps  int // instructions on all paths
	Paths  int // paths
	Visits int // returns of one path to one address
	Depth  int // nested calls that are followed
	Edges  int // uses of one side of a branch on all paths; 0: unlimited
	Cases  int // entries of a jump table
}

// defaultBounds returns bounds that every accessor of the known runtimes fits in with room to spare: the longest
// has some 150 instructions and 100 paths. Loops run twice, so that a chain of structures is recognized.
func defaultBounds() Bounds { return Bounds{Steps: 20000, Paths: 512, Visits: 2, Depth: 4, Cases: 64} }

// Run executes the function at entry on symbols and returns its paths. It fails only if the first instruction is
// unreadable. The End of a path gives the reason for a later stop.
func Run(cfg Config, entry uint64) ([]symbolic.Path, error) {
	x, err := newExplorer(cfg)
	if err != nil {
		return nil, fmt.Errorf("access paths of the function at %#x: %w", entry, err)
	}
	if _, err := x.Code.BytesAt(entry, 1); err != nil {
		return nil, fmt.Errorf("access paths of the function at %#x: %w", entry, err)
	}
	x.run(symbolic.NewState(x.ABI, entry))
	return x.paths, nil
}
