// Package binread reads the little-endian and LEB128 numbers of tables that may be
// damaged: unwind tables and DWARF.
package binread

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrEnd means that a value extends past the end of the data.
var ErrEnd = errors.New("past the end of the data")

// maxLEB is the length of the longest accepted LEB128 number, in bytes: 64 bits need 10, and assemblers pad a
// little.
const maxLEB = 16

// Cursor reads Data from front to back. Its error is permanent: after a read past the end, Bad is set, every
// further read returns 0, and Pos stays at the end, so that loops terminate.
type Cursor struct {
	Data []byte
	Pos  int // offset of the next byte; may be set to any offset in Data
	Bad  bool
	at   int // start of the failed read
}

// NewCursor returns a cursor over data at offset off; it is bad if off is not in data.
func NewCursor(data []byte, off uint64) Cursor {
	if off > uint64(len(data)) {
		return Cursor{Data: data, Pos: len(data), Bad: true, at: len(data)}
	}
	return Cursor{Data: data, Pos: int(off)}
}

// Fail makes the cursor bad, as a read past the end would.
func (c *Cursor) Fail() { c.failAt(c.Pos) }

func (c *Cursor) failAt(pos int) {
	if !c.Bad {
		c.Bad, c.at = true, pos
	}
	c.Pos = len(c.Data)
}

// Err returns nil, or an error that is ErrEnd and has the offset of the failed read.
func (c *Cursor) Err() error {
	if !c.Bad {
		return nil
	}
	return fmt.Errorf("offset %#x: %w", c.at, ErrEnd)
}

// Take skips n bytes and returns them, or nil if there are fewer.
func (c *Cursor) Take(n uint64) []byte {
	if c.Bad || n > uint64(len(c.Data)-c.Pos) {
		c.Fail()
		return nil
	}
	b := c.Data[c.Pos : c.Pos+int(n)]
	c.Pos += int(n)
	return b
}

// U8 reads one byte.
func (c *Cursor) U8() uint8 {
	if c.Bad || c.Pos >= len(c.Data) {
		c.Fail()
		return 0
	}
	b := c.Data[c.Pos]
	c.Pos++
	return b
}

// U16 reads two bytes.
func (c *Cursor) U16() uint16 {
	if b := c.Take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (c *Cursor) U32() uint32 {
	if b := c.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (c *Cursor) U64() uint64 {
	if b := c.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uint reads an unsigned integer of size bytes, 1 to 8.
func (c *Cursor) Uint(size int) uint64 {
	var v uint64
	for i, b := range c.Take(uint64(size)) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// Uleb reads an unsigned LEB128 number. Bits above the 64th are lost.
func (c *Cursor) Uleb() uint64 {
	v, _, _ := c.leb()
	return v
}

// Sleb reads a signed LEB128 number.
func (c *Cursor) Sleb() int64 {
	v, last, bits := c.leb()
	if last&0x40 != 0 && bits < 64 {
		v |= ^uint64(0) << bits
	}
	return int64(v)
}

// leb reads a LEB128 number, and returns its last byte and its number of bits.
func (c *Cursor) leb() (v uint64, last byte, bits int) {
	start := c.Pos
	for bits < 7*maxLEB {
		b := c.U8()
		v |= uint64(b&0x7f) << bits // shifts of 64 and more give 0
		bits += 7
		if c.Bad {
			return 0, 0, 0
		}
		if b < 0x80 {
			return v, b, bits
		}
	}
	c.failAt(start)
	return 0, 0, 0
}

// String reads a NUL-terminated text of less than limit bytes.
func (c *Cursor) String(limit int) string {
	if c.Bad {
		return ""
	}
	n := bytes.IndexByte(c.Data[c.Pos:min(len(c.Data), c.Pos+limit)], 0)
	if n < 0 {
		c.Fail()
		return ""
	}
	s := string(c.Data[c.Pos : c.Pos+n])
	c.Pos += n + 1
	return s
}

// SkipString skips a string.
func (c *Cursor) SkipString() {
	if c.Bad {
		return
	}
	n := bytes.IndexByte(c.Data[c.Pos:], 0)
	if n < 0 {
		c.Fail()
		return
	}
	c.Pos += n + 1
}
