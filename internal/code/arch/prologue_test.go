package arch_test

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

func TestFramePrologue(t *testing.T) {
	const arm = callbacks.ArchAArch64
	microtask := []uint32{ // __kmp_invoke_microtask of libomp 14 to 23
		0xa9bf7bfd, // stp x29, x30, [sp, #-16]!
		0xa9bf53f3, // stp x19, x20, [sp, #-16]!
		0x910003fd, // mov x29, sp
		0x320003e9, // orr w9, wzr, #1
		0xcb2953ff, // sub sp, sp, w9, uxtw #4
		0xd63f0100, // blr x8
	}
	usual := []uint32{
		0xd503233f, // paciasp
		0xd10083ff, // sub sp, sp, #32
		0xa9017bfd, // stp x29, x30, [sp, #16]
		0x910043fd, // add x29, sp, #16
		0x94000000, // bl
	}
	for _, c := range []struct {
		name  string
		code  []uint32
		pc    uint64
		size  uint64
		saved []arch.Saved
	}{
		{"microtask", microtask, 24, 32, []arch.Saved{{29, 16}, {30, 24}, {19, 0}, {20, 8}}},
		{"usual", usual, 20, 16, []arch.Saved{{29, 0}, {30, 8}}},
		{"before the frame pointer is set", microtask, 8, 0, nil},
		{"leaf", []uint32{0x320003e9, 0x910003fd}, 8, 0, nil},
		{"nothing saved", []uint32{0x910003fd, 0xd63f0100}, 8, 0, nil},
	} {
		p, ok := arch.FramePrologue(arm, armCode(c.code...), codeAt, codeAt+c.pc)
		if ok != (c.saved != nil) || ok && (p.Size != c.size || !slices.Equal(p.Saved, c.saved)) {
			t.Errorf("%s: %+v, %v; want %d, %+v", c.name, p, ok, c.size, c.saved)
		}
	}
	if p, ok := arch.FramePrologue(callbacks.ArchX86_64, armCode(microtask...), codeAt, codeAt+24); ok {
		t.Errorf("x86-64: %+v", p)
	}
}

// TestFutexCallAArch64 has the registers of a thread that a stop has interrupted in its sleep: the kernel set it back
// to the call.
func TestFutexCallAArch64(t *testing.T) {
	const svc, private = 0xd4000001, 128
	word := func(v uint32) code { return armCode(v, svc, 0xd503201f) } // the word is before the call
	for _, c := range []struct {
		name   string
		mem    code
		number uint64
		op     uint64
		want   bool
	}{
		{"wait", word(7), 98, private, true},
		{"wait with a mask", word(7), 98, 9 | private, true},
		{"the word has changed", word(8), 98, private, false},
		{"wake", word(7), 98, 1 | private, false},
		{"another call", word(7), 63, private, false},
		{"another instruction", armCode(7, 0xd503201f), 98, private, false},
	} {
		r := callbacks.Registers{Arch: callbacks.ArchAArch64, Syscall: -1}
		r.Set(0, codeAt)
		r.Set(1, c.op)
		r.Set(2, 7)
		r.Set(8, c.number)
		r.SetPC(codeAt + 4)
		in, ok := arch.FutexCall(&r, c.mem)
		if ok != c.want {
			t.Errorf("%s: %v, want %v", c.name, ok, c.want)
			continue
		}
		if at, waits := arch.IsFutexWait(&in); ok && (!waits || at != callbacks.Addr(codeAt) || in.PC() != codeAt+8) {
			t.Errorf("%s: waits for %v (%v) at %#x", c.name, at, waits, in.PC())
		}
	}
	// The result of the interrupted call has replaced the word's address.
	r := callbacks.Registers{Arch: callbacks.ArchAArch64}
	r.Set(0, ^uint64(511))
	arch.SetSyscall(&r, 98)
	if at, ok := arch.IsFutexWait(&r); ok {
		t.Errorf("a word at %v by the result of the call", at)
	}
}
