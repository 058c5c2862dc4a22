package accesspath

// Registers by number. An instruction set numbers its general registers from 0;
// the lifter uses the temporaries within one instruction.
type register uint8

const (
	temp0     register = 32 + iota // first temporary of the lifter
	temp1                          // second temporary
	temp2                          // third temporary
	registers                      // how many there are
	noReg     register = 0xff
)

// opcode is what a micro-operation does. An instruction is a short list of them.
type opcode uint8

const (
	uSet     opcode = iota // dst = a, size bytes of it, zero- or sign-extended
	uInsert                // the low size bytes of dst = those of a
	uBinary                // dst = the low size bytes of (a op b), zero-extended
	uAddress               // dst = base + index*scale + displacement (+ thread pointer)
	uLoad                  // dst = size bytes at a
	uStore                 // size bytes at a = b
	uPush                  // as uStore, of a register that is restored later
	uFlags                 // the flags become those of kind flags for (a, b)
	uSetIf                 // dst = 1 if cond else 0
	uSelect                // dst = a if cond, else b; forks
	uSkip                  // leave out the next scale micro-operations if cond; forks
	uEnd                   // leave out the rest of the instruction
	uBranch                // continue at a if cond, else with the next instruction; forks
	uJump                  // continue at a
	uCall                  // call a
	uReturn                // return to the caller
	uForget                // dst becomes unknown
	uStop                  // the code cannot continue here
)

// flagKind tells how the flags were made, and so what a condition on them means.
type flagKind uint8

const (
	flagsUnknown flagKind = iota
	flagsCompare          // a - b
	flagsLogic            // a, with carry and overflow clear
	flagsResult           // a, with carry and overflow unknown
	flagsBit              // carry is bit b of a
	flagsGiven            // a is negative, zero, carry, overflow as bits 3 to 0
)

// operand is an input of a micro-operation: a register, a number or an address
// in the module.
type operand struct {
	reg register // noReg for a number or an address
	abs bool     // val is an address
	val uint64
}

func reg(r register) operand    { return operand{reg: r} }
func number(v uint64) operand   { return operand{reg: noReg, val: v} }
func absolute(a uint64) operand { return operand{reg: noReg, abs: true, val: a} }
func (o operand) isReg() bool   { return o.reg != noReg }

// uop is one micro-operation.
type uop struct {
	code   opcode
	size   uint8
	signed bool
	dst    register
	op     operator
	flags  flagKind
	cc     condition
	a, b   operand // for uAddress: base and index
	scale  uint8
	tls    bool   // for uAddress: add the thread pointer
	disp   uint64 // for uAddress
}

// condition is a test of the flags, in the terms of a comparison: of what the
// flags were made of (ccCompare), or of the result's sign.
type condition struct {
	op   CondOp
	sign bool // op compares the result with 0, whatever made it
	bit  bool // op compares the carry with 0
}

// instruction is a decoded instruction.
type instruction struct {
	length  int
	uops    []uop
	tlsCall bool // the call of a general-dynamic sequence, by its prescribed encoding
}

// lifter turns machine code into micro-operations. It is the only part that
// knows an instruction set.
type lifter interface {
	// lift decodes the instruction at the start of code, which lies at pc.
	// It never panics, whatever the bytes.
	lift(code []byte, pc uint64) (instruction, bool)
	// convention returns where calls find and leave things.
	convention() *convention
}

// convention is a calling convention.
type convention struct {
	args      []register // integer arguments
	result    register
	sp        register
	keep      uint64 // bit n: register n survives a call
	linkBytes uint64 // what a call pushes
	maxLength int    // bytes of the longest instruction

	entry [registers]*Expr // the registers at a function's entry
}

// newConvention fills in the registers at entry: arguments, the stack pointer,
// and values that are not followed.
func newConvention(c convention) *convention {
	for i := range c.entry {
		c.entry[i] = leaf(kindUnknown, 0)
	}
	for i, r := range c.args {
		c.entry[r] = leaf(kindArg, uint64(i))
	}
	c.entry[c.sp] = leaf(kindStack, 0)
	return &c
}
