// Package accesspath finds the variables and fields that a function reads, by
// executing its machine code on symbols (package symbolic).
//
// The code of a runtime's exported accessors (omp_get_level and its like) has the
// addresses of the runtime's variables and the offsets of its fields. Run follows
// every path through such a function and returns the result of each path as an
// expression over the machine's state at entry: an access path such as
//
//	load4(load8(load8(load8(global 0x12c980)+sext4(call 0x39360)*8)+64)+848)
//
// Nothing here is a pattern of bytes: another compiler's code for the same source
// has the same paths.
//
// The executor assumes that code keeps to the calling convention, that an
// opaque call changes no memory that is read after it, and that stores through
// pointers change nothing that is read through another expression. Those hold
// for accessors; where they do not, a path is wrong and the reader must not
// trust it alone.
package accesspath

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Config is the source of code and the bounds of the work.
type Config struct {
	// Arch is the instruction set.
	Arch callbacks.Arch
	// Mem gives the instructions and the tables among them: the target's
	// memory, or a file's content at its own addresses.
	Mem callbacks.Memory
	// Resolve names the function that a pointer of the module's global
	// offset table leads to, or that starts at an address. It may be nil: then
	// calls through pointers stay opaque.
	Resolve func(addr uint64) (symbolic.Target, bool)
	// Follow reports whether to run through a call. If it is nil, all calls are
	// opaque; jumps to other functions are always followed.
	Follow func(symbolic.Target) bool
	// Bounds limits the work. The zero value means defaultBounds.
	Bounds Bounds
}

// Bounds limits the work of one Run.
type Bounds struct {
	Steps  int // instructions on all paths together
	Paths  int // paths
	Visits int // times that one path goes back to one address
	Depth  int // calls that are followed within each other
	Edges  int // times that all paths together take one side of a branch; 0: any
	Cases  int // entries of a jump table
}

// defaultBounds covers every accessor of the runtimes at hand with room to
// spare: the longest has some 150 instructions and 100 paths. Loops run twice,
// so that a chain of structures is seen to be one.
func defaultBounds() Bounds { return Bounds{Steps: 20000, Paths: 512, Visits: 2, Depth: 4, Cases: 64} }

// Run executes the function at entry on symbols and returns its paths. It fails
// only if the first instruction cannot be read; the End of a path has the reason
// why it stops later.
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
