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
// neighbours are then asked (near.go), and a name is answered only if they agree on
// how it lies to what is known around it, or the target's memory confirms one of
// them, and if that memory does not speak against it.
type tableSource struct {
	arch     callbacks.Arch
	evidence []layout.Source                    // asked for all that the table has
	costly   []layout.Source                    // asked too if the evidence is not enough
	without  []string                           // rows that do not count
	bounds   func() layout.Releases             // releases that the target may be of
	confirm  func(fieldName, layout.Field) bool // what the memory says of a derived place
	pick     func([]layout.Entry) int           // of several, the one that the memory confirms
	shaped   func(*fingerprint, string) []int   // rows by which the memory holds such a structure
	holds    func(*fingerprint, int) bool       // whether it holds threads, teams and tasks by a row
	*fingerprint
}

// fingerprint is what the evidence says of the target, compared with the table.
type fingerprint struct {
	table *table
	known map[fieldName]layout.Field // what the evidence gave
	rows  []int                      // the releases that equal it, or else its neighbours
	exact bool                       // the releases equal it
	like  []int                      // those of its neighbours that equal it
	fixed map[pointsOf][]point       // what is known of structures, for releases that are near
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
	fp := &fingerprint{known: make(map[fieldName]layout.Field, knownNames), fixed: map[pointsOf][]point{},
		name: "table"}
	if s.arch != callbacks.ArchX86_64 {
		fp.err = fmt.Errorf("no table for %v: %w", s.arch, layout.ErrUnknown)
		return fp
	}
	rows, err := layout.ParseRows(tableX86)
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

// silent are the releases that do not describe themselves and by which the memory holds the
// threads: where there is neither a description nor a file, the target is one of them.
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

// choose takes the releases that equal all that is known, and of these the ones that
// export what the target's runtime does. Where none does, the target is of a release
// that looks alike as far as it is known.
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

// number is the release of a row.
func (t *table) number(row int) int {
	n, _ := strconv.Atoi(t.Releases[row]) // what is checked in has numbers
	return n
}

// threadSize is the size of the structure of a thread.
var threadSize = fieldOf("kmp_base_info_t", "")

// gather asks for all that the table has.
func (fp *fingerprint) gather(evidence []layout.Source) {
	fp.table.Gather(fp.known, evidence)
	// The union is as large as the structure in it, which has no size of its
	// own in the runtime's description.
	if f, ok := fp.known[fieldOf("kmp_info_t", "")]; ok {
		fp.known[threadSize] = f
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

// unjudged is a place that the memory was not asked about.
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

// pickOf lets the memory choose among places of a name.
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

// inRows are the places in some releases.
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

// same is the one place that all have, and whether there is one.
func same(p places) (layout.Field, bool) {
	if len(p) == 0 || slices.ContainsFunc(p, func(f layout.Field) bool { return f != p[0] }) {
		return layout.Field{}, false
	}
	return p[0], p[0].IsKnown()
}
