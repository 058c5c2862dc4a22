// Package accesspath finds out what a function reads, by running its machine
// code on symbols instead of numbers.
//
// A runtime's exported accessors (omp_get_level and its like) know where the
// runtime keeps things. Run follows every path through such a function and gives
// the value that each returns as an expression over the machine's state at
// entry: an access path such as
//
//	load4(load8(load8(load8(global 0x12c980)+sext4(call 0x39360)*8)+64)+848)
//
// whose numbers are the addresses of the runtime's variables and the offsets of
// its fields. Nothing here is a pattern of bytes: another compiler's code for the
// same source gives the same paths.
//
// The executor assumes that code keeps to the calling convention, that an
// opaque call changes no memory that is read after it, and that stores through
// pointers change nothing that is read through another expression. Those hold
// for accessors; where they do not, a path is wrong and the reader must not
// trust it alone.
package accesspath

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Target is what a call leads to.
type Target struct {
	Name  string // empty if unknown
	Entry uint64 // address of the code; 0 if unknown
	Slot  uint64 // address of the pointer that the call went through; 0 for a direct call
}

// Config tells Run where code comes from and how far to go.
type Config struct {
	// Arch is the instruction set.
	Arch callbacks.Arch
	// Mem gives the instructions and the tables among them: the target's
	// memory, or a file's content at its own addresses.
	Mem callbacks.Memory
	// Resolve names the function that a pointer of the module's global
	// offset table leads to, or that starts at an address. It may be nil: then
	// calls through pointers stay opaque.
	Resolve func(addr uint64) (Target, bool)
	// Follow tells whether to run through a call. If it is nil, all calls are
	// opaque; jumps to other functions are always followed.
	Follow func(Target) bool
	// Bounds limits the work. The zero value means DefaultBounds.
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

// DefaultBounds covers every accessor of the runtimes at hand with room to
// spare: the longest has some 150 instructions and 100 paths. Loops run twice,
// so that a chain of structures is seen to be one.
var DefaultBounds = Bounds{Steps: 20000, Paths: 512, Visits: 2, Depth: 4, Cases: 64}

// End is how a path ends.
type End uint8

// The ends of a path.
const (
	EndReturn  End = iota // it returned; Result is set
	EndStop               // it ended in a call that does not return, or in a trap
	EndLoop               // it went back to an address too often
	EndLimit              // the bounds were reached
	EndUnknown            // the code could not be read or decoded, or jumps to an unknown address
)

// Path is one way through a function.
type Path struct {
	End    End
	Result *Expr   // the value returned; nil unless End is EndReturn
	Conds  []Cond  // what holds on the path, in order
	Loads  []*Expr // what it read, in order, the stack apart
	Stores []Store // what it wrote, in order, the stack apart
	Calls  []Call  // the calls that were not followed, in order
}

// Store is a write to memory.
type Store struct {
	Address *Expr
	Size    uint8
	Value   *Expr
}

// Call is a call that was not followed.
type Call struct {
	Target
	Args []*Expr // the values of the argument registers, whether the callee has arguments or not
}

// ErrUnsupported says that there is no reader of this instruction set.
var ErrUnsupported = errors.New("no reader for the machine code of this architecture")

// Run executes the function at entry on symbols and gives its paths. It fails
// only if the first instruction cannot be read; whatever stops a path later is
// told by the path's End.
func Run(cfg Config, entry uint64) ([]Path, error) {
	x := explorer{cfg: cfg, lifter: lifterFor(cfg.Arch)}
	if x.lifter == nil {
		return nil, fmt.Errorf("access paths of the function at %#x: %v: %w", entry, cfg.Arch, ErrUnsupported)
	}
	if x.cfg.Bounds == (Bounds{}) {
		x.cfg.Bounds = DefaultBounds
	}
	x.code.mem = cfg.Mem
	x.abi = x.lifter.convention()
	if _, err := x.code.at(entry, 1); err != nil {
		return nil, fmt.Errorf("access paths of the function at %#x: %w", entry, err)
	}
	x.run(newState(x.abi, entry))
	return x.paths, nil
}

// lifterFor is the reader of an instruction set, or nil.
func lifterFor(a callbacks.Arch) lifter {
	switch a {
	case callbacks.ArchX86_64:
		return x86{}
	case callbacks.ArchAArch64:
		return a64{}
	}
	return nil
}
