package lift

// Register is a register number. An instruction set numbers its general registers from 0. The lifter uses the
// temporaries within one instruction.
type Register uint8

const (
	Temp0        Register = 32 + iota // first temporary of the lifter
	temp1                             // second temporary
	temp2                             // third temporary
	NumRegisters                      // number of registers
	noReg        Register = 0xff
)

// Vector registers are numbered separately, from 0. Of each, only the low 8 bytes are followed: they contain a
// floating-point number.
const (
	NumVectors          = 32
	AllVectors Register = 0xff // see UopForgetVector
)

// opcode is the kind of a micro-operation. An instruction is a short list of them.
type opcode uint8

const (
	UopSet          opcode = iota // dst = a, size bytes of it, zero- or sign-extended
	UopInsert                     // the low size bytes of dst = those of a
	UopBinary                     // dst = the low size bytes of (a op b), zero-extended
	UopAddress                    // dst = base + index*scale + displacement (+ thread pointer)
	UopLoad                       // dst = size bytes at a
	UopStore                      // size bytes at a = b; see Uop.MayFail
	UopPush                       // same as UopStore, for a register that is restored later
	UopExchange                   // old = size bytes at a; if they equal dst, size bytes at a = b; dst = old
	UopFlags                      // set the flags of kind flags for (a, b)
	UopSetIf                      // dst = 1 if cond else 0
	UopSelect                     // dst = a if cond, else b; forks
	UopSkip                       // skip the next scale micro-operations if cond; forks
	UopBranch                     // continue at a if cond, otherwise at the next instruction; forks; see Uop.OwnTest
	UopJump                       // continue at a
	UopCall                       // call a
	UopReturn                     // return to the caller
	UopForget                     // dst becomes unknown
	UopSyscall                    // call the kernel; dst becomes its result, which is unknown
	UopStop                       // execution cannot continue here
	UopConvert                    // dst = a, converted between number formats; see Uop.Convert
	UopGetVector                  // dst = the low size bytes of a vector register, zero-extended
	UopSetVector                  // the low 8 bytes of a vector register = a
	UopForgetVector               // a vector register, or each, becomes unknown
	UopFlagsIf                    // same as UopFlags if cond, otherwise the flags become disp, as for FlagsGiven
	UopFloatMask                  // dst = size bytes of ones if relation scale holds for (a, b), see FloatMask; else 0
	UopFloat                      // dst = a op b, for floating-point numbers of size bytes; see Uop.Float
)

// FlagKind is the way in which the flags were computed. The meaning of a condition depends on it.
type FlagKind uint8

// The ways to compute flags.
const (
	FlagsUnknown  FlagKind = iota
	FlagsCompare           // a - b
	FlagsLogic             // a, with overflow clear, and no borrow
	FlagsMask              // a, with overflow clear, and a borrow
	FlagsResult            // a, with carry and overflow unknown
	FlagsBit               // carry is bit b of a
	FlagsGiven             // a contains flags; see FlagNegative
	FlagsFloat             // a compared with b, both floating-point numbers, on aarch64
	FlagsFloatX86          // the same on x86-64
)

// The flags that FlagsGiven contains. The carry is that of aarch64: it is set if a subtraction did not borrow.
const (
	FlagOverflow = 1 << iota
	FlagCarry
	FlagZero
	FlagNegative
	FlagParity // x86-64
)

// Operand is an input of a micro-operation: a register, a number or an address in the module.
type Operand struct {
	Reg      Register // noReg for a number or an address
	Absolute bool     // Val is an address
	Val      uint64
}

func reg(r Register) Operand    { return Operand{Reg: r} }
func number(v uint64) Operand   { return Operand{Reg: noReg, Val: v} }
func absolute(a uint64) Operand { return Operand{Reg: noReg, Absolute: true, Val: a} }

// IsReg reports whether o is a register.
func (o Operand) IsReg() bool { return o.Reg != noReg }

