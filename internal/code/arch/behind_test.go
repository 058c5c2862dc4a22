package arch_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// bytesAt is memory with some bytes at an address; the rest is unmapped.
type bytesAt struct {
	low  uint64
	data []byte
}

func (m bytesAt) ReadMemory(a callbacks.Address, p []byte) error {
	off, size := a.Offset-m.low, uint64(len(m.data))
	if off > size || uint64(len(p)) > size-off {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	copy(p, m.data[off:])
	return nil
}

// TestAddressBefore computes an address before the instruction: that of a function placed before the function
// that passes it on.
func TestAddressBefore(t *testing.T) {
	const low, fn = 0x55bd00001000, 0x55bd00000fae
	code := []byte{
		0x48, 0x8d, 0x3d, 0xa7, 0xff, 0xff, 0xff, // lea -0x59(%rip),%rdi
		0xe8, 0, 0, 0, 0, // call
	}
	page := append(code[:len(code):len(code)], make([]byte, 4096-len(code))...)
	v, ok := arch.ArgBefore(callbacks.ArchX86_64, bytesAt{low, page}, low, low+uint64(len(code)), 0)
	if !ok || v.Kind != arch.ValueAddress || v.N != fn {
		t.Errorf("%+v, %v; want address %#x", v, ok, uint64(fn))
	}
}

// TestStackDepth computes the stack depth in a prologue, up to an indirect call.
func TestStackDepth(t *testing.T) {
	const low = 0x401000
	code := []byte{
		0xf3, 0x0f, 0x1e, 0xfa, // endbr64
		0x41, 0x55, // push %r13
		0x41, 0x89, 0xcd, // mov %ecx,%r13d
		0x53,                   // push %rbx
		0x48, 0x83, 0xec, 0x18, // sub $0x18,%rsp
		0xff, 0xd3, // call *%rbx
	}
	page := append(code[:len(code):len(code)], make([]byte, 4096-len(code))...)
	mem := bytesAt{low, page}
	for _, c := range []struct {
		pc   uint64
		want uint64
		ok   bool
	}{{0, 0, true}, {6, 8, true}, {7, 0, false}, {14, 40, true}, {16, 40, true}} {
		got, ok := arch.StackDepth(callbacks.ArchX86_64, mem, low, low+c.pc)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%d bytes (%v) at +%d, want %d (%v)", got, ok, c.pc, c.want, c.ok)
		}
	}
	if _, ok := arch.StackDepth(callbacks.ArchAArch64, mem, low, low+16); ok {
		t.Error("a depth on aarch64")
	}
}
