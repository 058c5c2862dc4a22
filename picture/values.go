package picture

// Values are the variables and registers of a frame. They are not part of the JSON form:
// they are read for one thread at a time.
type Values struct {
	// Variables are the function's variables, by its debug information.
	Variables []Value
	Registers []Register
	// Globals are the variables of the function's source file that are in no function.
	Globals []Value
	// Result is the value of the requested expression in this frame, and Error the reason if it has none; both are
	// unset if no expression was requested.
	Result *Value
	Error  string
}

// Value is a variable, or a part of one.
type Value struct {
	Name string
	Type string
	Text string // the value for people; empty if it only has parts
	// Address is its address; missing if it is in a register.
	Address  *Hex
	Argument bool    // it is a parameter of the function
	Missing  string  // the reason if it has no value
	Parts    []Value // members, elements, or the object that a pointer points to
	Cut      bool    // it has more parts
	Count    int64   // the number of elements of an array or a container; 0 for other values
}

// Register is a register of a frame. Registers that a call may have destroyed are left out.
type Register struct {
	Name  string
	Value Hex
}

// Values returns the variables and registers of the frame; nil if they were not requested.
func (f *Frame) Values() *Values { return f.values }

// SetValues sets the variables and registers of the frame.
func (f *Frame) SetValues(v *Values) { f.values = v }
