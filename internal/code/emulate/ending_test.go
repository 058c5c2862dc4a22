package emulate

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
)

// Addresses for the tests of Ending.
const code, stack, other, thread, ret = 0x1000, 0x2000, 0x3000, 0x4000, 0x5678

// ends are ends of functions: the code, whether it can be followed, and the state after it.
var ends = map[string]struct {
	code string
	ok   bool
	sp   uint64
	more func(*Ending) bool
}{
	// pop %rbp; ret
	"pops": {"\x5d\xc3", true, stack + 16,
		func(m *Ending) bool { v, _ := m.Regs.Get(callbacks.X86RBP); return v == 7 }},
	// mov (%rsp),%rsp: 7 is unmapped
	"another stack": {"\x48\x8b\x24\x24\xc3", false, 0, nil},
	// mov %rbx,%rsp; ret
	"by a register": {"\x48\x89\xdc\xc3", true, other + 8, nil},
	// mov %rcx,%rsp
	"unknown": {"\x48\x89\xcc\xc3", false, 0, nil},
	// cmp $0,%rbx; je 1f; pop %rbp; 1: ret
	"branch": {"\x48\x83\xfb\x00\x74\x01\x5d\xc3", true, stack + 16, nil},
	// cmp $0,%rcx
	"unknown branch": {"\x48\x83\xf9\x00\x74\x01\x5d\xc3", false, 0, nil},
	// jmp .
	"endless": {"\xeb\xfe", false, 0, nil},
	// mov %rbx,%fs:-16
	"thread word": {"\x64\x48\x89\x1c\x25\xf0\xff\xff\xff\x5d\xc3", true, stack + 16, func(m *Ending) bool {
		v, err := m.Load(Number(thread-16), 8)
		return m.ThreadWord == thread-16 && v == Number(other) && err == nil
	}},
	// mov %rbx,8(%rsp); mov 8(%rsp),%rsp; ret
	"what it wrote": {"\x48\x89\x5c\x24\x08\x48\x8b\x64\x24\x08\xc3", true, other + 8, nil},
	"call":          {"\xe8\x00\x00\x00\x00\x5d\xc3", true, stack + 16, func(m *Ending) bool { return m.Calls == 1 }},
	"no code":       {"", false, 0, nil},

	// mov 24(%rsp),%rsp; ret
	"a stack in memory": {"\x48\x8b\x64\x24\x18\xc3", true, other + 8, nil},
	// mov %rcx,24(%rsp); mov 24(%rsp),%rsp
	"hidden": {"\x48\x89\x4c\x24\x18\x48\x8b\x64\x24\x18\xc3", false, 0, nil},
	// mov %rbx,8(%rsp); mov %cl,8(%rsp); mov 8(%rsp),%rsp
	"hidden byte": {"\x48\x89\x5c\x24\x08\x88\x4c\x24\x08\x48\x8b\x64\x24\x08\xc3", false, 0, nil},
	// mov %rbx,8(%rsp); movb $16,8(%rsp); mov 8(%rsp),%rsp; ret
	"byte": {"\x48\x89\x5c\x24\x08\xc6\x44\x24\x08\x10\x48\x8b\x64\x24\x08\xc3", true, other + 24, nil},
	// mov %rbx,24(%rsp); mov %rbx,32(%rsp); mov 28(%rsp),%rax
	"two words": {"\x48\x89\x5c\x24\x18\x48\x89\x5c\x24\x20\x48\x8b\x44\x24\x1c\x5d\xc3", true, stack + 16,
		rax(other << 32)},
	// mov %ebx,32(%rsp); mov 32(%rsp),%rax
	"with memory": {"\x89\x5c\x24\x20\x48\x8b\x44\x24\x20\x5d\xc3", true, stack + 16, rax(other | 5<<32)},
	// movups %xmm0,24(%rsp); mov 24(%rsp),%rsp
	"vector": {"\x0f\x11\x44\x24\x18\x48\x8b\x64\x24\x18\xc3", false, 0, nil},
	// movups %xmm0,16(%rsp)
	"its second half": {"\x0f\x11\x44\x24\x10\x48\x8b\x64\x24\x18\xc3", false, 0, nil},
	// movups %xmm0,32(%rsp)
	"before it": {"\x0f\x11\x44\x24\x20\x48\x8b\x64\x24\x18\xc3", true, other + 8, nil},
	// addq $16,24(%rsp); mov 24(%rsp),%rsp; ret
	"added to": {"\x48\x83\x44\x24\x18\x10\x48\x8b\x64\x24\x18\xc3", true, other + 24, nil},
	// cmp %rsp,%rbx; ja 1f; ud2; 1: pop %rbp; ret
	"greater": {"\x48\x39\xe3\x77\x02\x0f\x0b\x5d\xc3", true, stack + 16, nil},
	// pushfq; popfq; pop %rbp; ret
	"flags": {"\x9c\x9d\x5d\xc3", true, stack + 16, nil},
	// mov %rsp,%rbp; leave; ret
	"leave": {"\x48\x89\xe5\xc9\xc3", true, stack + 16, nil},
	// xor %eax,%eax; cmpxchg %rbx,(%rsp); jne 1f; ud2; 1: pop %rbp; ret
	"exchange fails": {"\x31\xc0\x48\x0f\xb1\x1c\x24\x75\x02\x0f\x0b\x5d\xc3", true, stack + 16, rax(7)},
	// mov $7,%eax; cmpxchg %rbx,(%rsp); jne 1f; pop %rsp; ret; 1: ud2
	"exchange": {"\xb8\x07\x00\x00\x00\x48\x0f\xb1\x1c\x24\x75\x02\x5c\xc3\x0f\x0b", true, other + 8, rax(7)},
	// cmpxchg %rbx,24(%rsp); mov 24(%rsp),%rsp
	"exchange with an unknown word": {"\x48\x0f\xb1\x5c\x24\x18\x48\x8b\x64\x24\x18\xc3", false, 0, nil},
	// mov %rbx,%rdi; rep stosq
	"repeated": {"\x48\x89\xdf\xf3\x48\xab\x5d\xc3", false, 0, nil},
	// syscall
	"system call": {"\x0f\x05\x5d\xc3", false, 0, nil},
	// loop 1f; 1: pop %rbp
	"loop": {"\xe2\x00\x5d\xc3", false, 0, nil},
	// vzeroupper; pop %rbp; ret
	"vzeroupper": {"\xc5\xf8\x77\x5d\xc3", true, stack + 16, nil},
	// mov %rbx,(%rcx)
	"to nobody knows": {"\x48\x89\x19\x5d\xc3", false, 0, nil},
	// xchg %rcx,%rbx; mov %rbx,%rsp
	"exchanged": {"\x48\x87\xcb\x48\x89\xdc\xc3", false, 0, nil},
	// prefetcht0 (%rbx)
	"only read": {"\x0f\x18\x0b\x48\x8b\x64\x24\x18\xc3", true, other + 8, nil},
}

