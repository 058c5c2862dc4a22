package locate

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// This file locates names in a release that the table lacks.

// around returns the neighbours of a release that the table lacks: the rows from the last older release to the
// first newer one, by the functions that the runtime exports, or else by sizes that grow from release to
// release. If there is no row on one side, the target is beyond the known releases, and all rows count.
func (fp *fingerprint) around(b layout.Releases) []int {
	t := fp.table
	older, newer := -1, len(t.Releases)
	for row := range t.Releases {
		if n := t.number(row); n <= b.Low {
			older = row
		} else if b.High != 0 && n > b.High {
			newer = min(newer, row)
		}
	}
	if older < 0 || newer == len(t.Releases) {
		grownOlder, grownNewer := fp.grown()
		older, newer = max(older, grownOlder), min(newer, grownNewer)
	}
	if older < 0 || newer == len(t.Releases) || newer <= older {
		older, newer = 0, len(t.Releases)-1
	}
	var rows []int
	for row := older; row <= newer; row++ {
		rows = append(rows, row)
	}
	return rows
}

// grown compares sizes that only grow from row to row. It returns the last row with a size smaller than the
// target's, and the first row with a larger one.
func (fp *fingerprint) grown() (older, newer int) {
	older, newer = -1, len(fp.table.Releases)
	for n, at := range fp.known {
		p := fp.table.Places[n]
		if len(p) < 2 || slices.ContainsFunc(p, func(f layout.Field) bool { return !f.IsKnown() || f.Mask != 0 }) {
			continue
		}
		ends := make([]uint64, len(p))
		for row, f := range p {
			ends[row] = f.End()
		}
		if !slices.IsSorted(ends) {
			continue
		}
		for row, end := range ends {
			switch cmp.Compare(end, at.End()) {
			case -1:
				older = max(older, row)
			case 1:
				newer = min(newer, row)
			}
		}
	}
	return older, newer
}

// point is a place in a structure that is known in a release and in the target: the start or the end of a known
// field.
type point struct{ there, here uint64 }

// points returns the points of a structure in a row, by their place in the row.
func (fp *fingerprint) points(typ string, row int) []point {
	key := pointsOf{typ, row}
	if all, ok := fp.fixed[key]; ok {
		return all
	}
	all := []point{{0, 0}}
	add := func(there, here uint64) {
		if p := (point{there, here}); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	for n, at := range fp.known {
		if f := fp.fieldIn(n, row); n.Type != typ || !f.IsKnown() || at.Mask != 0 {
			continue
		} else if n.Field == "" {
			add(f.Size, at.Size)
		} else {
			add(f.Offset, at.Offset)
			add(f.End(), at.End())
		}
	}
	if n, ok := beginsWith(typ); ok {
		if at := fp.known[n]; at.IsKnown() {
			add(fp.fieldIn(n, row).Size, at.Size)
		}
	}
	slices.SortFunc(all, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.there, b.there),
			cmp.Compare(a.here, b.here))
	})
	fp.fixed[key] = all
	return all
}

type pointsOf struct {
	typ string
	row int
}

// beginsWith returns a field that has the type of the structure's first field.
func beginsWith(typ string) (fieldName, bool) {
	if typ == "kmp_bstate_t" {
		return fieldOf("kmp_taskdata_t", "td_icvs"), true // kmp_internal_control_t
	}
	return fieldName{}, false
}

// fieldIn returns the place of a name in a row.
func (fp *fingerprint) fieldIn(n fieldName, row int) layout.Field {
	p := fp.table.Places[n]
	if len(p) == 0 {
		return layout.Field{}
	}
	return p.FieldOf(row)
}

// candidate is the place of a name by one row: counted from the point before it and from the point after it.
type candidate struct {
	front, back        layout.Field
	hasBack, bracketed bool
}

