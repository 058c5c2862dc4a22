package libomp

import (
	_ "embed" // for the table
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/layout"
)

//go:embed table_x86_64.txt
var tableX86 string

// table has the layouts of some releases, as checked in.
type table struct{ *layout.Rows }

// fieldName names a field, or a structure if its field is empty.
type fieldName = layout.FieldName

func fieldOf(typ, field string) fieldName { return fieldName{Type: typ, Field: field} }

type places = layout.Places

// minFingerprint is the number of places that must have been compared before a
// release is believed to be the target's; every other source gives more.
const minFingerprint = 4

// knownNames is about how many places the runtime's own description gives.
const knownNames = 128

// tableSource answers from the releases whose layout the target shows. Which
// they are is decided by what other sources say of the target, never by a
// version number: a release stays if all that they know equals its row. Where
// several stay, they must agree on a name.
//
// Where none stays, the target is of a release that the table does not have. Its
// neighbours are then asked, and a name is answered only if it lies at the same
// place in both, or close to the same known name, and if the target's memory
// does not speak against it.
type tableSource struct {
	arch     callbacks.Arch
	evidence []layout.Source                    // asked for all that the table has
	costly   []layout.Source                    // asked too if the evidence is not enough
	bounds   func() span                        // releases that the target may be of
	confirm  func(fieldName, layout.Field) bool // what the memory says of a derived place
	*fingerprint
}

// fingerprint is what the evidence says of the target, compared with the table.
type fingerprint struct {
	table *table
	known map[fieldName]layout.Field // what the evidence gave
	rows  []int                      // the releases that equal it, or else its neighbours
	exact bool                       // the releases equal it
	name  string                     // of the source
	err   error
}

// Name is "table" and the releases that speak.
func (s *tableSource) Name() string { return s.take().name }

// take compares once.
func (s *tableSource) take() *fingerprint {
	if s.fingerprint == nil {
		s.fingerprint = s.compare()
	}
	return s.fingerprint
}

func (s *tableSource) compare() *fingerprint {
	fp := &fingerprint{known: make(map[fieldName]layout.Field, knownNames), name: "table"}
	if s.arch != callbacks.ArchX86_64 {
		fp.err = fmt.Errorf("no table for %v: %w", s.arch, layout.ErrUnknown)
		return fp
	}
	rows, err := layout.ParseRows(tableX86)
	if fp.table, fp.err = (&table{rows}), err; err != nil {
		return fp
	}
	fp.gather(s.evidence)
	if len(fp.known) < minFingerprint {
		fp.gather(s.costly)
	}
	if len(fp.known) < minFingerprint {
		fp.err = fmt.Errorf("too little is known of the target to choose from the table: %w", layout.ErrUnknown)
		return fp
	}
	for row := range fp.table.Releases {
		if fp.table.Fits(row, fp.known) {
			fp.rows, fp.exact = append(fp.rows, row), true
		}
	}
	if fp.exact {
		fp.name = "table " + fp.releases("/")
	} else {
		fp.rows = fp.table.around(s.bounds())
		fp.name = "table near " + fp.releases("/")
	}
	return fp
}

// around are the rows next to a release that is not in the table and of which
// only bounds are known: from the last below them to the first above. All rows
// count where there is none on one side.
func (t *table) around(bounds span) []int {
	first, last := -1, -1
	for row := range t.Releases {
		if t.number(row) <= bounds.low {
			first = row
		}
		if last < 0 && bounds.high != 0 && t.number(row) >= bounds.high {
			last = row
		}
	}
	if first < 0 || last <= first {
		first, last = 0, len(t.Releases)-1
	}
	var rows []int
	for row := first; row <= last; row++ {
		rows = append(rows, row)
	}
	return rows
}

// number is the release of a row.
func (t *table) number(row int) int {
	n, _ := strconv.Atoi(t.Releases[row]) // what is checked in has numbers
	return n
}