// TestEnding runs ends of functions.
func TestEnding(t *testing.T) {
	for name, tt := range ends {
		t.Run(name, func(t *testing.T) {
			mem := callbackstest.NewFake(callbacks.ArchX86_64)
			mem.Map(callbacks.Addr(code), append([]byte(tt.code), make([]byte, 16)...))
			mem.Map(callbacks.Addr(stack), make([]byte, 64))
			mem.Map(callbacks.Addr(other), make([]byte, 64))
			for at, v := range map[uint64]uint64{
				stack: 7, stack + 8: ret, stack + 16: ret, stack + 24: other, stack + 32: 5<<32 | 9,
				other: ret, other + 16: ret,
			} {
				if err := mem.Put(callbacks.Addr(at), 8, v); err != nil {
					t.Fatal(err)
				}
			}
			m := Ending{Mem: mem, Regs: callbacks.Registers{Arch: callbacks.ArchX86_64, ThreadPointer: thread}}
			m.Regs.SetPC(code)
			m.Regs.SetSP(stack)
			m.Regs.Set(3, other) // rbx
			ok := m.RunToReturn()
			if ok != tt.ok || ok && (m.Regs.PC() != ret || m.Regs.SP() != tt.sp || tt.more != nil && !tt.more(&m)) {
				t.Errorf("%v, %+v", ok, m.Regs)
			}
		})
	}
}

