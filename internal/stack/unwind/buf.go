package unwind

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/image/binread"
)

// buf reads a table from front to back. After a first error every read returns 0 and the error
// stays.
type buf struct {
	b    []byte
	addr uint64 // virtual address of b[0]
	err  error
}

func (b *buf) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
	}
	b.b = nil
}

// cursor returns a cursor at the first byte.
func (b *buf) cursor() binread.Cursor { return binread.Cursor{Data: b.b} }

// pass advances past the bytes that c has read.
func (b *buf) pass(c binread.Cursor) {
	if c.Bad {
		b.fail("what is at %#x reaches past the end", b.addr)
		return
	}
	b.b, b.addr = b.b[c.Pos:], b.addr+uint64(c.Pos)
}

// take returns the next n bytes.
func (b *buf) take(n uint64) []byte {
	if n > uint64(len(b.b)) {
		b.fail("%d bytes at %#x reach past the end", n, b.addr)
		return nil
	}
	p := b.b[:n]
	b.b, b.addr = b.b[n:], b.addr+n
	return p
}

func (b *buf) u8() byte {
	c := b.cursor()
	v := c.U8()
	b.pass(c)
	return v
}

func (b *buf) u16() uint16 {
	c := b.cursor()
	v := c.U16()
	b.pass(c)
	return v
}

func (b *buf) u32() uint32 {
	c := b.cursor()
	v := c.U32()
	b.pass(c)
	return v
}

func (b *buf) u64() uint64 {
	c := b.cursor()
	v := c.U64()
	b.pass(c)
	return v
}

func (b *buf) uleb() uint64 {
	c := b.cursor()
	v := c.Uleb()
	b.pass(c)
	return v
}

func (b *buf) sleb() int64 {
	c := b.cursor()
	v := c.Sleb()
	b.pass(c)
	return v
}

// takeBlock reads a length and that number of bytes.
func (b *buf) takeBlock() []byte { return b.take(b.uleb()) }

func (b *buf) readCString() string {
	c := b.cursor()
	v := c.String(len(c.Data))
	b.pass(c)
	return v
}

// readWord reads an unsigned number of size 1, 2, 4 or 8.
func (b *buf) readWord(size int) uint64 {
	switch size {
	case 1:
		return uint64(b.u8())
	case 2:
		return uint64(b.u16())
	case 4:
		return uint64(b.u32())
	case 8:
		return b.u64()
	}
	b.fail("address size %d", size)
	return 0
}

// Pointer encodings of .eh_frame (LSB core specification, DW_EH_PE_*).
const (
	peOmit     = 0xff
	peAbsolute = 0x00
	peULEB     = 0x01
	peUData2   = 0x02
	peUData4   = 0x03
	peUData8   = 0x04
	peSLEB     = 0x09
	peSData2   = 0x0a
	peSData4   = 0x0b
	peSData8   = 0x0c

	pePCRel   = 0x10
	peTextRel = 0x20
	peDataRel = 0x30
	peFuncRel = 0x40
	peAligned = 0x50

	peFormat   = 0x0f
	peBase     = 0x70
	peIndirect = 0x80
)

// bases are the virtual addresses to which pointers may be relative.
type bases struct{ text, data, function uint64 }

// readPointer reads a pointer in encoding enc. For an indirect pointer, it returns the address of the pointer.
func (b *buf) readPointer(enc byte, rel bases) uint64 {
	if enc == peOmit {
		return 0
	}
	base := uint64(0)
	switch enc & peBase {
	case pePCRel:
		base = b.addr
	case peTextRel:
		base = rel.text
	case peDataRel:
		base = rel.data
	case peFuncRel:
		base = rel.function
	case peAligned:
		b.take(-b.addr & 7)
	}
	v := b.readFormat(enc & peFormat)
	if v == 0 { // a null pointer is null in every encoding
		return 0
	}
	return base + v
}

// readFormat reads a number in one of the formats of pointers.
func (b *buf) readFormat(format byte) uint64 {
	switch format {
	case peAbsolute, peUData8, peSData8:
		return b.u64()
	case peULEB:
		return b.uleb()
	case peUData2:
		return uint64(b.u16())
	case peUData4:
		return uint64(b.u32())
	case peSLEB:
		return uint64(b.sleb())
	case peSData2:
		return uint64(int64(int16(b.u16())))
	case peSData4:
		return uint64(int64(int32(b.u32())))
	}
	b.fail("pointer encoding %#x", format)
	return 0
}
