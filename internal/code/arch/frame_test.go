package arch_test

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// code is memory with bytes at codeAt, padded to whole pages with zeros.
type code []byte

const codeAt = 0x400000

func (c code) ReadMemory(a callbacks.Address, p []byte) error {
	off := a.Offset - codeAt
	size := (uint64(len(c)) + 4095) &^ 4095
	if off > size || uint64(len(p)) > size-off {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	clear(p)
	if off < uint64(len(c)) {
		copy(p, c[off:])
	}
	return nil
}

// armCode returns memory with aarch64 instructions.
func armCode(instructions ...uint32) code {
	var c code
	for _, w := range instructions {
		c = binary.LittleEndian.AppendUint32(c, w)
	}
	return c
}

func TestARM64Code(t *testing.T) {
	const arm = callbacks.ArchAArch64
	mem := armCode(
		0x94000010, // bl +0x40
		0xd63f0020, // blr x1
		0xd73f0a82, // blraa x20, x2
		0x97ffffff, // bl -4
		0xd503201f, // nop
		0x14000004, // b +0x10
		0xd503245f, // bti c
		0x17fffffe, // b -8
	)
	for off, want := range map[uint64]arch.Call{
		4:  {Kind: arch.CallDirect, Target: codeAt + 0x40},
		8:  {Kind: arch.CallRegister},
		12: {Kind: arch.CallRegister},
		16: {Kind: arch.CallDirect, Target: codeAt + 8},
	} {
		if got, ok := arch.CallBefore(arm, mem, codeAt+off); !ok || got != want {
			t.Errorf("call before %#x: %+v, %v; want %+v", codeAt+off, got, ok, want)
		}
	}
	for _, off := range []uint64{20, 24} {
		if got, ok := arch.CallBefore(arm, mem, codeAt+off); ok {
			t.Errorf("call before %#x: %+v", codeAt+off, got)
		}
	}
}

// TestARM64Stubs uses the stubs of Debian's libgomp for aarch64, at another address, and those that lld writes
// with -z force-bti.
func TestARM64Stubs(t *testing.T) {
	plt := []uint32{0xb0000110, 0xf947fe11, 0x913fe210, 0xd61f0220} // adrp x16, +0x21000; ldr x17, [x16, #4088]
	bti := append([]uint32{0xd503245f}, plt...)
	for _, c := range []struct {
		name string
		mem  code
		want uint64
	}{
		{"plain", armCode(plt...), codeAt + 0x21000 + 4088},
		{"bti", armCode(bti...), codeAt + 0x21000 + 4088},
		{"page before", armCode(0xf0fffff0, 0xf9400611), codeAt - 0x1000 + 8},
	} {
		if got, ok := arch.PLTSlot(callbacks.ArchAArch64, c.mem, codeAt); !ok || got != c.want {
			t.Errorf("%s: slot %#x, %v; want %#x", c.name, got, ok, c.want)
		}
	}
	if got, ok := arch.PLTSlot(callbacks.ArchAArch64, armCode(0xd503201f, 0xf947fe11), codeAt); ok {
		t.Errorf("slot %#x behind a nop", got)
	}
}

func TestSigreturn(t *testing.T) {
	for _, c := range []struct {
		name string
		a    callbacks.Arch
		mem  code
		call uint64 // offset of the system call
	}{
		{"glibc", callbacks.ArchX86_64, code{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, 7},
		{"short", callbacks.ArchX86_64, code{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}, 5},
		{"vdso", callbacks.ArchAArch64, armCode(0xd2801168, 0xd4000001), 4},
	} {
		for _, pc := range []uint64{codeAt, codeAt + c.call} {
			if !arch.IsSigreturn(c.a, c.mem, pc) {
				t.Errorf("%s: not recognised at %#x", c.name, pc)
			}
		}
		for _, pc := range []uint64{codeAt + 1, codeAt + c.call + 2, 0, 1 << 40} {
			if arch.IsSigreturn(c.a, c.mem, pc) {
				t.Errorf("%s: taken for a trampoline at %#x", c.name, pc)
			}
		}
	}
}

// TestStubs tests the forms of stubs that the installed linker may not write.
func TestStubs(t *testing.T) {
	for name, mem := range map[string]code{
		"plain":       {0xff, 0x25, 0xfa, 0x0f, 0, 0, 0x68, 0, 0, 0, 0},
		"bnd":         {0xf2, 0xff, 0x25, 0xf9, 0x0f, 0, 0, 0x90},
		"endbr64":     {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xf6, 0x0f, 0, 0},
		"endbr64 bnd": {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xf5, 0x0f, 0, 0},
		"mold":        {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 1, 0, 0, 0, 0xff, 0x25, 0xf0, 0x0f, 0, 0},
		// mov slot(%rip),%r11; call; ...; mov %r11,(%rsp); ret
		"retpoline": {0x4c, 0x8b, 0x1d, 0xf9, 0x0f, 0, 0, 0xe8, 4, 0, 0, 0, 0xcc, 0xcc, 0xcc, 0xcc,
			0x4c, 0x89, 0x1c, 0x24, 0xc3},
		// mov slot(%rip),%r11; jmp; ...; call; ...; mov %r11,(%rsp); ret
		"retpoline now": {0x4c, 0x8b, 0x1d, 0xf9, 0x0f, 0, 0, 0xe9, 4, 0, 0, 0, 0xcc, 0xcc, 0xcc, 0xcc,
			0xe8, 2, 0, 0, 0, 0xf3, 0x90, 0x4c, 0x89, 0x1c, 0x24, 0xc3},
	} {
		if got, ok := arch.PLTSlot(callbacks.ArchX86_64, mem, codeAt); !ok || got != codeAt+0x1000 {
			t.Errorf("%s: slot %#x, %v; want %#x", name, got, ok, codeAt+0x1000)
		}
	}
	for name, mem := range map[string]code{
		"jump": {0xe9, 0x10, 0, 0, 0, 0x90, 0x90},
		// jmp *0x400000(,%rax,8)
		"pointer in a table": {0xff, 0x24, 0xc5, 0, 0, 0x40, 0},
		// mov (%rdi),%rax; jmp *0x10(%rax)
		"virtual call": {0x48, 0x8b, 0x07, 0xff, 0x60, 0x10},
		// mov 0xff9(%rip),%r11; jmp
		"load, then jump": {0x4c, 0x8b, 0x1d, 0xf9, 0x0f, 0, 0, 0xe9, 0xf0, 0xff, 0xff, 0xff},
		// mov $1,%r11d; jmp
		"number only": {0x41, 0xbb, 1, 0, 0, 0, 0xe9, 0x10, 0, 0, 0},
		// push %rbp; mov; jmp *slot
		"function": {0x55, 0x48, 0x89, 0xe5, 0xff, 0x25, 0xf6, 0x0f, 0, 0},
	} {
		if got, ok := arch.PLTSlot(callbacks.ArchX86_64, mem, codeAt); ok {
			t.Errorf("%s: taken for a stub of slot %#x", name, got)
		}
	}
}

// FuzzCode reads bytes as code around a call.
func FuzzCode(f *testing.F) {
	f.Add([]byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x7c, 0x24, 8, 0x31, 0xf6, 0xe8, 0xf0, 0xff, 0xff, 0xff},
		uint16(16))
	f.Add([]byte{0xbf, 1, 0, 0, 0, 0x48, 0x89, 0xde, 0x41, 0x54, 0xff, 0x15, 0, 0, 0, 0, 0x75, 0xf0}, uint16(16))
	f.Fuzz(func(t *testing.T, b []byte, ret uint16) {
		mem, at := code(b), codeAt+uint64(ret)
		for _, a := range []callbacks.Arch{callbacks.ArchX86_64, callbacks.ArchAArch64} {
			c, called := arch.CallBefore(a, mem, at)
			if called && (c.Kind == 0 || c.Kind > arch.CallRegister) {
				t.Fatalf("call %+v", c)
			}
			for arg := range 7 {
				v, ok := arch.ArgBefore(a, mem, codeAt, at, arg)
				if ok && (v.Kind == 0 || v.Register < 0 || v.Register > callbacks.X86RIP || arg == 6) {
					t.Fatalf("argument %d: %+v", arg, v)
				}
			}
			arch.PLTSlot(a, mem, at)
			arch.IsSigreturn(a, mem, at)
		}
	})
}
