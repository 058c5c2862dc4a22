package arch_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
)

// bytesAt is memory that has some bytes at an address and nothing elsewhere.
type bytesAt struct {
	low  uint64
	data []byte
}

func (m bytesAt) ReadMemory(a callbacks.Address, p []byte) error {
	if a.Offset < m.low || a.Offset+uint64(len(p)) > m.low+uint64(len(m.data)) {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	copy(p, m.data[a.Offset-m.low:])
	return nil
}

// TestAddressBefore computes an address that lies before the instruction: that of
// a function which a compiler put before the one that passes it on.
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
