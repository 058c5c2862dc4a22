package arch

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// x86ArgRegs are the integer argument registers of the System V ABI, in order.
var x86ArgRegs = [...]x86asm.Reg{x86asm.RDI, x86asm.RSI, x86asm.RDX, x86asm.RCX, x86asm.R8, x86asm.R9}

// x86DWARF are the 64-bit registers by DWARF number.
var x86DWARF = [...]x86asm.Reg{
	x86asm.RAX, x86asm.RDX, x86asm.RCX, x86asm.RBX, x86asm.RSI, x86asm.RDI, x86asm.RBP, x86asm.RSP,
	x86asm.R8, x86asm.R9, x86asm.R10, x86asm.R11, x86asm.R12, x86asm.R13, x86asm.R14, x86asm.R15,
}

func dwarfOf(r x86asm.Reg) int   { return slices.Index(x86DWARF[:], r) }
func regOf(dwarf int) x86asm.Reg { return x86DWARF[dwarf] }
func calleeSaved(r x86asm.Reg) bool {
	switch r {
	case x86asm.RBX, x86asm.RBP, x86asm.RSP, x86asm.R12, x86asm.R13, x86asm.R14, x86asm.R15:
		return true
	}
	return false
}

// widthOf returns the size in bytes of a general-purpose register, 0 for other registers.
func widthOf(r x86asm.Reg) int {
	switch {
	case r >= x86asm.AL && r <= x86asm.R15B:
		return 1
	case r >= x86asm.AX && r <= x86asm.R15W:
		return 2
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return 4
	case r >= x86asm.RAX && r <= x86asm.R15:
		return 8
	}
	return 0
}

// fullRegister returns the 64-bit register that r is a part of, or 0 if r is not a general-purpose register.
func fullRegister(r x86asm.Reg) x86asm.Reg {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return x86asm.RAX + r - x86asm.AL
	case r >= x86asm.AH && r <= x86asm.BH:
		return x86asm.RAX + r - x86asm.AH
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return x86asm.RSP + r - x86asm.SPB
	case r >= x86asm.AX && r <= x86asm.R15W:
		return x86asm.RAX + r - x86asm.AX
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return x86asm.RAX + r - x86asm.EAX
	case r >= x86asm.RAX && r <= x86asm.R15:
		return r
	}
	return 0
}

// readsOnly are the instructions that change no register operand.
var readsOnly = map[x86asm.Op]bool{
	x86asm.CMP: true, x86asm.TEST: true, x86asm.PUSH: true, x86asm.NOP: true, x86asm.BT: true,
	x86asm.PREFETCHT0: true, x86asm.PREFETCHT1: true, x86asm.PREFETCHT2: true, x86asm.PREFETCHNTA: true,
	x86asm.PREFETCHW: true, x86asm.UCOMISS: true, x86asm.UCOMISD: true, x86asm.COMISS: true, x86asm.COMISD: true,
}

// implicit contains the registers that an instruction changes without naming them.
var implicit = map[x86asm.Op][]x86asm.Reg{
	x86asm.MUL: {x86asm.RAX, x86asm.RDX}, x86asm.IMUL: {x86asm.RAX, x86asm.RDX},
	x86asm.DIV: {x86asm.RAX, x86asm.RDX}, x86asm.IDIV: {x86asm.RAX, x86asm.RDX},
	x86asm.CWD: {x86asm.RDX}, x86asm.CDQ: {x86asm.RDX}, x86asm.CQO: {x86asm.RDX},
	x86asm.CBW: {x86asm.RAX}, x86asm.CWDE: {x86asm.RAX}, x86asm.CDQE: {x86asm.RAX},
	x86asm.CMPXCHG: {x86asm.RAX}, x86asm.CMPXCHG8B: {x86asm.RAX, x86asm.RDX},
	x86asm.CMPXCHG16B: {x86asm.RAX, x86asm.RDX},
	x86asm.RDTSC:      {x86asm.RAX, x86asm.RDX}, x86asm.RDTSCP: {x86asm.RAX, x86asm.RDX, x86asm.RCX},
	x86asm.XGETBV: {x86asm.RAX, x86asm.RDX}, x86asm.CPUID: {x86asm.RAX, x86asm.RBX, x86asm.RCX, x86asm.RDX},
	x86asm.LAHF: {x86asm.RAX}, x86asm.XLATB: {x86asm.RAX},
	x86asm.MOVSB: stringRegs, x86asm.MOVSW: stringRegs, x86asm.MOVSD: stringRegs, x86asm.MOVSQ: stringRegs,
	x86asm.STOSB: stringRegs, x86asm.STOSW: stringRegs, x86asm.STOSD: stringRegs, x86asm.STOSQ: stringRegs,
	x86asm.SCASB: stringRegs, x86asm.SCASW: stringRegs, x86asm.SCASD: stringRegs, x86asm.SCASQ: stringRegs,
	x86asm.CMPSB: stringRegs, x86asm.CMPSW: stringRegs, x86asm.CMPSD: stringRegs, x86asm.CMPSQ: stringRegs,
	x86asm.LODSB: stringRegs, x86asm.LODSW: stringRegs, x86asm.LODSD: stringRegs, x86asm.LODSQ: stringRegs,
	x86asm.PUSH: {x86asm.RSP}, x86asm.POP: {x86asm.RSP}, x86asm.PUSHFQ: {x86asm.RSP}, x86asm.POPFQ: {x86asm.RSP},
	x86asm.LEAVE: {x86asm.RSP, x86asm.RBP}, x86asm.ENTER: {x86asm.RSP, x86asm.RBP},
	x86asm.LOOP: {x86asm.RCX}, x86asm.LOOPE: {x86asm.RCX}, x86asm.LOOPNE: {x86asm.RCX},
}

var stringRegs = []x86asm.Reg{x86asm.RDI, x86asm.RSI, x86asm.RCX, x86asm.RAX}

// effectOn reports whether i may change the 64-bit register reg. In doubt it returns true: any register operand
// counts, except the source of a plain two-operand instruction.
func effectOn(i *inst, reg x86asm.Reg) bool {
	if slices.Contains(implicit[i.Op], reg) {
		return true
	}
	if readsOnly[i.Op] {
		return false
	}
	for n, a := range i.Args {
		r, ok := a.(x86asm.Reg)
		if !ok || fullRegister(r) != reg {
			continue
		}
		if n == 1 && i.Args[2] == nil && i.Op != x86asm.XCHG && i.Op != x86asm.XADD {
			continue // the source operand
		}
		return true
	}
	return false
}
