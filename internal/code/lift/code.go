package lift

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// blockSize is the size of one read in bytes: most accessors fit in one block.
const blockSize = 256

// Code caches the code of a target, read in blocks.
type Code struct {
	Mem    callbacks.Memory
	blocks map[uint64][]byte // nil for a block that is not completely readable
}

// BytesAt returns up to n bytes from pc, at least one.
func (c *Code) BytesAt(pc uint64, n int) ([]byte, error) {
	off := pc & (blockSize - 1)
	b := c.block(pc - off)
	if b == nil {
		return c.piecemeal(pc, n)
	}
	b = b[off:]
	if len(b) >= n {
		return b[:n], nil
	}
	if rest, err := c.BytesAt(pc+uint64(len(b)), n-len(b)); err == nil {
		b = append(b[:len(b):len(b)], rest...)
	}
	return b, nil
}

// block returns the bytes from base up to the end of its block, or nil.
func (c *Code) block(base uint64) []byte {
	b, ok := c.blocks[base]
	if !ok {
		b = make([]byte, blockSize)
		if c.Mem.ReadMemory(callbacks.Addr(base), b) != nil {
			b = nil
		}
		if c.blocks == nil {
			c.blocks = map[uint64][]byte{}
		}
		c.blocks[base] = b
	}
	return b
}

// piecemeal reads at the edge of readable memory.
func (c *Code) piecemeal(pc uint64, n int) ([]byte, error) {
	b := make([]byte, n)
	if c.Mem.ReadMemory(callbacks.Addr(pc), b) == nil {
		return b, nil
	}
	for i := range b {
		if err := c.Mem.ReadMemory(callbacks.Addr(pc+uint64(i)), b[i:i+1]); err != nil {
			if i == 0 {
				return nil, err
			}
			return b[:i], nil
		}
	}
	return b, nil
}
