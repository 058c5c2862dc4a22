package binread

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
)

// TestLEB compares numbers with their encodings (DWARF 5, section 7.6).
func TestLEB(t *testing.T) {
	for _, tt := range []struct {
		in       []byte
		unsigned uint64
		signed   int64
		n        int
	}{
		{[]byte{2}, 2, 2, 1},
		{[]byte{0x7f}, 127, -1, 1},
		{[]byte{0x80, 1}, 128, 128, 2},
		{[]byte{0x80, 0x7f}, 16256, -128, 2},
		{[]byte{0xff, 0}, 127, 127, 2},
		{[]byte{0x82, 0x80, 0x80, 0}, 2, 2, 4}, // padded
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, math.MaxUint64, -1, 10},
		{[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 1 << 63, math.MinInt64, 10},
		{append(bytes.Repeat([]byte{0x81}, maxLEB-1), 0), 0x8102040810204081, -0x7efdfbf7efdfbf7f, maxLEB},
	} {
		u, s := Cursor{Data: tt.in}, Cursor{Data: tt.in}
		if v := u.Uleb(); v != tt.unsigned || u.Pos != tt.n || u.Bad {
			t.Errorf("% x: unsigned %d, position %d, bad %v; want %d, %d", tt.in, v, u.Pos, u.Bad, tt.unsigned, tt.n)
		}
		if v := s.Sleb(); v != tt.signed || s.Pos != tt.n || s.Bad {
			t.Errorf("% x: signed %d, position %d, bad %v; want %d, %d", tt.in, v, s.Pos, s.Bad, tt.signed, tt.n)
		}
	}
}

// TestDamaged checks that unterminated values fail at their start, permanently.
func TestDamaged(t *testing.T) {
	endless := append([]byte{0}, bytes.Repeat([]byte{0x80}, maxLEB+1)...)
	for name, read := range map[string]func(*Cursor){
		"Uleb": func(c *Cursor) { c.Uleb() }, "Sleb": func(c *Cursor) { c.Sleb() },
		"Take": func(c *Cursor) { c.Take(maxLEB + 2) }, "String": func(c *Cursor) { c.String(8) },
		"SkipString": (*Cursor).SkipString, "Fail": (*Cursor).Fail,
	} {
		c := NewCursor(endless, 1)
		read(&c)
		if err := c.Err(); !errors.Is(err, ErrEnd) || err.Error() != "offset 0x1: "+ErrEnd.Error() {
			t.Errorf("%s: error %v", name, err)
		}
		c.Pos = 0 // moving back does not clear the error
		if c.U8() != 0 || c.U64() != 0 || c.Uleb() != 0 || c.Take(1) != nil || c.String(8) != "" {
			t.Errorf("%s: reads go on after an error", name)
		}
	}
	if c := NewCursor(endless, uint64(len(endless))+1); !c.Bad || c.Pos != len(endless) {
		t.Error("a cursor past the end is good")
	}
}

func TestNumbers(t *testing.T) {
	c := NewCursor([]byte("\xff\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11text\x00z\x00"), 1)
	got := fmt.Sprintf("%#x %#x %#x %#x %s", c.U16(), c.U32(), c.U64(), c.Uint(3), c.String(5))
	if want := "0x201 0x6050403 0xe0d0c0b0a090807 0x11100f text"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if c.SkipString(); c.Pos != len(c.Data) || c.Err() != nil {
		t.Errorf("position %d, %v", c.Pos, c.Err())
	}
}

// FuzzCursor reads numbers of all kinds from arbitrary bytes: it must not panic or move backwards, and must
// agree with encoding/binary.
func FuzzCursor(f *testing.F) {
	f.Add([]byte{0x80, 1, 2, 3}, []byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, data, ops []byte) {
		c := Cursor{Data: data}
		for _, op := range ops {
			before, bad := c.Pos, c.Bad
			switch op % 8 {
			case 0:
				v := c.Uleb()
				if want, n := binary.Uvarint(data[before:]); !bad && n > 0 && (v != want || c.Pos != before+n) {
					t.Fatalf("at %d: %d, want %d", before, v, want)
				}
			case 1:
				c.Sleb()
			case 2:
				c.U16()
			case 3:
				c.U32()
			case 4:
				c.U64()
			case 5:
				c.Take(uint64(op))
			case 6:
				c.String(int(op))
			case 7:
				c.SkipString()
			}
			if c.Pos < before || c.Pos > len(data) || bad && !c.Bad {
				t.Fatalf("position %d after %d of %d", c.Pos, before, len(data))
			}
		}
	})
}
