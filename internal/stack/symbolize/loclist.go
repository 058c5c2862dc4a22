package symbolize

import (
	"debug/dwarf"
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/internal/image/binread"
)

// maxLocations bounds a list of locations; long functions have some hundred for one variable.
const maxLocations = 1 << 12

// locationAt returns the location expression of a variable while its function is at pc; nil if the variable has
// no location there.
func (vs *variables) locationAt(e, unit *dwarf.Entry, pc uint64) []byte {
	return vs.locationIn(e.Val(dwarf.AttrLocation), unit, pc)
}

// locationIn returns the location expression at pc of an attribute: the expression itself, the offset of a list, or the
// number of a list. Lists have another form since DWARF 5.
func (vs *variables) locationIn(attribute any, unit *dwarf.Entry, pc uint64) []byte {
	low, _ := unit.Val(dwarf.AttrLowpc).(uint64)
	base, _ := unit.Val(dwarf.AttrLoclistsBase).(int64)
	switch loc := attribute.(type) {
	case []byte:
		return loc
	case int64: // offset
		if vs.versionOf(unit) < 5 {
			return findInOldList(sliceFrom(vs.locs, uint64(loc)), low, pc)
		}
		l := locList{Cursor: binread.Cursor{Data: sliceFrom(vs.loclists, uint64(loc))}, vs: vs, unit: newUnit(unit),
			base: low}
		return l.findExpression(pc)
	case uint64: // number in the table of lists
		at := sliceFrom(vs.loclists, uint64(base)+4*loc)
		if base <= 0 || loc > maxTable || len(at) < 4 {
			return nil
		}
		list := sliceFrom(vs.loclists, uint64(base)+uint64(binary.LittleEndian.Uint32(at)))
		l := locList{Cursor: binread.Cursor{Data: list}, vs: vs, unit: newUnit(unit), base: low}
		return l.findExpression(pc)
	}
	return nil
}

// maxTable bounds the numbers of lists, and of addresses, in one unit.
const maxTable = 1 << 24

// sliceFrom returns b from off; nil past its end.
func sliceFrom(b []byte, off uint64) []byte {
	if off > uint64(len(b)) {
		return nil
	}
	return b[off:]
}

// versionOf returns the version of DWARF in which a unit is written; 0 if unknown.
func (vs *variables) versionOf(unit *dwarf.Entry) int {
	if vs.versions == nil {
		vs.versions = map[dwarf.Offset]int{}
		for at := uint64(0); len(vs.versions) < maxUnits; {
			c := binread.NewCursor(vs.info, at)
			size := uint64(c.U32())
			if size == 0xffffffff { // the 64-bit format
				size = c.U64()
			}
			next := uint64(c.Pos) + size
			version := c.U16()
			if version >= 5 {
				kind := c.U8()
				c.Take(1 + 4) // sizes of addresses, offset of abbreviations
				if kind == unitSkeleton || kind == unitSplit {
					c.Take(8)
				}
			} else {
				c.Take(4 + 1)
			}
			if c.Bad || next <= at {
				break
			}
			vs.versions[dwarf.Offset(c.Pos)] = int(version)
			at = next
		}
	}
	return vs.versions[unit.Offset]
}

// maxUnits bounds the units of a file, and the kinds of units whose header has the number of a split file.
const (
	maxUnits                = 1 << 20
	unitSkeleton, unitSplit = 0x04, 0x05
)

// findInOldList finds the expression for pc in a list of .debug_loc: pairs of addresses with an
// expression, up to two zeros; a pair that starts with all ones sets the base.
func findInOldList(b []byte, base, pc uint64) []byte {
	for range maxLocations {
		if len(b) < 16 {
			return nil
		}
		low, high := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		b = b[16:]
		switch {
		case low == ^uint64(0):
			base = high
			continue
		case low == 0 && high == 0 || len(b) < 2:
			return nil
		}
		n := int(binary.LittleEndian.Uint16(b))
		if b = b[2:]; n > len(b) {
			return nil
		}
		if base+low <= pc && pc < base+high {
			return b[:n]
		}
		b = b[n:]
	}
	return nil
}

// locList is a list of .debug_loclists (DWARF 5, section 7.7.3).
type locList struct {
	binread.Cursor
	vs   *variables
	unit unitInfo
	base uint64
}

// readIndexed returns an address by its number in the unit's table.
func (l *locList) readIndexed() uint64 {
	addr, ok := l.vs.indexedAddress(l.unit, l.Uleb())
	if !ok {
		l.Fail()
	}
	return addr
}

// findExpression returns the expression for pc.
func (l *locList) findExpression(pc uint64) []byte {
	var otherwise []byte
	for range maxLocations {
		var low, high uint64
		switch l.U8() {
		case 9: // view_pair, of GCC
			l.Uleb()
			l.Uleb()
			continue
		case 5: // default_location
			otherwise = l.Take(l.Uleb())
			continue
		case 1: // base_addressx
			l.base = l.readIndexed()
			continue
		case 2: // startx_endx
			low, high = l.readIndexed(), l.readIndexed()
		case 3: // startx_length
			low = l.readIndexed()
			high = low + l.Uleb()
		case 4: // offset_pair
			low, high = l.base+l.Uleb(), l.base+l.Uleb()
		case 6: // base_address
			l.base = l.U64()
			continue
		case 7: // start_end
			low, high = l.U64(), l.U64()
		case 8: // start_length
			low = l.U64()
			high = low + l.Uleb()
		default: // the end
			return otherwise
		}
		expr := l.Take(l.Uleb())
		if l.Bad || low <= pc && pc < high {
			return expr
		}
	}
	return nil
}
