// Package dwarfx answers three questions about an address from DWARF 2 to 5:
// which function, which inlined calls, which source line.
//
// It reads only the units that are asked for, and of them no more than the
// question needs. Damaged data gives errors and gaps, never a panic, an endless
// loop or an allocation that the size of the sections does not justify.
package dwarfx

import (
	"errors"
	"fmt"
	"sort"

	"github.com/ompd-inspect/ompd-inspect/symbolize/internal/spans"
)

// Sections loads a section by its full name (".debug_info"), decompressed. A
// section that is absent is empty without an error.
type Sections func(name string) ([]byte, error)

// Data is the debug information of one file. It is not safe for concurrent use.
type Data struct {
	load   Sections
	alt    *Data             // what dwz split off, or nil
	secs   map[string][]byte // sections that were loaded
	err    error             // the first damage
	units  []*Unit           // by offset
	tables map[tableKey]*abbrevs
	budget int // entries of range lists that the question may still read

	ready     bool // units and byAranges are there
	byAranges spans.Set[*Unit]
	rooted    bool // byRoot is there, too
	byRoot    spans.Set[*Unit]
}

// tableKey names an abbreviation table; units share tables only if sizes agree.
type tableKey struct {
	off uint64
	f   format
}

// ErrNone says that a file has no debug information.
var ErrNone = errors.New("no debug information")

// New returns the debug information in the given sections. alt is the
// supplementary file that dwz made and these sections refer to; without it (nil)
// what lies there has no name.
func New(load Sections, alt *Data) *Data {
	return &Data{load: load, alt: alt, secs: map[string][]byte{}, tables: map[tableKey]*abbrevs{}}
}

// Err returns the first damage that was met so far, or nil.
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

// Unit returns the unit whose code covers the file address pc; nil if there is
// none. It looks into .debug_aranges first, and then at the root entries of
// those units that are not listed there: compilers do not all write it.
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
				addCode(&d.byRoot, r.low, r.high, u)
			}
		}
		d.byRoot.Seal()
	}
	s, _ := d.byRoot.Find(pc)
	return s.Value
}

// Empty tells whether the file has no unit at all.
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
	for off := uint64(0); off < uint64(len(info)); {
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

// readAranges reads .debug_aranges, which some compilers write: the code of
// each unit, without any need to look at the unit.
func (d *Data) readAranges() {
	data := d.section(".debug_aranges")
	for off := 0; off < len(data); {
		c := at(data, uint64(off))
		n, dw64 := c.unitLength()
		start := c.pos
		c.data = data[:start+len(c.take(n))]
		end := len(c.data)
		c.pos = start
		version := c.u16()
		u := d.unitAt(c.offset(dw64))
		addrSize, segment := c.u8(), c.u8()
		if c.bad || end <= off {
			d.fail(fmt.Errorf(".debug_aranges: damaged set at %#x", off))
			return
		}
		if version == 2 && addrSize == 8 && segment == 0 && u != nil {
			u.listed = true
			c.take(uint64(-(c.pos - off) & 15)) // pairs are aligned in their set
			for low := c.u64(); !c.bad; low = c.u64() {
				if size := c.u64(); !c.bad && low+size > low {
					addCode(&d.byAranges, low, low+size, u)
				}
			}
		}
		off = end
	}
}

// unitAt returns the unit that holds the section offset off, or nil.
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
		t = &abbrevs{f: f, rest: at(d.section(".debug_abbrev"), off)}
		d.tables[k] = t
	}
	return t
}

// discarded tells the addresses that linkers write for code that they left
// out: 0, 1 in old range lists, and the two largest numbers.
func discarded(low uint64) bool { return low <= 1 || low >= ^uint64(1) }

// addCode adds a span of code unless its code was left out.
func addCode[T any](s *spans.Set[T], low, high uint64, v T) {
	if !discarded(low) {
		s.Add(low, high, v)
	}
}
