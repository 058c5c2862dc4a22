package pycode

// noLine is the line of code that has none.
const noLine = 0

// lineOf returns the source line of the instruction at an offset of bytes in the code, from the table of a release; 0
// without one. A damaged table gives a wrong line or none.
func lineOf(minor int, table []byte, first, at int) int {
	switch {
	case at < 0:
		return noLine
	case minor >= 11:
		return lineOfLocations(table, first, at/unitSize)
	case minor == 10:
		return lineOfRanges(table, first, at)
	}
	return lineOfSteps(table, first, at)
}

// unitSize is the size of a code unit in bytes.
const unitSize = 2

// Kinds of entries of a location table (3.11 and later, Objects/locations.md).
const (
	oneLine    = 10 // to 12: the line advances by kind - 10, two bytes of columns
	noColumns  = 13
	long       = 14
	noLocation = 15
)

// lineOfLocations finds a code unit in a location table.
func lineOfLocations(table []byte, first, unit int) int {
	out := noLine
	eachLocation(table, first, func(_, end, line int) bool {
		out = line
		return unit >= end
	})
	return out
}

// eachLocation calls visit with the entries of a location table, until it returns false: the code units from start to
// before end, and their line. The first byte of an entry has its kind and the number of code units. After the last
// entry, it calls visit with a line of noLine.
func eachLocation(table []byte, first int, visit func(start, end, line int) bool) {
	r := varints{table}
	line, start := first, 0
	for len(r.rest) > 0 {
		b := r.rest[0]
		r.rest = r.rest[1:]
		shown := &line
		switch kind := int(b >> 3 & 15); {
		case kind == noLocation:
			shown = new(int)
		case kind == long:
			line += r.signed()
			r.unsigned()
			r.unsigned()
			r.unsigned()
		case kind == noColumns:
			line += r.signed()
		case kind >= oneLine:
			line += kind - oneLine
			r.skip(2)
		default:
			r.skip(1)
		}
		end := start + int(b&7) + 1
		if !visit(start, end, *shown) {
			return
		}
		start = end
	}
	visit(start, start, noLine)
}

// varints reads numbers of six bits a byte, lowest first; bit 6 marks all bytes but the last.
type varints struct{ rest []byte }

func (r *varints) unsigned() int {
	v := 0
	for shift := 0; len(r.rest) > 0 && shift <= 30; shift += 6 {
		b := r.rest[0]
		r.rest = r.rest[1:]
		v |= int(b&63) << shift
		if b&64 == 0 {
			break
		}
	}
	return v
}

// signed reads a number with its sign in the lowest bit.
func (r *varints) signed() int {
	v := r.unsigned()
	if v&1 != 0 {
		return -(v >> 1)
	}
	return v >> 1
}

func (r *varints) skip(n int) { r.rest = r.rest[min(n, len(r.rest)):] }

// lineOfRanges finds a byte in a line table of 3.10: pairs of a range's size and the signed step of its line; a step
// of -128 marks a range without a line.
func lineOfRanges(table []byte, first, at int) int {
	line, end := first, 0
	for ; len(table) >= 2; table = table[2:] {
		end += int(table[0])
		step := int(int8(table[1]))
		if step != -128 {
			line += step
		}
		if at < end {
			if step == -128 {
				return noLine
			}
			return line
		}
	}
	return line
}

// lineOfSteps finds a byte in a line table of 3.7 to 3.9: pairs of steps of the address and, signed, of the line.
func lineOfSteps(table []byte, first, at int) int {
	line, address := first, 0
	for ; len(table) >= 2; table = table[2:] {
		if address += int(table[0]); address > at {
			break
		}
		line += int(int8(table[1]))
	}
	return line
}