// gather asks for all that the table has.
func (fp *fingerprint) gather(evidence []layout.Source) {
	fp.table.Gather(fp.known, evidence)
	// The union is as large as the structure in it, which has no size of its
	// own in the runtime's description.
	if f, ok := fp.known[fieldOf("kmp_info_t", "")]; ok {
		fp.known[fieldOf("kmp_base_info_t", "")] = f
	}
}

// releases lists the releases that speak.
func (fp *fingerprint) releases(separator string) string {
	var out []string
	for _, row := range fp.rows {
		out = append(out, fp.table.Releases[row])
	}
	return strings.Join(out, separator)
}

// Field answers from the releases that match.
func (s *tableSource) Field(typ, field string) (layout.Field, error) {
	return s.place(fieldOf(typ, field))
}

// Type answers from the releases that match.
func (s *tableSource) Type(typ string) (layout.Type, error) {
	f, err := s.place(fieldOf(typ, ""))
	return layout.Type{Size: f.Size}, err
}

// Global knows none: addresses are not the same in two builds.
func (s *tableSource) Global(string) (uint64, error) { return 0, layout.ErrUnknown }

func (s *tableSource) place(n fieldName) (layout.Field, error) {
	fp := s.take()
	if fp.err != nil {
		return layout.Field{}, fp.err
	}
	all := inRows(fp.table.Places[n], fp.rows)
	f, ok := same(all)
	if !ok && !fp.exact {
		f, ok = fp.derive(n, all)
	}
	if !ok {
		if len(all) < 2 {
			return layout.Field{}, layout.ErrUnknown
		}
		return layout.Field{}, fmt.Errorf("releases %s differ: %w", fp.releases(" and "), layout.ErrUnknown)
	}
	if !fp.exact && s.confirm != nil && !s.confirm(n, f) {
		return layout.Field{}, fmt.Errorf("the place in releases %s does not fit the target's memory: %w", fp.releases(" and "), layout.ErrUnknown)
	}
	return f, nil
}

// maxDistance is how far from a known name, in bytes, an unknown one may be to
// be derived from it.
const maxDistance = 64

// derive places a name for a release that the table does not have: where it lies
// at one small distance from a known name in both neighbours, so it does here.
// Known names that contradict each other leave it unknown.
func (fp *fingerprint) derive(n fieldName, all places) (layout.Field, bool) {
	var derived places
	for anchor, at := range fp.known {
		if n.Field == "" || anchor.Type != n.Type {
			continue
		}
		base := at.Offset
		if anchor.Field == "" {
			base = at.Size
		}
		if d, ok := distance(all, inRows(fp.table.Places[anchor], fp.rows), anchor.Field == ""); ok {
			derived = append(derived, layout.Field{Offset: base + d, Size: all[0].Size, Mask: all[0].Mask})
		}
	}
	return same(derived)
}

// inRows are the places in some releases.
func inRows(p places, rows []int) places {
	if p == nil {
		return nil
	}
	out := make(places, len(rows))
	for i, row := range rows {
		out[i] = p.In(row)
	}
	return out
}

// same is the one place that all have, and whether there is one.
func same(p places) (layout.Field, bool) {
	if len(p) == 0 || slices.ContainsFunc(p, func(f layout.Field) bool { return f != p[0] }) {
		return layout.Field{}, false
	}
	return p[0], p[0].Known()
}

// distance is how far a name lies behind an anchor, or behind the end of the
// structure, if that is the same in all and small.
func distance(all, anchors places, fromEnd bool) (uint64, bool) {
	var d uint64
	for i, f := range all {
		from := anchors[i].Offset
		if fromEnd {
			from = anchors[i].Size
		}
		if !f.Known() || !anchors[i].Known() || f.Size != all[0].Size || f.Mask != all[0].Mask || i > 0 && f.Offset-from != d {
			return 0, false
		}
		d = f.Offset - from
	}
	return d, d+maxDistance <= 2*maxDistance
}
