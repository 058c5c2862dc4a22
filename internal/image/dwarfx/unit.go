package dwarfx

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/image/spans"
)

// Unit is one compilation unit. Its methods use file addresses.
type Unit struct {
	d        *Data
	off, end uint64 // in .debug_info, including the header
	dies     uint64 // offset of the first entry
	format   format
	abbrevs  *abbrevs
	listed   bool // .debug_aranges has the unit's code

	haveRoot bool
	root     entry // of the unit itself

	haveFuncs bool
	funcs     spans.Set[uint64] // offsets of subprogram entries
	haveLines bool
	lines     *lineTable
}

// entry is one debugging information entry, with its kept attributes. A zero tag is the end of a list of
// children.
type entry struct {
	u        *Unit
	off      uint64
	tag      uint64
	children bool
	vals     [keptCount]value
}

// pcRange is a range of code, [low, high).
type pcRange struct{ low, high uint64 }

// header reads the unit header at off. Units that cannot hold code (type units)
// give nil. next is the offset of the next unit.
func (d *Data) header(info []byte, off uint64) (u *Unit, next uint64, err error) {
	c := newCursor(info, off)
	n, dw64 := c.unitLength()
	start := uint64(c.Pos)
	if c.Take(n) == nil || n == 0 {
		return nil, 0, fmt.Errorf(".debug_info: unit at %#x does not fit the section", off)
	}
	next = uint64(c.Pos)
	c = newCursor(info[:next], start)
	u = &Unit{d: d, off: off, end: next}
	u.format = format{version: c.U16(), dw64: dw64}
	kind := uint8(utCompile)
	var table uint64
	switch v := u.format.version; {
	case v >= 2 && v <= 4:
		table = c.offset(dw64)
		u.format.addrSize = c.U8()
	case v == 5:
		kind = c.U8()
		u.format.addrSize = c.U8()
		table = c.offset(dw64)
	default:
		d.fail(fmt.Errorf(".debug_info: unit at %#x has unknown version %d", off, v))
		return nil, next, nil
	}
	switch kind {
	case utSkeleton, utSplitCU:
		c.U64() // the identifier that both halves share
	case utType, utSplitTU:
		return nil, next, nil
	}
	if c.Bad || u.format.addrSize != 8 {
		d.fail(fmt.Errorf(".debug_info: unit at %#x has a damaged header", off))
		return nil, next, nil
	}
	u.dies = uint64(c.Pos)
	u.abbrevs = d.table(table, u.format)
	return u, next, nil
}

// cursor returns a cursor at the entry at off that ends with the unit; it is bad if off is not the
// offset of an entry of this unit.
func (u *Unit) cursor(off uint64) cursor {
	if off < u.dies || off > u.end {
		return newCursor(nil, 1)
	}
	return newCursor(u.d.section(".debug_info")[:u.end], off)
}

// shape reads the code of the entry at c; nil ends a list of children.
func (u *Unit) shape(c *cursor) *abbrev {
	off := c.Pos
	code := c.Uleb()
	if code == 0 {
		return nil
	}
	a := u.abbrevs.get(code)
	if a == nil {
		u.d.fail(fmt.Errorf(".debug_info: entry at %#x has no abbreviation", off))
		c.Fail()
	}
	return a
}

// values reads the attributes of an entry after its code.
func (u *Unit) values(c *cursor, a *abbrev, e *entry) {
	e.u, e.tag, e.children = u, a.tag, a.children
	for i := range a.attrs {
		s := &a.attrs[i]
		v := u.format.read(c, s.form)
		if s.form == formImplicit {
			v.u = uint64(s.value)
		}
		if s.keep != keepNone {
			e.vals[s.keep] = v
		}
	}
}

// entry reads the entry at off; false without one.
func (u *Unit) entry(off uint64) (e entry, ok bool) {
	c := u.cursor(off)
	a := u.shape(&c)
	if a == nil {
		return entry{}, false
	}
	u.values(&c, a, &e)
	e.off = off
	return e, !c.Bad
}

// rootEntry returns the unit's own entry.
func (u *Unit) rootEntry() *entry {
	if !u.haveRoot {
		u.haveRoot = true
		u.root, _ = u.entry(u.dies)
		u.root.u = u
	}
	return &u.root
}

// ranges returns the code of the unit.
func (u *Unit) ranges() []pcRange {
	if e := u.rootEntry(); e.tag == tagCompileUnit || e.tag == tagSkeletonUnit {
		return e.ranges()
	}
	return nil
}

// base returns the value of one of the base attributes of the unit, or def.
func (u *Unit) base(k kept, def uint64) uint64 {
	if v := u.rootEntry().vals[k]; v.form != 0 {
		return v.u
	}
	return def
}

// Entry returns the offset of the unit's own entry in .debug_info.
func (u *Unit) Entry() uint64 { return u.dies }

// IsFortran reports whether the unit was compiled from Fortran.
func (u *Unit) IsFortran() bool {
	switch u.rootEntry().vals[keepLanguage].u {
	case 0x07, 0x08, 0x0e, 0x22, 0x23, 0x2d: // 77, 90, 95, 03, 08, 18
		return true
	}
	return false
}

// compDir returns the compiler's working directory.
func (u *Unit) compDir() string { return u.str(u.rootEntry().vals[keepCompDir]) }

// str returns a string value of .debug_info.
func (u *Unit) str(v value) string { return u.strIn(v, ".debug_info") }

// strIn returns a string value; home is the section of inline strings.
func (u *Unit) strIn(v value, home string) string {
	d, section, off := u.d, ".debug_str", v.u
	switch v.form {
	case formString:
		section = home
	case formStrp:
	case formLineStrp:
		section = ".debug_line_str"
	case formStrpSup, formGNUStrpAlt:
		d = d.alt
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		var def, size = uint64(0), u.format.offsetSize()
		if u.format.version >= 5 {
			def = uint64(2 * size) // after the header of a lone table
		}
		c := newCursor(d.section(".debug_str_offsets"), u.base(keepStrBase, def))
		c.Take(v.u * uint64(size))
		off = c.offset(u.format.dw64)
		if c.Bad {
			return ""
		}
	default:
		return ""
	}
	if d == nil {
		return ""
	}
	c := newCursor(d.section(section), off)
	return c.cstring()
}

// addr returns an address value.
func (u *Unit) addr(v value) uint64 {
	if v.form == formAddr {
		return v.u
	}
	def := uint64(0)
	if u.format.version >= 5 {
		def = uint64(2 * u.format.offsetSize())
	}
	c := newCursor(u.d.section(".debug_addr"), u.base(keepAddrBase, def))
	c.Take(v.u * uint64(u.format.addrSize))
	return c.U64()
}
