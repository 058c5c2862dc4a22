package accesspath

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// blockSize is how much code is read at once: most accessors fit in one block.
const blockSize = 256

// code is the instructions of a target, read in blocks and remembered.
type code struct {
	mem    callbacks.Memory
	blocks map[uint64][]byte
	buf    [16]byte
}

// at gives up to n bytes from pc, at least one. n is at most 16.
func (c *code) at(pc uint64, n int) ([]byte, error) {
	base := pc &^ (blockSize - 1)
	b, err := c.block(base)
	if err != nil {
		return nil, err
	}
	off := int(pc - base)
	if off+n <= len(b) {
		return b[off : off+n], nil
	}
	if off >= len(b) {
		return nil, c.mem.ReadMemory(callbacks.At(pc), c.buf[:1])
	}
	k := copy(c.buf[:n], b[off:])
	if len(b) == blockSize {
		if rest, err := c.block(base + blockSize); err == nil {
			k += copy(c.buf[k:n], rest)
		}
	}
	return c.buf[:k], nil
}

// block gives the readable bytes from base up to the end of its block.
func (c *code) block(base uint64) ([]byte, error) {
	if b, ok := c.blocks[base]; ok {
		return b, nil
	}
	b := make([]byte, blockSize)
	if err := c.mem.ReadMemory(callbacks.At(base), b); err != nil {
		n := 0
		for n < blockSize && c.mem.ReadMemory(callbacks.At(base+uint64(n)), b[n:n+1]) == nil {
			n++
		}
		if n == 0 {
			return nil, err
		}
		b = b[:n]
	}
	if c.blocks == nil {
		c.blocks = map[uint64][]byte{}
	}
	c.blocks[base] = b
	return b, nil
}