// rax returns a check of the value of rax.
func rax(want uint64) func(*Ending) bool {
	return func(m *Ending) bool {
		v, ok := m.Regs.Get(0)
		return ok && v == want
	}
}

// TestEndingOfAArch64 runs ends of functions that return to the link register.
func TestEndingOfAArch64(t *testing.T) {
	const mask, signature = 0x7f << 48, 0x2a << 48
	for name, tt := range map[string]struct {
		code  []uint32
		ok    bool
		sp    uint64
		calls int
		word  uint64 // written relative to the thread pointer
	}{
		"restores": {[]uint32{0xf84107fe, 0xd65f03c0}, true, stack + 16, 0, 0}, // ldr x30,[sp],#16; ret
		"stack":    {[]uint32{0x9100027f, 0xd65f03c0}, true, other, 0, 0},      // mov sp,x19; ret
		"unknown":  {[]uint32{0x9100029f, 0xd65f03c0}, false, 0, 0, 0},         // mov sp,x20; ret
		// bl 1f; mov sp,x19; ldr x30,[sp],#16; ret; 1: mrs x0,tpidr_el0; mov x27,#16; str x19,[x0,x27]; ret
		"helper": {[]uint32{0x94000004, 0x9100027f, 0xf84107fe, 0xd65f03c0, 0xd53bd040, 0xd280021b, 0xf83b6813,
			0xd65f03c0}, true, other + 16, 1, thread + 16},
		// bl 1f; ldr x30,[sp],#16; ret; 1: mov x19,#0; b .: the helper does not return, and changes nothing
		"endless helper": {[]uint32{0x94000003, 0xf84107fe, 0xd65f03c0, 0xd2800013, 0x14000000}, true, stack + 16, 1,
			0},
		// bl 1f; mov sp,x9; ret; 1: b .: x9 is unknown after a call that is not followed
		"skipped helper": {[]uint32{0x94000003, 0x9100013f, 0xd65f03c0, 0x14000000}, false, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			mem := callbackstest.NewFake(callbacks.ArchAArch64)
			var text []byte
			for _, w := range tt.code {
				text = binary.LittleEndian.AppendUint32(text, w)
			}
			mem.Map(callbacks.Addr(code), text)
			for _, at := range []uint64{stack, other} {
				mem.Map(callbacks.Addr(at), make([]byte, 64))
				if err := mem.Put(callbacks.Addr(at), 8, ret|signature); err != nil {
					t.Fatal(err)
				}
			}
			m := Ending{Mem: mem, Regs: callbacks.Registers{Arch: callbacks.ArchAArch64, ThreadPointer: thread,
				PACMask: mask}}
			m.Regs.SetPC(code)
			m.Regs.SetSP(stack)
			for r, v := range map[int]uint64{9: other, 19: other, callbacks.AArch64LR: ret | signature} {
				m.Regs.Set(r, v)
			}
			if ok := m.RunToReturn(); ok != tt.ok || ok && (m.Regs.PC() != ret || m.Regs.SP() != tt.sp ||
				m.Calls != tt.calls || m.ThreadWord != tt.word) {
				t.Errorf("%v, %d calls, word %#x, %+v", ok, m.Calls, m.ThreadWord, m.Regs)
			}
		})
	}
}
