package arch

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// CallKind is the way in which a call instruction finds its target.
type CallKind uint8

// The kinds of calls.
const (
	CallDirect   CallKind = iota + 1 // to a fixed address
	CallSlot                         // through a pointer at a fixed address, as with -fno-plt
	CallRegister                     // through a register, or memory that a register points to
)

// Call is a call instruction.
type Call struct {
	Kind CallKind
	// Target is the called address (CallDirect), or the address of the pointer to it, usually a GOT slot
	// (CallSlot); otherwise 0.
	Target uint64
}

// maxCall is the length of the longest call instruction: REX, opcode, ModRM, SIB and a 32-bit displacement.
const maxCall = 8

// CallBefore decodes the call instruction that ends at the return address ret. It is not ok if there is no call
// or the code is unreadable.
func CallBefore(a callbacks.Arch, mem callbacks.Memory, ret uint64) (Call, bool) {
	if a == callbacks.ArchAArch64 {
		return arm64CallBefore(mem, ret)
	}
	if a != callbacks.ArchX86_64 || ret < maxCall {
		return Call{}, false
	}
	b := readBefore(mem, ret)
	n := len(b)
	// From the most specific form to the least: bytes of other instructions can look like the short forms.
	if n >= 5 && b[n-5] == 0xe8 {
		t := ret + rel32(b[n-4:])
		if readable(mem, t) {
			return Call{CallDirect, t}, true
		}
	}
	if n >= 6 && b[n-6] == 0xff && b[n-5] == 0x15 {
		s := ret + rel32(b[n-4:])
		if readable(mem, s) {
			return Call{CallSlot, s}, true
		}
	}
	for i := n - 2; i >= max(0, n-7); i-- {
		if b[i] == 0xff && x86IndirectCallLen(b[i+1:]) == n-i {
			return Call{Kind: CallRegister}, true
		}
	}
	return Call{}, false
}

// x86IndirectCallLen returns the length of the FF /2 instruction with bytes b after the opcode. It returns 0 if
// b is another instruction or is relative to rip.
func x86IndirectCallLen(b []byte) int {
	mod, reg, rm := b[0]>>6, b[0]>>3&7, b[0]&7
	if reg != 2 || mod == 0 && rm == 5 {
		return 0
	}
	n := 2
	if mod != 3 && rm == 4 {
		if len(b) < 2 {
			return 0
		}
		n++
		if mod == 0 && b[1]&7 == 5 {
			n += 4
		}
	}
	return n + [4]int{0, 1, 4, 0}[mod]
}

func rel32(b []byte) uint64 { return uint64(int64(int32(binary.LittleEndian.Uint32(b)))) }

func readable(mem callbacks.Memory, addr uint64) bool {
	var p [1]byte
	return mem.ReadMemory(callbacks.Addr(addr), p[:]) == nil
}

// readBefore reads up to maxCall bytes before addr: fewer if there is a page boundary in between and the
// previous page is unreadable.
func readBefore(mem callbacks.Memory, addr uint64) []byte {
	b := make([]byte, maxCall)
	if mem.ReadMemory(callbacks.Addr(addr-maxCall), b) == nil {
		return b
	}
	if n := addr & (pageSize - 1); n > 0 && n < maxCall {
		if mem.ReadMemory(callbacks.Addr(addr-n), b[:n]) == nil {
			return b[:n]
		}
	}
	return nil
}

// pageSize is the smallest page size of all supported architectures. Readability changes only at its multiples.
const pageSize = 4096

// readFrom reads up to n bytes from addr: fewer if a page on the way is unreadable.
func readFrom(mem callbacks.Memory, addr uint64, n int) []byte {
	b := make([]byte, n)
	if mem.ReadMemory(callbacks.Addr(addr), b) == nil {
		return b
	}
	got := 0
	for got < n {
		step := min(int(pageSize-(addr+uint64(got))&(pageSize-1)), n-got)
		if mem.ReadMemory(callbacks.Addr(addr+uint64(got)), b[got:got+step]) != nil {
			break
		}
		got += step
	}
	return b[:got]
}

// Bounds of a PLT stub: its instructions up to the jump, and its bytes. The longest has three instructions in 16 bytes,
// or 17 if it is a retpoline.
const (
	maxStubSteps = 4
	maxStub      = 32
)

// PLTSlot returns the address of the GOT slot through which the PLT stub at addr jumps: .plt, .plt.sec and .plt.got
// of all linkers. ok is false if there is no such stub at addr.
func PLTSlot(a callbacks.Arch, mem callbacks.Memory, addr uint64) (slot uint64, ok bool) {
	switch a {
	case callbacks.ArchAArch64:
		return arm64PLTSlot(readFrom(mem, addr, maxStub), addr)
	case callbacks.ArchX86_64:
		return x86PLTSlot(mem, readFrom(mem, addr, maxStub), addr)
	}
	return 0, false
}

