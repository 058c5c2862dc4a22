package dwarfx

import "github.com/ompd-inspect/ompd-inspect/internal/image/binread"

// cursor reads a section.
type cursor struct{ binread.Cursor }

// newCursor returns a cursor over data at offset off; it is bad if off is not in data.
func newCursor(data []byte, off uint64) cursor { return cursor{binread.NewCursor(data, off)} }

// offset reads a section offset: 8 bytes in the 64-bit format, else 4.
func (c *cursor) offset(dw64 bool) uint64 {
	if dw64 {
		return c.U64()
	}
	return uint64(c.U32())
}

// unitLength reads the initial length of a unit and returns the format: the 64-bit one has an
// escape value before a longer length.
func (c *cursor) unitLength() (n uint64, dw64 bool) {
	n = uint64(c.U32())
	if n == 0xffffffff {
		return c.U64(), true
	}
	return n, false
}

// cstring reads a NUL-terminated string; a longer one than maxString is damage.
func (c *cursor) cstring() string { return c.String(maxString) }
