package elfx

import (
	"bytes"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/image/binread"
)

// Memory of the standard library's DWARF reader for a unit and for an abbreviation with its attributes, in
// bytes.
const (
	unitCost   = 256
	abbrevCost = 96
)

// longString is the maximal length of strings in debug information, in bytes. The standard library copies each
// string that it reads, and debug information may refer to one string any number of times.
const longString = 256 << 10

// checkDWARF refuses sections that would make the standard library's DWARF reader take
// disproportionate memory or time: it reads all unit headers at once, each with its table of
// abbreviations.
func (f *File) checkDWARF(sec map[string][]byte) error {
	for _, name := range []string{"str", "line_str"} {
		if err := checkStrings(sec[name]); err != nil {
			return fmt.Errorf("section .debug_%s: %w", name, err)
		}
	}
	abbrev, seen := sec["abbrev"], map[uint64]bool{}
	units, left := uint64(0), len(abbrev)
	for c := (binread.Cursor{Data: sec["info"]}); !c.Bad && c.Pos < len(c.Data); units++ {
		off, next, ok := unitHeader(&c)
		if !ok {
			break
		}
		if c.Pos = next; seen[off] {
			continue
		}
		if len(seen)%1024 == 0 {
			if err := f.memory.Take("units of debug information", 1024*unitCost); err != nil {
				return err
			}
		}
		seen[off] = true
		if left -= tableSize(abbrev, off); left < 0 {
			return fmt.Errorf("%w: tables of abbreviations overlap", ErrDamaged)
		}
	}
	return f.memory.Take("units of debug information", units*unitCost+uint64(len(abbrev)-left)*abbrevCost/2)
}

// checkStrings searches for an overlong string: each window of half that length must contain a terminator.
func checkStrings(tab []byte) error {
	const window = longString / 2
	for ; len(tab) > window; tab = tab[window:] {
		if bytes.LastIndexByte(tab[:window], 0) < 0 {
			return fmt.Errorf("%w: a string of more than %d bytes", ErrDamaged, window)
		}
	}
	return nil
}

// unitHeader reads the header of a unit: the offset of its abbreviations, and the offset of the
// next unit.
func unitHeader(c *binread.Cursor) (abbrevs uint64, next int, ok bool) {
	size, wide := uint64(c.U32()), false
	if size == 0xffffffff {
		size, wide = c.U64(), true
	}
	if c.Bad || size == 0 || size > uint64(len(c.Data)-c.Pos) {
		return 0, 0, false
	}
	next = c.Pos + int(size)
	if c.U16() >= 5 {
		c.U16() // kind of unit, size of addresses
	}
	if wide {
		abbrevs = c.U64()
	} else {
		abbrevs = uint64(c.U32())
	}
	return abbrevs, next, !c.Bad && c.Pos <= next
}

// tableSize returns the length of the table of abbreviations at an offset.
func tableSize(abbrev []byte, off uint64) int {
	const implicit = 0x21 // DW_FORM_implicit_const: a number follows
	if off >= uint64(len(abbrev)) {
		return 0
	}
	c := binread.Cursor{Data: abbrev, Pos: int(off)}
	for !c.Bad && c.Uleb() != 0 {
		c.Uleb() // tag
		c.U8()   // whether children follow
		for attr, form := c.Uleb(), c.Uleb(); !c.Bad && (attr != 0 || form != 0); attr, form = c.Uleb(), c.Uleb() {
			if form == implicit {
				c.Sleb()
			}
		}
	}
	return c.Pos - int(off)
}
