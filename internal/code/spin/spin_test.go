package spin

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// Addresses of the code, of a stack, and of words that other threads may write.
const code, stack, shared = 0x1000, 0x8000, 0x3000

// loops are loops of a thread with rdi pointing to a word with value 0 that others may write.
var loops = map[string]struct {
	code  string
	spins bool
	words int
}{
	// 1: mov (%rdi),%eax; test %eax,%eax; je 1b; ret
	"reads a word": {"\x8b\x07\x85\xc0\x74\xfa\xc3", true, 1},
	// 1: mov (%rdi),%al; test %al,%al; je 1b; ret
	"reads a byte": {"\x8a\x07\x84\xc0\x74\xfa\xc3", true, 1},
	// 1: mov $1,%eax; lock cmpxchg %ecx,(%rdi); jne 1b; ret
	"exchanges a word": {"\xb8\x01\x00\x00\x00\xf0\x0f\xb1\x0f\x75\xf5\xc3", true, 1},
	// 1: mov $1,%al; lock cmpxchg %cl,(%rdi); jne 1b; ret
	"exchanges a byte": {"\xb0\x01\xf0\x0f\xb0\x0f\x75\xf8\xc3", true, 1},
	// 1: xor %eax,%eax; lock cmpxchg %ecx,(%rdi); jne 1b; ret
	"exchange succeeds": {"\x31\xc0\xf0\x0f\xb1\x0f\x75\xf8\xc3", false, 0},
	// 1: mov (%rdi),%eax; test %eax,%eax; jne 2f; dec %rsi; jne 1b; 2: ret
	"has a limit": {"\x8b\x07\x85\xc0\x75\x05\x48\xff\xce\x75\xf5\xc3", false, 0},
	// 1: mov (%rdi),%eax; syscall; test %eax,%eax; je 1b; ret
	"calls the kernel": {"\x8b\x07\x0f\x05\x85\xc0\x74\xf8\xc3", false, 0},
	// 1: mov (%rdi),%eax; jmp 1b
	"reads without a branch": {"\x8b\x07\xeb\xfc", false, 0},
	// 1: rep stos %al,(%rdi); mov (%rdi),%eax; test %eax,%eax; je 1b; ret
	"repeats a store": {"\xf3\xaa\x8b\x07\x85\xc0\x74\xf8\xc3", false, 0},
	// 1: jmp 1b
	"does nothing": {"\xeb\xfe", true, 0},
}

// TestFind tests the loops.
func TestFind(t *testing.T) {
	for name, tt := range loops {
		t.Run(name, func(t *testing.T) {
			mem := callbackstest.NewFake(callbacks.ArchX86_64)
			mem.Map(callbacks.Addr(code), append([]byte(tt.code), make([]byte, 16)...))
			mem.Map(callbacks.Addr(stack), make([]byte, 64))
			mem.Map(callbacks.Addr(shared), make([]byte, 64))
			d, err := lift.NewDecoder(callbacks.ArchX86_64, mem)
			if err != nil {
				t.Fatal(err)
			}
			no := func(string) bool { return false }
			cfg := &Config{Code: d, Mem: mem, Name: func(uint64) string { return "" }, Passes: no, Pure: no,
				Own: func(addr uint64) bool { return addr >= stack && addr < stack+64 }}
			regs := callbacks.Registers{Arch: callbacks.ArchX86_64, ThreadPointer: 0x9000, Syscall: -1}
			regs.SetPC(code)
			regs.SetSP(stack + 32)
			regs.Set(5, shared) // rdi
			regs.Set(4, 100000) // rsi
			regs.Set(2, 1)      // rcx
			loop := Find(cfg, &regs)
			if (loop != nil) != tt.spins || loop != nil && len(loop.Words) != tt.words {
				t.Errorf("%+v, want %v with %d words", loop, tt.spins, tt.words)
			}
		})
	}
}