// x86PLTSlot follows the code of a stub to its jump through memory relative to rip. Before that a stub may only set
// r11, which no caller and no callee uses, to a number for the dynamic linker. A retpoline loads r11 from the slot.
func x86PLTSlot(mem callbacks.Memory, code []byte, addr uint64) (slot uint64, ok bool) {
	for range maxStubSteps {
		if n := skipEndbr(code); n > 0 {
			code, addr = code[n:], addr+uint64(n)
		}
		in, err := x86asm.Decode(code, 64)
		if err != nil {
			return 0, false
		}
		code, addr = code[in.Len:], addr+uint64(in.Len)
		switch in.Op {
		case x86asm.JMP:
			m, ok := in.Args[0].(x86asm.Mem)
			return addr + uint64(m.Disp), ok && ripRelative(m)
		case x86asm.NOP:
		case x86asm.MOV:
			if in.Args[0] != x86asm.R11L && in.Args[0] != x86asm.R11 {
				return 0, false
			}
			switch from := in.Args[1].(type) {
			case x86asm.Imm:
			case x86asm.Mem:
				return addr + uint64(from.Disp), ripRelative(from) && isRetpoline(mem, code, addr)
			default:
				return 0, false
			}
		default:
			return 0, false
		}
	}
	return 0, false
}

// firstARM64Binder is the first instruction of the header of a PLT: stp x16, x30, [sp, #-16]!.
const firstARM64Binder = 0xa9bf7bf0

// StartsBinding reports whether the code at addr is the part of a PLT that asks the dynamic linker for a function. The
// GOT slot of a function leads there until its first call.
func StartsBinding(a callbacks.Arch, mem callbacks.Memory, addr uint64) bool {
	code := readFrom(mem, addr, maxStub)
	switch a {
	case callbacks.ArchAArch64:
		return len(code) >= 4 && binary.LittleEndian.Uint32(code) == firstARM64Binder
	case callbacks.ArchX86_64:
		in, err := x86asm.Decode(code[skipEndbr(code):], 64)
		if err != nil || in.Op != x86asm.PUSH {
			return false
		}
		switch pushed := in.Args[0].(type) {
		case x86asm.Imm: // the number of the function
			return true
		case x86asm.Mem: // the module
			return ripRelative(pushed)
		case x86asm.Reg: // mold: the number is in r11
			return pushed == x86asm.R11
		}
	}
	return false
}

func ripRelative(m x86asm.Mem) bool { return m.Base == x86asm.RIP && m.Index == 0 && m.Segment == 0 }

// isRetpoline reports whether code at addr continues at the address in r11: by a call, or a jump to a call, of code
// that overwrites its return address with r11 and returns.
func isRetpoline(mem callbacks.Memory, code []byte, addr uint64) bool {
	for range 2 {
		in, err := x86asm.Decode(code, 64)
		if err != nil {
			return false
		}
		to, direct := in.Args[0].(x86asm.Rel)
		if !direct || in.Op != x86asm.CALL && in.Op != x86asm.JMP {
			return false
		}
		addr += uint64(in.Len) + uint64(int64(to))
		code = readFrom(mem, addr, maxStub)
		if in.Op == x86asm.CALL {
			return bytes.HasPrefix(code, []byte{0x4c, 0x89, 0x1c, 0x24, 0xc3}) // mov %r11,(%rsp); ret
		}
	}
	return false
}

// skipEndbr returns the length of an endbr64 at the start of b, or 0.
func skipEndbr(b []byte) int {
	if len(b) >= 4 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && b[3] == 0xfa {
		return 4
	}
	return 0
}

// HasCallTo reports whether code at address low may have a direct call of target, or a jump to it. On x86-64 these may
// also be bytes in the middle of other instructions.
func HasCallTo(a callbacks.Arch, code []byte, low, target uint64) bool {
	switch a {
	case callbacks.ArchX86_64:
		for i := 0; i+5 <= len(code); i++ { // call and jmp: a signed distance of 32 bits from their end
			to := low + uint64(i) + 5 + uint64(int64(int32(callbacks.Word(code[i+1:i+5]))))
			if code[i]&^1 == 0xe8 && to == target {
				return true
			}
		}
	case callbacks.ArchAArch64:
		for i := 0; i+4 <= len(code); i += 4 { // b and bl: a signed distance of 26 bits, in instructions
			w := uint32(callbacks.Word(code[i : i+4]))
			if w&0x7c000000 == 0x14000000 && low+uint64(i)+uint64(int64(int32(w<<6)>>6)*4) == target {
				return true
			}
		}
	}
	return false
}
