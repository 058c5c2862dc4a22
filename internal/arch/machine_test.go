package arch

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
)

// TestMachine runs ends of functions.
func TestMachine(t *testing.T) {
	const code, stack, other, thread, ret = 0x1000, 0x2000, 0x3000, 0x4000, 0x5678
	for name, tt := range map[string]struct {
		code string
		ok   bool
		sp   uint64
		more func(*Machine) bool
	}{
		"pops":           {"\x5d\xc3", true, stack + 16, func(m *Machine) bool { v, _ := m.Regs.Get(callbacks.X86RBP); return v == 7 }}, // pop %rbp; ret
		"another stack":  {"\x48\x8b\x24\x24\xc3", false, 0, nil},                                                                       // mov (%rsp),%rsp: 7 is nowhere
		"by a register":  {"\x48\x89\xdc\xc3", true, other + 8, nil},                                                                    // mov %rbx,%rsp; ret
		"unknown":        {"\x48\x89\xcc\xc3", false, 0, nil},                                                                           // mov %rcx,%rsp
		"branch":         {"\x48\x83\xfb\x00\x74\x01\x5d\xc3", true, stack + 16, nil},                                                   // cmp $0,%rbx; je 1f; pop %rbp; 1: ret
		"unknown branch": {"\x48\x83\xf9\x00\x74\x01\x5d\xc3", false, 0, nil},                                                           // cmp $0,%rcx
		"endless":        {"\xeb\xfe", false, 0, nil},                                                                                   // jmp .
		"thread word": {"\x64\x48\x89\x1c\x25\xf0\xff\xff\xff\x5d\xc3", true, stack + 16, func(m *Machine) bool { // mov %rbx,%fs:-16
			return m.ThreadWord == thread-16 && m.Stores[thread-16] == other
		}},
		"what it wrote": {"\x48\x89\x5c\x24\x08\x48\x8b\x64\x24\x08\xc3", true, other + 8, nil}, // mov %rbx,8(%rsp); mov 8(%rsp),%rsp; ret
		"call":          {"\xe8\x00\x00\x00\x00\x5d\xc3", true, stack + 16, func(m *Machine) bool { return m.Calls == 1 }},
		"no code":       {"", false, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			mem := callbackstest.NewFake(callbacks.ArchX86_64)
			mem.Map(callbacks.At(code), append([]byte(tt.code), make([]byte, 16)...))
			mem.Map(callbacks.At(stack), make([]byte, 64))
			mem.Map(callbacks.At(other), make([]byte, 64))
			for at, v := range map[uint64]uint64{stack: 7, stack + 8: ret, stack + 16: ret, other: ret} {
				if err := mem.Put(callbacks.At(at), 8, v); err != nil {
					t.Fatal(err)
				}
			}
			m := Machine{Mem: mem, Regs: callbacks.Registers{Arch: callbacks.ArchX86_64, ThreadPointer: thread}}
			m.Regs.SetPC(code)
			m.Regs.SetSP(stack)
			m.Regs.Set(3, other) // rbx
			ok := m.Return()
			if ok != tt.ok || ok && (m.Regs.PC() != ret || m.Regs.SP() != tt.sp || tt.more != nil && !tt.more(&m)) {
				t.Errorf("%v, %+v", ok, m.Regs)
			}
		})
	}
}
