package picture

// Values are the variables and registers of a frame. They are no part of the JSON form:
// they are asked for of one thread at a time.
type Values struct {
	// Variables are those of the function, as its debug information tells them.
	Variables []Value
	Registers []Register
}

// Value is a variable, or a part of one.
type Value struct {
	Name string
	Type string
	Text string // the value for people; empty for one that only has parts
	// Address is where it lies; missing if it is in a register.
	Address  *Hex
	Argument bool    // it is a parameter of the function
	Missing  string  // why it has no value; empty if it has
	Parts    []Value // members, elements, or what a pointer points to
	Cut      bool    // there are more parts
}

// Register is a register of a frame. Those that a call may have destroyed are not there.
type Register struct {
	Name  string
	Value Hex
}

// Values are the variables and registers of the frame; nil if they were not asked for.
func (f *Frame) Values() *Values { return f.values }

// SetValues gives the frame its variables and registers.
func (f *Frame) SetValues(v *Values) { f.values = v }
