package dwarfx

import (
	"bytes"
	"encoding/binary"
)

// cursor reads little-endian numbers from a section. Its error sticks: once a
// read went past the end, bad is set, every further read gives 0, and the
// position stays at the end, so that loops over it come to an end.
type cursor struct {
	data []byte
	pos  int
	bad  bool
}

// at returns a cursor over data that stands at offset off; it is bad at once
// if off is not in data.
func at(data []byte, off uint64) cursor {
	if off > uint64(len(data)) {
		return cursor{data: data, pos: len(data), bad: true}
	}
	return cursor{data: data, pos: int(off)}
}

// take moves over n bytes and returns them, or nil if there are fewer.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.data)-c.pos) {
		c.pos, c.bad = len(c.data), true
		return nil
	}
	b := c.data[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return b
}

// u8 reads one byte.
func (c *cursor) u8() uint8 {
	if c.pos >= len(c.data) {
		c.bad = true
		return 0
	}
	b := c.data[c.pos]
	c.pos++
	return b
}

// u16 reads two bytes.
func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// u32 reads four bytes.
func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// u64 reads eight bytes.
func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// uint reads an unsigned integer of size bytes, 1 to 8.
func (c *cursor) uint(size int) uint64 {
	var v uint64
	for i, b := range c.take(uint64(size)) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// offset reads a section offset: 8 bytes in the 64-bit format, else 4.
func (c *cursor) offset(dw64 bool) uint64 {
	if dw64 {
		return c.u64()
	}
	return uint64(c.u32())
}

// unitLength reads the initial length of a unit and tells the format: the
// 64-bit one has an escape value before a longer length.
func (c *cursor) unitLength() (n uint64, dw64 bool) {
	n = uint64(c.u32())
	if n == 0xffffffff {
		return c.u64(), true
	}
	return n, false
}

// uleb reads an unsigned LEB128 number. Bits above the 64th are lost.
func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// cstring reads a string up to its terminating zero; one that is too long is
// damage.
func (c *cursor) cstring() string {
	n := bytes.IndexByte(c.data[c.pos:min(len(c.data), c.pos+maxString)], 0)
	if n < 0 {
		c.pos, c.bad = len(c.data), true
		return ""
	}
	s := string(c.data[c.pos : c.pos+n])
	c.pos += n + 1
	return s
}

// skipString moves behind a string.
func (c *cursor) skipString() {
	n := bytes.IndexByte(c.data[c.pos:], 0)
	if n < 0 {
		c.pos, c.bad = len(c.data), true
		return
	}
	c.pos += n + 1
}
