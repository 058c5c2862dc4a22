package arch

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
)

// TestConditions reads the condition flags of threads.
func TestConditions(t *testing.T) {
	const parity, negative, zero, carry, overflow = 16, 8, 4, 2, 1
	for _, tt := range []struct {
		arch  callbacks.Arch
		flags uint64
		want  uint64
		known bool
	}{
		{callbacks.ArchX86_64, 0, carry, false},
		{callbacks.ArchX86_64, 0x202, carry, true}, // no flag: no borrow
		{callbacks.ArchX86_64, 0x203, 0, true},
		{callbacks.ArchX86_64, 0x246, parity | zero | carry, true},
		{callbacks.ArchX86_64, 0xa83, negative | overflow, true},
		{callbacks.ArchAArch64, 0, 0, false},
		{callbacks.ArchAArch64, 1 << 63, 0, true},
		{callbacks.ArchAArch64, 1<<63 | 0x60001000, zero | carry, true},
		{callbacks.ArchAArch64, 1<<63 | 0x90000000, negative | overflow, true},
	} {
		got, known := Conditions(&callbacks.Registers{Arch: tt.arch, Flags: tt.flags})
		if got != tt.want || known != tt.known {
			t.Errorf("%v %#x: %04b, %v", tt.arch, tt.flags, got, known)
		}
	}
	regs, err := FromUserRegs(callbacks.ArchAArch64, make([]byte, arm64RegsSize))
	if _, known := Conditions(&regs); err != nil || !known {
		t.Errorf("all flags clear: %+v, %v", regs, err)
	}
}

// TestReadsSettled reads functions for atomic operations, and code that only resembles them.
func TestReadsSettled(t *testing.T) {
	const at = 0x1000
	const adrp, ldrb, cbz, ret = 0xd0000490, 0x39416210, 0x34000070, 0xd65f03c0
	for name, tt := range map[string]struct {
		words []uint32
		want  bool
	}{
		"swpa":            {[]uint32{adrp, ldrb, cbz, 0xb8a08020, ret}, true},
		"casa":            {[]uint32{adrp, ldrb, cbz, 0x88e07c41, ret}, true},
		"ldaddal":         {[]uint32{adrp, ldrb, cbz, 0xb8e00020, ret}, true},
		"a plain store":   {[]uint32{adrp, ldrb, cbz, 0xb9000020, ret}, false},
		"more code":       {[]uint32{adrp, ldrb, cbz, 0xb8a08020, cbz}, false},
		"other registers": {[]uint32{0xd0000480, 0x39416000, 0x34000060, 0xb8a08020, ret}, false},
		"no address":      {[]uint32{ret, ldrb, cbz, 0xb8a08020, ret}, false},
	} {
		var code []byte
		for _, w := range tt.words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		for _, a := range []callbacks.Arch{callbacks.ArchAArch64, callbacks.ArchX86_64} {
			mem := callbackstest.NewFake(a)
			mem.Map(callbacks.Addr(at), code)
			want := tt.want && a == callbacks.ArchAArch64
			if got := ReadsSettled(a, mem, at+4, 1); got != want || ReadsSettled(a, mem, at+4, 4) ||
				ReadsSettled(a, mem, at+8, 1) {
				t.Errorf("%s, %v: %v", name, a, got)
			}
		}
	}
}
