package symbolize

import (
	"debug/dwarf"
	"slices"
)

const (
	// maxBody bounds the cached entries of one function, and maxBodies those of a module: an entry
	// takes some 400 bytes, and functions with more than some hundred variables are rare.
	maxBody   = 1 << 13
	maxBodies = 1 << 14
	// maxKeptNames bounds the cached names of functions of a module.
	maxKeptNames = 1 << 14
)

// body caches the entries of one function that concern its variables: the function, its blocks and
// inlined functions, and their variables. Variables at many addresses in a function are looked up.
type body struct {
	unit   *dwarf.Entry // the unit that contains it
	list   []*dwarf.Entry
	after  []int // by index: the entry after the children of the entry
	ranges map[*dwarf.Entry][][2]uint64
	sizes  map[*dwarf.Entry]uint64 // of variables; 0 if unknown
}

// cursor reads a body as a dwarf.Reader reads the file.
type cursor struct {
	body *body
	next int
}

// Next returns the next entry; nil at the end.
func (c *cursor) Next() (*dwarf.Entry, error) {
	if c.next == len(c.body.list) {
		return nil, nil
	}
	c.next++
	return c.body.list[c.next-1], nil
}

// SkipChildren skips the children of the entry that Next returned last.
func (c *cursor) SkipChildren() { c.next = c.body.after[c.next-1] }

// bodyAt returns the body of the function around a file address; nil if its entries were not found,
// or are too many.
func (m *module) bodyAt(vs *variables, pc uint64) *body {
	if !m.haveDWARF && (m.ownFile() == nil || !hasSection(m.ownFile(), ".debug_info")) {
		return nil // the whole unit is searched instead
	}
	u := m.unitAt(pc)
	if u == nil {
		return nil
	}
	f, ok := u.Func(pc)
	if !ok {
		return nil
	}
	off := dwarf.Offset(f.Entry())
	if known, ok := vs.bodies[off]; ok {
		return known
	}
	r := vs.data.Reader()
	r.Seek(dwarf.Offset(u.Entry()))
	unit, err := r.Next()
	if err != nil || unit == nil || unit.Tag != dwarf.TagCompileUnit && unit.Tag != dwarf.TagSkeletonUnit {
		return nil
	}
	r.Seek(off)
	b := readBody(r)
	if b != nil && (len(b.list) == 0 || b.list[0].Tag != dwarf.TagSubprogram || !b.covers(vs.data, b.list[0], pc)) {
		b = nil
	}
	if b != nil {
		b.unit = unit
		vs.kept += len(b.list)
	}
	if vs.bodies == nil || vs.kept > maxBodies {
		vs.bodies, vs.kept = map[dwarf.Offset]*body{}, 0
	}
	vs.bodies[off] = b
	return b
}

// readBody reads the entry at r and its descendants; nil if they cannot be read, or are too many.
func readBody(r *dwarf.Reader) *body {
	b := &body{ranges: map[*dwarf.Entry][][2]uint64{}, sizes: map[*dwarf.Entry]uint64{}}
	var open []int // entries with children that are being read
	for {
		e, err := r.Next()
		if err != nil || e == nil || len(b.list) == maxBody {
			return nil
		}
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock, dwarf.TagModule,
			dwarf.TagNamespace, dwarf.TagCommonDwarfBlock:
			if e.Children {
				open = append(open, len(b.list))
			}
		case 0:
			if len(open) == 0 {
				return nil
			}
			b.after[open[len(open)-1]] = len(b.list) + 1
			open = open[:len(open)-1]
		default:
			r.SkipChildren()
			if e.Tag != dwarf.TagVariable && e.Tag != dwarf.TagFormalParameter {
				continue
			}
		}
		b.list = append(b.list, e)
		b.after = append(b.after, len(b.list))
		if len(open) == 0 {
			return b
		}
	}
}

// covers reports whether pc is in the code of e.
func (b *body) covers(data *dwarf.Data, e *dwarf.Entry, pc uint64) bool {
	ranges, known := b.ranges[e]
	if !known {
		ranges, _ = data.Ranges(e)
		b.ranges[e] = ranges
	}
	return containsPC(ranges, pc)
}

// sizeOf returns the size of the variable e; 0 if unknown.
func (b *body) sizeOf(l *locals, e *dwarf.Entry) uint64 {
	n, known := b.sizes[e]
	if !known {
		n = l.sizeOf(e)
		b.sizes[e] = n
	}
	return n
}

// containsPC reports whether an address is in one of the ranges.
func containsPC(ranges [][2]uint64, pc uint64) bool {
	return slices.ContainsFunc(ranges, func(r [2]uint64) bool { return r[0] <= pc && pc < r[1] })
}
