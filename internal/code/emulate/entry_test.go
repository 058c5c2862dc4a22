package emulate

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// TestReadEntry reads frames of functions without tables.
func TestReadEntry(t *testing.T) {
	const rbx, rbp, rsp = 3, callbacks.X86RBP, callbacks.X86RSP // DWARF numbers
	// sub $0x60,%rsp; mov %rbx,(%rsp); mov %rbp,8(%rsp); mov %rsp,%rbx; and $-4096,%rsp; jmp .
	const aligned = "\x48\x83\xec\x60\x48\x89\x1c\x24\x48\x89\x6c\x24\x08\x48\x89\xe3" +
		"\x48\x81\xe4\x00\xf0\xff\xff\xeb\xfe"
	for name, c := range map[string]struct {
		code        string
		pc          uint64
		base, saved []arch.Saved
	}{
		"aligned": {aligned, code + 23, []arch.Saved{{Register: rbx, Offset: 0x68}},
			[]arch.Saved{{Register: rbx, Offset: 0x68}, {Register: rbp, Offset: 0x60}}},
		"in the middle": {aligned, code + 8, []arch.Saved{{Register: rsp, Offset: 0x68}},
			[]arch.Saved{{Register: rbx, Offset: 0x68}}},
		"at the entry": {aligned, code, []arch.Saved{{Register: rsp, Offset: 8}}, nil},
		// push %rbp; mov %rsp,%rbp; and $-64,%rsp; sub $0x80,%rsp; call
		"pushed": {"\x55\x48\x89\xe5\x48\x83\xe4\xc0\x48\x81\xec\x80\x00\x00\x00\xe8\x00\x00\x00\x00", code + 20,
			[]arch.Saved{{Register: rbp, Offset: 16}}, []arch.Saved{{Register: rbp, Offset: 16}}},
		// and $-4096,%rsp; jmp .: no register has the frame's address
		"lost": {"\x48\x81\xe4\x00\xf0\xff\xff\xeb\xfe", code + 7, nil, nil},
	} {
		mem := callbackstest.NewFake(callbacks.ArchX86_64)
		mem.Map(callbacks.Addr(code), append([]byte(c.code), make([]byte, 16)...))
		f, ok := ReadEntry(callbacks.ArchX86_64, mem, code, c.pc)
		slices.SortFunc(f.Saved, func(a, b arch.Saved) int { return int(b.Offset) - int(a.Offset) })
		if ok != (c.base != nil) || !slices.Equal(f.Bases, c.base) || ok && !slices.Equal(f.Saved, c.saved) {
			t.Errorf("%s: %+v, %v", name, f, ok)
		}
	}
	mem := callbackstest.NewFake(callbacks.ArchAArch64)
	mem.Map(callbacks.Addr(code), append([]byte(aligned), make([]byte, 16)...))
	if f, ok := ReadEntry(callbacks.ArchAArch64, mem, code, code+23); ok {
		t.Errorf("aarch64: %+v", f)
	}
}
