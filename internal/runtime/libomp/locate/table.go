package locate

import (
	_ "embed" // for the table
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

var (
	//go:embed table_x86_64.txt
	tableX86 string
	//go:embed table_aarch64.txt
	tableAArch64 string // its differences, in the releases that were measured
)

// tableDifferences has the rows by which the table of an architecture differs from that of x86-64.
var tableDifferences = map[callbacks.Arch]string{
	callbacks.ArchX86_64:  "",
	callbacks.ArchAArch64: tableAArch64,
}

// rowsOf returns the table of an architecture, or ErrUnknown.
func rowsOf(a callbacks.Arch) (*layout.Rows, error) {
	differences, ok := tableDifferences[a]
	if !ok {
		return nil, fmt.Errorf("no table for %v: %w", a, layout.ErrUnknown)
	}
	rows, err := layout.ParseRows(tableX86)
	if err != nil || differences == "" {
		return rows, err
	}
	changed, err := layout.ParseRows(differences)
	if err != nil {
		return nil, err
	}
	return rows.Replace(changed), nil
}

// table is the checked-in table of the layouts of some releases.
type table struct{ *layout.Rows }

// fieldName identifies a field, or a structure if its field is empty.
type fieldName = layout.FieldName

func fieldOf(typ, field string) fieldName { return fieldName{Type: typ, Field: field} }

type places = layout.Places

// minFingerprint is the number of places that must match before a release counts as the target's; every other
// source gives more places.
const minFingerprint = 4

// knownNames is the approximate number of places in the runtime's own description.
const knownNames = 128

// tableSource is the source on top of the releases whose layout matches the target. Other sources select them,
// never a version number: a release stays if all known places equal its row. If several stay, they must agree on
// a name.
//
// If no release matches, the table lacks the target's release, and its neighbours are used (near.go). They must
// agree on the distance of a name to the known places around it, or the target's memory must confirm one of
// them; and that memory must not contradict the result.
type tableSource struct {
	arch     callbacks.Arch
	evidence []layout.Source                    // used for all names of the table
	costly   []layout.Source                    // used too if the evidence is not enough
	without  []string                           // rows that are ignored
	bounds   func() layout.Releases             // possible releases of the target
	confirm  func(fieldName, layout.Field) bool // the memory's verdict on a derived place
	pick     func([]layout.Entry) int           // index of the only place that the memory confirms
	shaped   func(*fingerprint, string) []int   // rows for which the memory contains such a structure
	holds    func(*fingerprint, int) bool       // reports whether the memory contains threads, teams and tasks by a row
	*fingerprint
}

// fingerprint is the evidence on the target, compared with the table.
type fingerprint struct {
	table *table
	known map[fieldName]layout.Field // from the evidence
	rows  []int                      // the releases that match, or else the neighbours
	exact bool                       // the releases match
	like  []int                      // the matching ones of the neighbours
	fixed map[pointsOf][]point       // the known fields of a structure in a row, to interpolate from
	name  string                     // of the source
	err   error
}

// Name returns "table" and the selected releases.
func (s *tableSource) Name() string { return s.take().name }

// take compares once.
func (s *tableSource) take() *fingerprint {
	if s.fingerprint == nil {
		s.fingerprint = s.compare()
	}
	return s.fingerprint
}

func (s *tableSource) compare() *fingerprint {
	fp := &fingerprint{known: make(map[fieldName]layout.Field, knownNames), fixed: map[pointsOf][]point{},
		name: "table"}
	rows, err := rowsOf(s.arch)
	if fp.err = err; err != nil {
		return fp
	}
	fp.table = &table{rows.DropReleases(s.without)}
	fp.gather(s.evidence)
	if len(fp.known) < minFingerprint {
		fp.gather(s.costly)
	}
	if len(fp.known) < minFingerprint {
		fp.rows = s.silent(fp)
		if fp.exact = len(fp.rows) > 0; fp.exact {
			fp.name = "table " + fp.releases("/")
			return fp
		}
		fp.err = fmt.Errorf("too little is known of the target to choose from the table: %w", layout.ErrUnknown)
		return fp
	}
	fp.choose(s.bounds())
	if fp.exact {
		fp.name = "table " + fp.releases("/")
		return fp
	}
	described := len(fp.known) > knownNames/2
	fp.gather(s.costly)
	fp.rows = fp.around(s.bounds())
	for _, row := range fp.rows {
		if described && fp.table.Fits(row, fp.known) {
			fp.like = append(fp.like, row)
		}
	}
	fp.name = "table near " + fp.releases("/")
	return fp
}

// firstDescribed is the first release that describes itself in its memory.
const firstDescribed = 13

// silent returns the releases without a description for which the memory contains the threads. If there is
// neither a description nor a file, the target's release is one of them.
func (s *tableSource) silent(fp *fingerprint) (rows []int) {
	if s.holds == nil {
		return nil
	}
	for row := range fp.table.Releases {
		if fp.table.number(row) < firstDescribed && s.holds(fp, row) {
			rows = append(rows, row)
		}
	}
	return rows
}

// choose selects the releases that equal all known places, and from these the releases with the exports of the
// target's runtime. If no exports match, the target's release equals one in the table as far as it is known.
func (fp *fingerprint) choose(b layout.Releases) {
	for row := range fp.table.Releases {
		if !fp.table.Fits(row, fp.known) {
			continue
		}
		if n := fp.table.number(row); n >= b.Low && (b.High == 0 || n <= b.High) {
			fp.rows, fp.exact = append(fp.rows, row), true
		}
	}
}

// number returns the release of a row.
func (t *table) number(row int) int {
	n, _ := strconv.Atoi(t.Releases[row]) // the checked-in table has numbers
	return n
}

// threadSize is the name of the size of a thread's structure.
var threadSize = fieldOf("kmp_base_info_t", "")

// gather queries the evidence for all names of the table.
func (fp *fingerprint) gather(evidence []layout.Source) {
	fp.table.Gather(fp.known, evidence)
	// The union is as large as the structure in it, which has no size of its own in the runtime's description.
	if f, ok := fp.known[fieldOf("kmp_info_t", "")]; ok {
		fp.known[threadSize] = f
	}
}

// releases lists the selected releases.
func (fp *fingerprint) releases(separator string) string {
	var out []string
	for _, row := range fp.rows {
		out = append(out, fp.table.Releases[row])
	}
	return strings.Join(out, separator)
}

// Field returns a field from the matching releases.
func (s *tableSource) Field(typ, field string) (layout.Field, error) {
	return s.place(fieldOf(typ, field))
}

// Type returns a type from the matching releases.
func (s *tableSource) Type(typ string) (layout.Type, error) {
	f, err := s.place(fieldOf(typ, ""))
	return layout.Type{Size: f.Size}, err
}

// Global returns ErrUnknown: addresses differ between builds.
func (s *tableSource) Global(string) (uint64, error) { return 0, layout.ErrUnknown }

// unjudged returns a place that the memory has not confirmed.
func (s *tableSource) unjudged(n fieldName) layout.Field {
	fp := s.take()
	if fp.err != nil {
		return layout.Field{}
	}
	if f, ok := fp.known[n]; ok {
		return f
	}
	if fp.exact {
		f, _ := same(inRows(fp.table.Places[n], fp.rows))
		return f
	}
	f, _ := fp.derive(n, fp.rows, nil)
	return f
}

func (s *tableSource) place(n fieldName) (layout.Field, error) {
	fp := s.take()
	if fp.err != nil {
		return layout.Field{}, fp.err
	}
	rows := fp.rows
	if !fp.exact && s.shaped != nil {
		rows = s.shaped(fp, n.Type)
	}
	all := inRows(fp.table.Places[n], rows)
	f, ok := same(all)
	if !fp.exact {
		if f, ok = fp.known[n]; !ok || n != threadSize {
			f, ok = fp.derive(n, rows, s.pickOf(n))
		}
	}
	if !ok {
		if len(all) < 2 {
			return layout.Field{}, layout.ErrUnknown
		}
		return layout.Field{}, fmt.Errorf("releases %s differ: %w", fp.releases(" and "), layout.ErrUnknown)
	}
	if !fp.exact && s.confirm != nil && !s.confirm(n, f) {
		return layout.Field{}, fmt.Errorf("the place in releases %s does not fit the target's memory: %w",
			fp.releases(" and "), layout.ErrUnknown)
	}
	return f, nil
}

// pickOf returns a function by which the memory selects one of several places of a name.
func (s *tableSource) pickOf(n fieldName) func(places) int {
	if s.pick == nil {
		return nil
	}
	return func(all places) int {
		var entries []layout.Entry
		for _, f := range all {
			entries = append(entries, layout.Entry{Type: n.Type, Name: n.Field, Field: f})
		}
		return s.pick(entries)
	}
}

// inRows returns the places in some releases.
func inRows(p places, rows []int) places {
	if p == nil {
		return nil
	}
	out := make(places, len(rows))
	for i, row := range rows {
		out[i] = p.FieldOf(row)
	}
	return out
}

// same returns the place on which all agree, and whether there is one.
func same(p places) (layout.Field, bool) {
	if len(p) == 0 || slices.ContainsFunc(p, func(f layout.Field) bool { return f != p[0] }) {
		return layout.Field{}, false
	}
	return p[0], p[0].IsKnown()
}
