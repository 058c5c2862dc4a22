package libgomp

import (
	_ "embed" // for the table
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

//go:embed table_lp64.txt
var tableText string

// table holds the layouts of all known releases of GCC. A row stands for releases with equal layouts.
type table struct {
	*layout.Rows
	rows []layout.Releases
}

// fieldName names a field, or a structure if its field is empty.
type fieldName = layout.FieldName

func fieldOf(typ, field string) fieldName { return fieldName{Type: typ, Field: field} }

// parseTable reads the checked-in table.
func parseTable() (*table, error) {
	rows, err := layout.ParseRows(tableText)
	if err != nil {
		return nil, err
	}
	for n, p := range rows.Places {
		if len(p) == 1 {
			rows.Places[n] = slices.Repeat(p, len(rows.Releases)) // so that each row can be indexed
		}
	}
	t := &table{Rows: rows}
	return t, t.parseRows(rows.Releases)
}

func (t *table) parseRows(words []string) error {
	for _, w := range words {
		low, high, ok := strings.Cut(w, "-")
		if !ok {
			high = low
		}
		l, err := strconv.Atoi(low)
		if err != nil {
			return err
		}
		h, err := strconv.Atoi(high)
		if err != nil {
			return err
		}
		t.rows = append(t.rows, layout.Releases{Low: l, High: h})
	}
	return nil
}

// tableSource uses the rows that fit the target: all values from other sources equal the row, and the target's
// version nodes allow it. If several rows fit, they must agree on a name.
//
// If no row fits, the table lacks the target's release. Then an offset is derived: a name with the same distance
// from a known name in all rows has that distance here.
type tableSource struct {
	evidence []layout.Source // consulted for all names of the table
	bounds   layout.Releases // bounds from the version nodes
	allowed  func(row int) bool
	*fingerprint
}

// fingerprint is the evidence of the target, compared with the table.
type fingerprint struct {
	table *table
	known map[fieldName]layout.Field // values from the evidence
	rows  []int                      // rows that fit
	name  string                     // name of the source
	err   error
}

// Name returns "table" with the releases of the fitting rows, or "derived".
func (s *tableSource) Name() string { return s.take().name }

// take compares the evidence with the table, once.
func (s *tableSource) take() *fingerprint {
	if s.fingerprint == nil {
		s.fingerprint = s.compare()
	}
	return s.fingerprint
}

func (s *tableSource) compare() *fingerprint {
	fp := &fingerprint{known: map[fieldName]layout.Field{}, name: "table"}
	if fp.table, fp.err = parseTable(); fp.err != nil {
		return fp
	}
	fp.table.Gather(fp.known, s.evidence)
	if len(fp.known) == 0 && s.bounds == (layout.Releases{}) {
		fp.err = fmt.Errorf("nothing is known of the target to choose from the table: %w", layout.ErrUnknown)
		return fp
	}
	var names []string
	for row, r := range fp.table.rows {
		if row == len(fp.table.rows)-1 {
			r.High = 0 // newer releases may have this layout too
		}
		if s.bounds.Overlaps(r) && fp.table.Fits(row, fp.known) && (s.allowed == nil || s.allowed(row)) {
			fp.rows = append(fp.rows, row)
			names = append(names, fp.table.rows[row].String())
		}
	}
	if len(fp.rows) > 0 {
		fp.name = "table " + strings.Join(names, "/")
	} else {
		fp.name = "derived"
	}
	return fp
}

// Field returns the offset from the rows that fit.
func (s *tableSource) Field(typ, field string) (layout.Field, error) {
	return s.take().place(fieldOf(typ, field))
}

// Type returns the size from the rows that fit.
func (s *tableSource) Type(typ string) (layout.Type, error) {
	f, err := s.take().place(fieldOf(typ, ""))
	return layout.Type{Size: f.Size}, err
}

// Global returns an error: addresses differ between builds.
func (s *tableSource) Global(string) (uint64, error) { return 0, layout.ErrUnknown }

func (fp *fingerprint) place(n fieldName) (layout.Field, error) {
	if fp.err != nil {
		return layout.Field{}, fp.err
	}
	all := fp.table.Places[n]
	if all == nil {
		return layout.Field{}, layout.ErrUnknown
	}
	if len(fp.rows) == 0 {
		return fp.deriveField(n)
	}
	f := all[fp.rows[0]]
	for _, row := range fp.rows[1:] {
		if all[row] != f {
			return layout.Field{}, fmt.Errorf("releases %v and %v differ: %w", fp.table.rows[fp.rows[0]],
				fp.table.rows[row], layout.ErrUnknown)
		}
	}
	if f.Size == 0 {
		return f, layout.ErrUnknown
	}
	return f, nil
}

// recentRows is the number of newest rows in which a name must have the same offset. Then the same offset is
// expected in a release that the table lacks.
const recentRows = 3

// deriveField derives the offset of a name for a release that the table lacks, from known names of the same
// structure. Without such names, it uses the offset that the newest rows agree on. If they contradict each
// other, the offset stays unknown.
func (fp *fingerprint) deriveField(n fieldName) (layout.Field, error) {
	all := fp.table.Places[n]
	var derived []layout.Field
	known := false
	for anchor, at := range fp.known {
		if anchor.Type != n.Type || anchor.Field == "" {
			continue
		}
		known = true
		if f, ok := atDistance(all, fp.table.Places[anchor], at, n.Field == ""); ok {
			derived = append(derived, f)
		}
	}
	if newest := all[len(all)-recentRows:]; !known &&
		!slices.ContainsFunc(newest, func(f layout.Field) bool { return f != newest[0] }) {
		derived = newest[:1]
	}
	if len(derived) == 0 || derived[0].Size == 0 ||
		slices.ContainsFunc(derived, func(f layout.Field) bool { return f != derived[0] }) {
		return layout.Field{}, fmt.Errorf("no release of the table fits, and the place does not follow from known "+
			"ones: %w", layout.ErrUnknown)
	}
	return derived[0], nil
}

// atDistance returns the offset of a name with the same distance from an anchor in all rows that have both; for
// the end of a structure, its size.
func atDistance(all, anchors []layout.Field, at layout.Field, end bool) (layout.Field, bool) {
	place := func(f layout.Field) uint64 {
		if end {
			return f.Size
		}
		return f.Offset
	}
	distance, size, seen := uint64(0), uint64(0), false
	for row, f := range all {
		if f.Size == 0 || anchors[row].Size == 0 {
			continue
		}
		d := place(f) - anchors[row].Offset
		if seen && d != distance {
			return layout.Field{}, false
		}
		distance, size, seen = d, f.Size, true
	}
	if end {
		return layout.Field{Size: at.Offset + distance}, seen
	}
	return layout.Field{Offset: at.Offset + distance, Size: size}, seen
}
