package trace

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// headerArena is the offset in struct recorder_header of the address of the rings' memory.
const headerArena = 88

// Range is a range of addresses: [Low, High).
type Range struct{ Low, High uint64 }

// Ranges returns the memory of a recorder: the header with its directory, and the rings. A copy of it can be
// read like the target. The list is empty if no thread has a ring.
func (r *Reader) Ranges() ([]Range, error) {
	h, err := r.header()
	if err != nil || h.Rings == 0 {
		return nil, err
	}
	b := make([]byte, 8)
	if err := r.mem.ReadMemory(callbacks.Addr(r.at+headerArena), b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	rings := le.Uint64(b)
	size := min(h.Used, h.Limit)
	if rings+size < rings || size > copiedMax {
		return nil, fmt.Errorf("%w: %d bytes of rings at %#x", ErrDamaged, size, rings)
	}
	return []Range{{r.at, r.at + headerSize + 8*ringsMax}, {rings, rings + size}}, nil
}
