package callbackstest

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Block is a target with one block of memory.
type Block struct {
	Start uint64
	Bytes []byte
}

// ReadMemory implements callbacks.Memory.
func (b Block) ReadMemory(a callbacks.Address, p []byte) error {
	off, size := a.Offset-b.Start, uint64(len(b.Bytes))
	if off > size || uint64(len(p)) > size-off { // also below the start, and where address and length overflow
		return errors.New("unmapped")
	}
	copy(p, b.Bytes[off:])
	return nil
}
