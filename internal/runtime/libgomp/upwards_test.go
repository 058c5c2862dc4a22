package libgomp

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// nowhere is a memory without readable bytes.
type nowhere struct{}

func (nowhere) ReadMemory(a callbacks.Address, _ []byte) error {
	return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
}

// TestReadUpwards reads around thread pointers of damaged threads; the range wraps around the end of the address
// space.
func TestReadUpwards(t *testing.T) {
	for _, r := range [][2]uint64{{1<<64 - 96, 0x70}, {1<<64 - 96, 1<<64 - 8}, {0, 1 << 40}, {0x70, 0x70}, {0, 8192}} {
		if b := readUpwards(nowhere{}, r[0], r[1]); b != nil {
			t.Errorf("%#x to %#x: %d bytes of nothing", r[0], r[1], len(b))
		}
	}
}
