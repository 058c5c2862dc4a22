package symbolic

// Target is what a call leads to.
type Target struct {
	Name  string // empty if unknown
	Entry uint64 // address of the code; 0 if unknown
	Slot  uint64 // address of the pointer that the call went through; 0 for a direct call
}

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

// Returned returns the value that the path returns, if it does.
func (p Path) Returned() []*Expr {
	if p.Result == nil {
		return nil
	}
	return []*Expr{p.Result}
}

// Read is everything that the path reads.
func (p Path) Read() []*Expr { return p.Loads }