// byRow computes the place of a name from a row that has it. It is bracketed if the points before and after it
// are as far apart in the target as in the row: nothing between them has changed.
func (fp *fingerprint) byRow(n fieldName, row int) candidate {
	f := fp.fieldIn(n, row)
	all := fp.points(n.Type, row)
	c := candidate{front: f, back: f}
	var low, high *point
	for i := range all {
		if p := &all[i]; p.there <= f.Offset {
			low = p
		} else if p.there >= f.End() && high == nil {
			high = p
		}
	}
	c.front.Offset = low.here + f.Offset - low.there
	if high != nil {
		c.hasBack, c.back.Offset = true, high.here-(high.there-f.Offset)
		c.bracketed = c.back == c.front
	}
	return c
}

// lacks reports whether a row without a name matches the target where another row has the name: the points
// around it are as far apart.
func (fp *fingerprint) lacks(n fieldName, without, with int) bool {
	f := fp.fieldIn(n, with)
	if f.Mask != 0 {
		return true
	}
	at := fp.byRow(n, with).front
	all := fp.points(n.Type, without)
	var low, high *point
	for i := range all {
		if p := &all[i]; p.here <= at.Offset {
			low = p
		} else if p.here >= at.End() && high == nil {
			high = p
		}
	}
	return low == nil || high == nil || high.here-low.here == high.there-low.there
}

// derive computes the place of a name in a release that the table lacks. A row that brackets the name counts
// most, then a row with the target's whole structure. Without either, the rows must agree on the distance to the
// point before the name, or else to the point after it. If rows differ, pick selects one of their places; a nil
// pick selects none.
func (fp *fingerprint) derive(n fieldName, rows []int, pick func(places) int) (layout.Field, bool) {
	var bracketed, alike, fronts, backs places
	var without, with []int
	for _, row := range fp.best(n, rows) {
		if !fp.fieldIn(n, row).IsKnown() {
			without = append(without, row)
			continue
		}
		with = append(with, row)
		c := fp.byRow(n, row)
		if c.bracketed {
			bracketed = append(bracketed, c.front)
		}
		if c.bracketed && c.front.Mask == 0 && fp.alike(n.Type, row) {
			alike = append(alike, c.front)
		}
		fronts = append(fronts, c.front)
		if c.hasBack {
			backs = append(backs, c.back)
		}
	}
	for _, row := range without {
		if len(with) == 0 || fp.lacks(n, row, with[0]) {
			return layout.Field{}, false
		}
	}
	if len(alike) > 0 {
		return one(alike, pick)
	}
	if len(bracketed) > 0 {
		return one(bracketed, pick)
	}
	front, ok := same(fronts)
	back, alsoBack := same(backs)
	switch {
	case ok && (!alsoBack || front == back):
		return front, true
	case isConstant(fp.table.Places[n]) &&
		(slices.Contains(fronts, fp.fieldIn(n, 0)) || slices.Contains(backs, fp.fieldIn(n, 0))):
		return fp.fieldIn(n, 0), true // after aligned fields
	case alsoBack && !ok && len(backs) == len(fronts):
		return back, true
	}
	return one(slices.Concat(fronts, backs), pick)
}

// best returns the rows that equal everything known of the target, if there are any: a release with other
// exports may still have their layout. The meanings of the target's bits are unknown, so bits use all rows.
func (fp *fingerprint) best(n fieldName, rows []int) []int {
	bits := func(row int) bool { return fp.fieldIn(n, row).Mask != 0 }
	if len(fp.like) == 0 || slices.ContainsFunc(rows, bits) {
		return rows
	}
	return fp.like
}

// isConstant reports whether a name has the same place in all rows.
func isConstant(p places) bool {
	_, ok := same(p)
	return ok
}

// alike reports whether all known fields of a structure have the same places in the target and in a row.
func (fp *fingerprint) alike(typ string, row int) bool {
	all := fp.points(typ, row)
	return len(all) > 2 && !slices.ContainsFunc(all, func(p point) bool { return p.there != p.here })
}

// one returns the place on which all rows agree, or else the picked place.
func one(all places, pick func(places) int) (layout.Field, bool) {
	if f, ok := same(all); ok || pick == nil {
		return f, ok
	}
	slices.SortFunc(all, func(a, b layout.Field) int { return cmp.Compare(a.Offset, b.Offset) })
	all = slices.Compact(all)
	if i := pick(all); i >= 0 && i < len(all) {
		return all[i], true
	}
	return layout.Field{}, false
}
