package symbolic

// Target is the target of a call.
type Target struct {
	Name  string // empty if unknown
	Entry uint64 // address of the code; 0 if unknown
	Slot  uint64 // address of the pointer that the call went through; 0 for a direct call
}

// End is the way in which a path ends.
type End uint8

// The ends of a path.
const (
	EndReturn  End = iota // it returned; Result is set
	EndStop               // it ended in a call that does not return, or in a trap
	EndLoop               // it returned to an address too often
	EndLimit              // a limit was reached
	EndUnknown            // the code is unreadable or invalid, or jumps to an unknown address
)

// Path is one path through a function.
type Path struct {
	End    End
	Result *Expr   // the value returned; nil unless End is EndReturn
	Conds  []Cond  // conditions on the path, in order
	Loads  []*Expr // reads outside the stack, in order
	Stores []Store // writes outside the stack, in order
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
	Args []*Expr // the values of the argument registers, even if the callee has fewer arguments
}

// Returned returns the value that the path returns, if it does.
func (p Path) Returned() []*Expr {
	if p.Result == nil {
		return nil
	}
	return []*Expr{p.Result}
}

// Read returns everything that the path reads.
func (p Path) Read() []*Expr { return p.Loads }
