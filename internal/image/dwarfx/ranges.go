package dwarfx

import "fmt"

// ranges returns the code of an entry; empty if it has no code of its own.
func (e *entry) ranges() []pcRange {
	u := e.u
	if v := e.vals[keepRanges]; v.form != 0 {
		return u.rangeList(v)
	}
	lo, hi := e.vals[keepLow], e.vals[keepHigh]
	if !lo.isAddr() || hi.form == 0 {
		return nil
	}
	low := u.addr(lo)
	if hi.isAddr() {
		return []pcRange{{low, u.addr(hi)}}
	}
	return []pcRange{{low, low + hi.u}}
}

// covers reports whether pc is in the code of an entry.
func (e *entry) covers(pc uint64) bool {
	for _, r := range e.ranges() {
		if r.low <= pc && pc < r.high && !discarded(r.low) {
			return true
		}
	}
	return false
}

// rangeList reads the list that an attribute refers to.
func (u *Unit) rangeList(v value) []pcRange {
	if u.format.version < 5 {
		return u.oldRanges(v.u)
	}
	off := v.u
	if v.form == formRnglistx {
		size := u.format.offsetSize()
		def := uint64(12)
		if u.format.dw64 {
			def = 20
		}
		base := u.base(keepRangesBase, def)
		c := newCursor(u.d.section(".debug_rnglists"), base)
		c.Take(v.u * uint64(size))
		off = base + c.offset(u.format.dw64)
		if c.Bad {
			u.damagedRanges(v.u)
			return nil
		}
	}
	return u.newRanges(off)
}

// damagedRanges records an unterminated range list.
func (u *Unit) damagedRanges(off uint64) {
	u.d.fail(fmt.Errorf("damaged range list at %#x of the unit at %#x", off, u.off))
}

// lowPC returns the address to which range lists are relative.
func (u *Unit) lowPC() uint64 {
	if v := u.rootEntry().vals[keepLow]; v.isAddr() {
		return u.addr(v)
	}
	return 0
}

// oldRanges reads a list of .debug_ranges (DWARF 2 to 4): pairs of addresses up
// to a pair of zeros; a pair that starts with all ones sets the base.
func (u *Unit) oldRanges(off uint64) []pcRange {
	c := newCursor(u.d.section(".debug_ranges"), off)
	base := u.lowPC()
	var list []pcRange
	for ; u.d.budget > 0; u.d.budget-- {
		low, high := c.U64(), c.U64()
		switch {
		case c.Bad:
			u.damagedRanges(off)
			return list
		case low == ^uint64(0):
			base = high
		case low == 0 && high == 0:
			return list
		case low < high && low < ^uint64(1):
			list = append(list, pcRange{base + low, base + high})
		}
	}
	u.damagedRanges(off)
	return list
}

// newRanges reads a list of .debug_rnglists (DWARF 5): entries of several kinds
// (DW_RLE_…) up to one that ends the list.
func (u *Unit) newRanges(off uint64) []pcRange {
	c := newCursor(u.d.section(".debug_rnglists"), off)
	base := u.lowPC()
	var list []pcRange
	for ; u.d.budget > 0; u.d.budget-- {
		var r pcRange
		switch kind := c.U8(); kind {
		case 0: // end of list
			if c.Bad {
				u.damagedRanges(off)
			}
			return list
		case 1: // base_addressx
			base = u.addrIndex(&c)
			continue
		case 2: // startx_endx
			r.low, r.high = u.addrIndex(&c), u.addrIndex(&c)
		case 3: // startx_length
			r.low = u.addrIndex(&c)
			r.high = r.low + c.Uleb()
		case 4: // offset_pair
			low, high := c.Uleb(), c.Uleb()
			// A base of 0 is usual: then the offsets are addresses.
			if discarded(base) && base != 0 {
				continue
			}
			r = pcRange{base + low, base + high}
		case 5: // base_address
			base = c.U64()
			continue
		case 6: // start_end
			r.low, r.high = c.U64(), c.U64()
		case 7: // start_length
			r.low = c.U64()
			r.high = r.low + c.Uleb()
		default:
			u.damagedRanges(off)
			return list
		}
		if r.low < r.high && !c.Bad {
			list = append(list, r)
		}
	}
	u.damagedRanges(off)
	return list
}

// addrIndex reads an index and returns the address there.
func (u *Unit) addrIndex(c *cursor) uint64 {
	return u.addr(value{formAddrx, c.Uleb()})
}
