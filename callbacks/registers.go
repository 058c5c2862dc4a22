package callbacks

// MaxRegister is the number of registers that Registers can hold. DWARF numbers of the general-purpose registers
// are below it on every architecture of this module.
const MaxRegister = 33

// DWARF register numbers that are not only used by the unwinder.
const (
	X86RBP = 6
	X86RSP = 7
	X86RIP = 16 // the return-address column

	AArch64FP = 29
	AArch64LR = 30
	AArch64SP = 31
	AArch64PC = 32
)

// Registers holds the integer registers of one thread, by DWARF number, and the other register data that a core
// stores for a thread.
type Registers struct {
	Arch   Arch
	Values [MaxRegister]uint64
	Valid  uint64 // bit n is set if Values[n] is known

	// ThreadPointer is fs_base on x86-64 and tpidr_el0 on aarch64, or 0 if unknown.
	ThreadPointer uint64

	// Flags is rflags on x86-64, pstate with bit 63 set on aarch64, or 0 if unknown.
	Flags uint64

	// Syscall is the number of the system call that the thread is inside of or was interrupted in, or -1 if it
	// was in user code.
	Syscall int64
	// SyscallArgs contains that call's arguments, as the registers still hold them.
	SyscallArgs [6]uint64

	// PACMask is the mask of the bits of a code address that hold a pointer authentication code (aarch64); 0
	// elsewhere.
	PACMask uint64
}

// Get returns register n and whether it is known.
func (r *Registers) Get(n int) (uint64, bool) {
	if n < 0 || n >= MaxRegister || r.Valid&(1<<n) == 0 {
		return 0, false
	}
	return r.Values[n], true
}

// Set makes register n known as v. Numbers out of range are ignored.
func (r *Registers) Set(n int, v uint64) {
	if n < 0 || n >= MaxRegister {
		return
	}
	r.Values[n] = v
	r.Valid |= 1 << n
}

// Unset makes register n unknown.
func (r *Registers) Unset(n int) {
	if n >= 0 && n < MaxRegister {
		r.Valid &^= 1 << n
	}
}

// PC returns the program counter, or 0 if it is unknown.
func (r *Registers) PC() uint64 {
	v, _ := r.Get(r.Arch.pcRegister())
	return v &^ r.PACMask
}

// SP returns the stack pointer, or 0 if it is unknown.
func (r *Registers) SP() uint64 {
	v, _ := r.Get(r.Arch.spRegister())
	return v
}

// SetPC sets the program counter to v.
func (r *Registers) SetPC(v uint64) { r.Set(r.Arch.pcRegister(), v) }

// SetSP sets the stack pointer to v.
func (r *Registers) SetSP(v uint64) { r.Set(r.Arch.spRegister(), v) }

func (a Arch) pcRegister() int {
	if a == ArchAArch64 {
		return AArch64PC
	}
	return X86RIP
}

func (a Arch) spRegister() int {
	if a == ArchAArch64 {
		return AArch64SP
	}
	return X86RSP
}
