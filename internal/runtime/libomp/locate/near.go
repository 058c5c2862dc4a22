package locate

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// This file places names for a release that the table does not have.

// around are the rows next to a release that the table does not have: from the last
// that is older to the first that is newer, as far as the functions that the runtime
// exports tell, or else what grows from release to release. All rows count where there
// is none on one side: the target is then beyond what is known.
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

// grown are the last row of which something is smaller than in the target, and the
// first of which something is larger, among what only grows from row to row.
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

// point is a place of a structure that is known in a release and in the target: the
// start or the end of a known field.
type point struct{ there, here uint64 }

// points are those of a structure in a row, by their place in the row.
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

// beginsWith names a field of the same type as the one that a structure begins with.
func beginsWith(typ string) (fieldName, bool) {
	if typ == "kmp_bstate_t" {
		return fieldOf("kmp_taskdata_t", "td_icvs"), true // kmp_internal_control_t
	}
	return fieldName{}, false
}

// fieldIn is the place of a name in a row.
func (fp *fingerprint) fieldIn(n fieldName, row int) layout.Field {
	p := fp.table.Places[n]
	if len(p) == 0 {
		return layout.Field{}
	}
	return p.FieldOf(row)
}

// candidate is where a name lies by one row: counted from the point in front of it
// and from the one behind it.
type candidate struct {
	front, back        layout.Field
	hasBack, bracketed bool
}

// byRow places a name by a row in which it is known. It is bracketed if the points
// before and behind it are as far apart in the target as in the row: nothing between
// them has changed.
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

// lacks reports whether a row that does not have a name is like the target where
// another row has it: the points around it are as far apart.
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

// derive places a name for a release that the table does not have. A row that brackets
// it is believed before one that does not, and before these one in which the whole
// structure is like the target's. Without any, the rows must agree on how far it lies
// behind what is before it, or else in front of what is behind it. Where rows differ,
// pick chooses among their answers; nil chooses none.
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
		return fp.fieldIn(n, 0), true // behind what is aligned
	case alsoBack && !ok && len(backs) == len(fronts):
		return back, true
	}
	return one(slices.Concat(fronts, backs), pick)
}

// best are those of the rows that equal all that is known of the target, if there are
// any: a release that exports something else may still have their layout. What a bit
// means is not known of the target, so all rows are asked for bits.
func (fp *fingerprint) best(n fieldName, rows []int) []int {
	bits := func(row int) bool { return fp.fieldIn(n, row).Mask != 0 }
	if len(fp.like) == 0 || slices.ContainsFunc(rows, bits) {
		return rows
	}
	return fp.like
}

// isConstant reports whether a name lies at one place in all rows.
func isConstant(p places) bool {
	_, ok := same(p)
	return ok
}

// alike reports whether all that is known of a structure lies in the target where it
// lies in a row.
func (fp *fingerprint) alike(typ string, row int) bool {
	all := fp.points(typ, row)
	return len(all) > 2 && !slices.ContainsFunc(all, func(p point) bool { return p.there != p.here })
}

// one is the place that all say, or the one that is picked of them.
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