// Uop is one micro-operation.
type Uop struct {
	Code   opcode
	Size   uint8
	Signed bool
	Dst    Register
	Op     Operator
	Flags  FlagKind
	CC     Condition
	A, B   Operand // for UopAddress: base and index
	Scale  uint8
	TLS    bool   // for UopAddress: add the thread pointer
	Disp   uint64 // for UopAddress and UopFlagsIf
	Vector Register
	// MayFail is set if it is unknown whether UopStore stores: if it does, it stores dst. B is then unknown.
	MayFail bool
	// Convert is the conversion of UopConvert, from Scale bytes to Size bytes.
	Convert Conversion
	Float   FloatOperator // of UopFloat; dst is the third number
}

// Condition is a test of the flags, expressed as a comparison of the values that the flags were computed from
// (FlagsCompare), or of the result with 0.
type Condition struct {
	Op   CondOp
	Sign bool // Op compares the result with 0, for every kind of flags
	Bit  bool // Op compares the carry with 0
	// Flag is a single flag that is tested instead, if Op is CondUnknown: whether it is set, or clear.
	Flag  uint8
	Clear bool
}

// Negate returns the opposite condition.
func (c Condition) Negate() Condition {
	c.Op, c.Clear = c.Op.Negate(), !c.Clear
	return c
}

// OwnTest reports whether a branch compares b with 0 in size bytes, instead of testing the flags.
func (u *Uop) OwnTest() bool { return u.Code == UopBranch && u.Flags != FlagsUnknown }

// Stores reports whether a micro-operation writes memory, or may write it: an exchange writes only on a match.
func (u *Uop) Stores() bool { return u.Code == UopStore || u.Code == UopPush || u.Code == UopExchange }

// Leaves reports whether a micro-operation transfers control or forks.
func (u *Uop) Leaves() bool { return u.Code >= UopSelect && u.Code <= UopReturn }

// SetsRegister reports whether a micro-operation may change register dst.
func (u *Uop) SetsRegister() bool {
	switch u.Code {
	case UopStore, UopPush, UopFlags, UopSkip, UopBranch, UopJump, UopCall, UopReturn, UopStop, UopSetVector,
		UopForgetVector, UopFlagsIf:
		return false
	}
	return true
}

// Instruction is a decoded instruction.
type Instruction struct {
	Length  int
	Uops    []Uop
	TLSCall bool // the call of a general-dynamic TLS sequence, recognized by its prescribed encoding
	Locked  bool // it changes memory atomically
	Partial bool // it writes more memory than Uops shows: a string instruction, or one that saves much state
}

// Lifter turns the machine code of one instruction set into micro-operations.
type Lifter interface {
	// Lift decodes the instruction at the start of code, at address pc. It never panics, for any bytes. Uops of
	// the instruction uses the memory of the empty slice room, if it is large enough.
	Lift(code []byte, pc uint64, room []Uop) (Instruction, bool)
	// Convention returns the calling convention.
	Convention() *Convention
}

// Convention is a calling convention.
type Convention struct {
	Args        []Register // integer arguments
	Result      Register
	SP          Register
	Keep        uint64   // bit n: register n survives a call
	Vectors     uint64   // bit n: the low 8 bytes of vector register n survive a call
	VectorsAt   int      // offset of the first of VectorCount vector registers in NT_PRFPREG, in bytes
	VectorCount Register // each has 16 bytes there
	General     Register // number of general registers
	LinkBytes   uint64   // size of the return address that a call pushes; 0 if a call writes it to Link
	Link        Register // register in which a call leaves the return address
	MaxLength   int      // bytes of the longest instruction
	DWARF       []int    // DWARF numbers of the general registers; nil if they are the same
}

// DWARFNumber returns the DWARF number of a general register.
func (c *Convention) DWARFNumber(r Register) int {
	if c.DWARF != nil && int(r) < len(c.DWARF) {
		return c.DWARF[r]
	}
	return int(r)
}

// Keeps reports whether a register survives a call.
func (c *Convention) Keeps(r Register) bool { return c.Keep>>r&1 == 1 }
