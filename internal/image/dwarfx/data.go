// Package dwarfx returns the function, the inlined calls and the source line of an address from
// DWARF 2 to 5.
//
// It reads only the requested units, and only the parts that a question needs. Damaged data gives
// errors and gaps, never a panic, an endless loop or an allocation out of proportion to the size of
// the sections.
package dwarfx

import (
	"errors"
	"fmt"
	"sort"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/spans"
)

// Sections loads a section by its full name (".debug_info"), decompressed. A
// section that is absent is empty without an error.
type Sections func(name string) ([]byte, error)

// Data is the debug information of one file. It is not safe for concurrent use.
type Data struct {
	load   Sections
	alt    *Data             // the part that dwz split off, or nil
	secs   map[string][]byte // loaded sections
	err    error             // the first damage
	units  []*Unit           // by offset
	tables map[tableKey]*abbrevs
	budget int // number of entries of range lists that the current question may still read

	memory *budget.Ledger
	owed   int  // bytes taken and not yet counted
	full   bool // there is no more memory

	ready     bool // units and byAranges are filled in
	byAranges spans.Set[*Unit]
	rooted    bool // byRoot is filled in, too
	byRoot    spans.Set[*Unit]
}

// tableKey names an abbreviation table; units share tables only if sizes agree.
type tableKey struct {
	off uint64
	f   format
}

// ErrNone means that a file has no debug information.
var ErrNone = errors.New("no debug information")

// New returns the debug information in the given sections. alt is the supplementary file that dwz
// made and these sections refer to; without it (nil) entries there have no name. Memory made from
// the sections is charged to memory, and parsing stops where that refuses.
func New(load Sections, alt *Data, memory *budget.Ledger) *Data {
	return &Data{load: load, alt: alt, secs: map[string][]byte{}, tables: map[tableKey]*abbrevs{}, memory: memory}
}

// counting is the number of bytes that are counted at once.
const counting = 64 << 10

// take counts n bytes. It returns false if the memory limit is reached.
func (d *Data) take(n uintptr) bool {
	if d.owed += int(n); d.owed >= counting && !d.full {
		err := d.memory.Take("tables of debug information", uint64(d.owed))
		if d.owed = 0; err != nil {
			d.full = true
			d.fail(err)
		}
	}
	return !d.full
}

// Err returns the first damage found so far, or nil.
func (d *Data) Err() error { return d.err }

// fail remembers the first damage.
func (d *Data) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// section returns a section, loading it once.
func (d *Data) section(name string) []byte {
	b, ok := d.secs[name]
	if !ok {
		var err error
		if b, err = d.load(name); err != nil {
			d.fail(fmt.Errorf("section %s: %w", name, err))
		}
		d.secs[name] = b
	}
	return b
}

// Unit returns the unit with code at the file address pc, or nil. It searches
// .debug_aranges first, and then the root entries of the units that are not listed there: not all
// compilers write it.
func (d *Data) Unit(pc uint64) *Unit {
	d.prepare()
	d.budget = maxRanges
	if s, ok := d.byAranges.Find(pc); ok {
		return s.Value
	}
	if !d.rooted {
		d.rooted = true
		for _, u := range d.units {
			if u.listed {
				continue
			}
			for _, r := range u.ranges() {
				addCode(d, &d.byRoot, r.low, r.high, u)
			}
		}
		d.byRoot.Seal()
	}
	s, _ := d.byRoot.Find(pc)
	return s.Value
}

// Empty reports whether the file has no unit.
func (d *Data) Empty() bool {
	d.prepare()
	return len(d.units) == 0
}

// prepare reads the unit headers and the address table.
func (d *Data) prepare() {
	if d.ready {
		return
	}
	d.ready = true
	info := d.section(".debug_info")
	for off := uint64(0); off < uint64(len(info)) && d.take(unsafe.Sizeof(Unit{})); {
		u, next, err := d.header(info, off)
		if err != nil {
			d.fail(err)
			break
		}
		if u != nil {
			d.units = append(d.units, u)
		}
		off = next
	}
	d.readAranges()
	d.byAranges.Seal()
}

// readAranges reads .debug_aranges, which some compilers write: the code of each unit, without reading the
// unit.
func (d *Data) readAranges() {
	data := d.section(".debug_aranges")
	for off := 0; off < len(data) && !d.full; {
		c := newCursor(data, uint64(off))
		n, dw64 := c.unitLength()
		start := c.Pos
		c.Data = data[:start+len(c.Take(n))]
		end := len(c.Data)
		c.Pos = start
		version := c.U16()
		u := d.unitAt(c.offset(dw64))
		addrSize, segment := c.U8(), c.U8()
		if c.Bad || end <= off {
			d.fail(fmt.Errorf(".debug_aranges: damaged set at %#x", off))
			return
		}
		if version == 2 && addrSize == 8 && segment == 0 && u != nil {
			u.listed = true
			c.Take(uint64(-(c.Pos - off) & 15)) // pairs are aligned in their set
			for low := c.U64(); !c.Bad; low = c.U64() {
				if size := c.U64(); !c.Bad && low+size > low {
					addCode(d, &d.byAranges, low, low+size, u)
				}
			}
		}
		off = end
	}
}

// unitAt returns the unit that contains the section offset off, or nil.
func (d *Data) unitAt(off uint64) *Unit {
	d.prepare()
	i := sort.Search(len(d.units), func(i int) bool { return d.units[i].off > off }) - 1
	if i < 0 || off >= d.units[i].end {
		return nil
	}
	return d.units[i]
}

// table returns the abbreviation table at an offset of .debug_abbrev.
func (d *Data) table(off uint64, f format) *abbrevs {
	k := tableKey{off, f}
	t := d.tables[k]
	if t == nil {
		t = &abbrevs{d: d, f: f, rest: newCursor(d.section(".debug_abbrev"), off)}
		d.tables[k] = t
	}
	return t
}

// discarded reports whether an address marks code that the linker removed: 0, 1 in old range lists,
// and the two largest numbers.
func discarded(low uint64) bool { return low <= 1 || low >= ^uint64(1) }

// addCode adds a span of code, unless the linker removed its code.
func addCode[T any](d *Data, s *spans.Set[T], low, high uint64, v T) {
	perSpan := 2 * (unsafe.Sizeof(spans.Span[T]{}) + unsafe.Sizeof(low)) // the list grows
	if !discarded(low) && d.take(perSpan) {
		s.Add(low, high, v)
	}
}
