package spin

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// Addresses of the code, of a stack, and of words that other threads may write.
const code, stack, shared = 0x1000, 0x8000, 0x3000

// loops are loops of a thread with rdi pointing to a word with value 0 that others may write, 1.0 in xmm1, and a
// denormal number in xmm2.
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
	// 1: movsd (%rdi),%xmm0; ucomisd %xmm1,%xmm0; jp 1b; jne 1b; ret
	"reads a double": {"\xf2\x0f\x10\x07\x66\x0f\x2e\xc1\x7a\xf6\x75\xf4\xc3", true, 1},
	// 1: movss (%rdi),%xmm0; pxor %xmm3,%xmm3; ucomiss %xmm3,%xmm0; jp 1b; je 1b; ret
	"reads a float": {"\xf3\x0f\x10\x07\x66\x0f\xef\xdb\x0f\x2e\xc3\x7a\xf3\x74\xf1\xc3", true, 1},
	// 1: movsd (%rdi),%xmm0; ucomisd %xmm2,%xmm0; jp 1b; jne 1b; ret
	"compares a denormal number": {"\xf2\x0f\x10\x07\x66\x0f\x2e\xc2\x7a\xf6\x75\xf4\xc3", false, 0},
	// 1: movsd (%rdi),%xmm0; ucomisd %xmm7,%xmm0; jb 1b; call 2f; jmp 1b; 2: ret
	"compares after a call": {"\xf2\x0f\x10\x07\x66\x0f\x2e\xc7\x72\xf6\xe8\x02\x00\x00\x00\xeb\xef\xc3", true, 1},
	// 1: movsd (%rdi),%xmm0; addsd %xmm0,%xmm0; ucomisd %xmm1,%xmm0; jb 1b; ret
	"compares a sum": {"\xf2\x0f\x10\x07\xf2\x0f\x58\xc0\x66\x0f\x2e\xc1\x72\xf2\xc3", true, 1},
	// 1: addsd %xmm1,%xmm0; ucomisd %xmm1,%xmm0; jb 1b; ret
	"adds": {"\xf2\x0f\x58\xc1\x66\x0f\x2e\xc1\x72\xf6\xc3", false, 0},
	// 1: inc %eax; cvtsi2sd %eax,%xmm0; ucomisd %xmm1,%xmm0; jb 1b; ret
	"counts as a double": {"\xff\xc0\xf2\x0f\x2a\xc0\x66\x0f\x2e\xc1\x72\xf4\xc3", false, 0},
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
			regs.Set(0, 1<<31)  // rax
			vectors := make([]byte, 512)
			binary.LittleEndian.PutUint64(vectors[160+16:], math.Float64bits(1))
			binary.LittleEndian.PutUint64(vectors[160+32:], 1)
			cfg.Vectors = func() []byte { return vectors }
			loop := Find(cfg, &regs)
			if (loop != nil) != tt.spins || loop != nil && len(loop.Words) != tt.words {
				t.Errorf("%+v, want %v with %d words", loop, tt.spins, tt.words)
			}
		})
	}
}
