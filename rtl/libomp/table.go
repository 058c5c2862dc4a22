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
type table struct {
	releases []string
	types    map[string][]layout.Field // size of a structure for each release
	fields   map[fieldName][]layout.Field
	order    []fieldName // as in the text; an empty field is the structure
}

// fieldName names a field, or a structure if field is empty.
type fieldName struct{ typ, field string }

// parseTable reads the form that the text's own head describes.
func parseTable(text string) (*table, error) {
	t := &table{types: map[string][]layout.Field{}, fields: map[fieldName][]layout.Field{}}
	typ := ""
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(line, "#"):
			continue
		case words[0] == "releases":
			t.releases = words[1:]
			continue
		case line[0] != ' ':
			typ = words[0]
		}
		places, err := parsePlaces(words[1:], len(t.releases))
		if err != nil || typ == "" {
			return nil, fmt.Errorf("layout table, line %d: %q: %w", n+1, line, err)
		}
		name := fieldName{typ: typ}
		if line[0] == ' ' {
			name.field = words[0]
			t.fields[name] = places
		} else {
			t.types[typ] = places
		}
		t.order = append(t.order, name)
	}
	return t, nil
}

// parsePlaces reads one place for all n releases, or n of them.
func parsePlaces(words []string, n int) ([]layout.Field, error) {
	if len(words) != 1 && len(words) != n || n == 0 {
		return nil, fmt.Errorf("%d places for %d releases", len(words), n)
	}
	var places []layout.Field
	for _, w := range words {
		f, err := parsePlace(w)
		if err != nil {
			return nil, err
		}
		places = append(places, f)
	}
	if len(places) < n {
		places = slices.Repeat(places, n)
	}
	return places, nil
}

// parsePlace reads "offset:size&mask", "offset:size", "size" or "-".
func parsePlace(w string) (f layout.Field, err error) {
	if w == "-" {
		return f, nil
	}
	w, mask, hasMask := strings.Cut(w, "&")
	offset, size, ok := strings.Cut(w, ":")
	if !ok {
		offset, size = "0", w
	}
	if f.Offset, err = strconv.ParseUint(offset, 10, 16); err != nil {
		return f, err
	}
	if f.Size, err = strconv.ParseUint(size, 10, 16); err != nil {
		return f, err
	}
	if hasMask {
		f.Mask, err = strconv.ParseUint(mask, 0, 64)
	}
	return f, err
}

// minFingerprint is the number of places that must have been compared before a
// release is believed to be the target's; every other source gives more.
const minFingerprint = 4

// tableSource answers from the releases whose layout the target shows. Which
// they are is decided by what other sources say of the target, never by a
// version number: a release stays if all that they know equals its row. Where
// several stay, they must agree on a name. Where none stays, a name is answered
// that lies at the same distance from the same known neighbour in all releases.
type tableSource struct {
	arch     callbacks.Arch
	evidence []layout.Source // asked for all that the table has
	costly   []layout.Source // asked too if the evidence is not enough
	*fingerprint
}

// fingerprint is what the evidence says of the target, compared with the table.
type fingerprint struct {
	table *table
	known map[fieldName]layout.Field // what the evidence gave
	rows  []int                      // the releases that equal it
	err   error
}

func newTableSource(arch callbacks.Arch, evidence, costly []layout.Source) *tableSource {
	return &tableSource{arch: arch, evidence: evidence, costly: costly}
}

// Name is "table" and the releases that speak.
func (s *tableSource) Name() string {
	fp := s.take()
	if len(fp.rows) == 0 {
		return "table"
	}
	return "table " + strings.Join(fp.releases(), "/")
}

// take compares once.
func (s *tableSource) take() *fingerprint {
	if s.fingerprint == nil {
		s.fingerprint = takeFingerprint(s.arch, s.evidence, s.costly)
	}
	return s.fingerprint
}

func takeFingerprint(arch callbacks.Arch, evidence, costly []layout.Source) *fingerprint {
	fp := &fingerprint{known: map[fieldName]layout.Field{}}
	if arch != callbacks.ArchX86_64 {
		fp.err = fmt.Errorf("no table for %v: %w", arch, layout.ErrUnknown)
		return fp
	}
	if fp.table, fp.err = parseTable(tableX86); fp.err != nil {
		return fp
	}
	fp.gather(evidence)
	if len(fp.known) < minFingerprint {
		fp.gather(costly)
	}
	if len(fp.known) < minFingerprint {
		fp.err = fmt.Errorf("too little is known of the target to choose from the table: %w", layout.ErrUnknown)
		return fp
	}
	for row := range fp.table.releases {
		if fp.matches(row) {
			fp.rows = append(fp.rows, row)
		}
	}
	return fp
}

// gather asks for all that the table has.
func (fp *fingerprint) gather(evidence []layout.Source) {
	for _, n := range fp.table.order {
		for _, src := range evidence {
			if _, ok := fp.known[n]; ok {
				break
			}
			if f, err := ask(src, n); err == nil {
				fp.known[n] = f
			}
		}
	}
}

// ask asks for a field, or for the size of a structure.
func ask(src layout.Source, n fieldName) (layout.Field, error) {
	if n.field != "" {
		return src.Field(n.typ, n.field)
	}
	t, err := src.Type(n.typ)
	return layout.Field{Size: t.Size}, err
}

func (fp *fingerprint) matches(row int) bool {
	for n, f := range fp.known {
		if fp.table.places(n)[row] != f {
			return false
		}
	}
	return true
}

func (fp *fingerprint) releases() []string {
	var out []string
	for _, row := range fp.rows {
		out = append(out, fp.table.releases[row])
	}
	return out
}

// places has the place of a name in each release, nil if the table has no such
// name.
func (t *table) places(n fieldName) []layout.Field {
	if n.field == "" {
		return t.types[n.typ]
	}
	return t.fields[n]
}

// Field answers from the releases that match.
func (s *tableSource) Field(typ, field string) (layout.Field, error) {
	return s.take().place(fieldName{typ, field})
}

// Type answers from the releases that match.
func (s *tableSource) Type(typ string) (layout.Type, error) {
	f, err := s.take().place(fieldName{typ: typ})
	return layout.Type{Size: f.Size}, err
}

// Global knows none: addresses are not the same in two builds.
func (s *tableSource) Global(string) (uint64, error) { return 0, layout.ErrUnknown }

func (fp *fingerprint) place(n fieldName) (layout.Field, error) {
	if fp.err != nil {
		return layout.Field{}, fp.err
	}
	places := fp.table.places(n)
	if places == nil {
		return layout.Field{}, layout.ErrUnknown
	}
	if len(fp.rows) == 0 {
		return fp.derive(n, places)
	}
	f := places[fp.rows[0]]
	for _, row := range fp.rows[1:] {
		if places[row] != f {
			return layout.Field{}, fmt.Errorf("releases %s differ: %w", strings.Join(fp.releases(), " and "), layout.ErrUnknown)
		}
	}
	if !f.Known() {
		return layout.Field{}, layout.ErrUnknown
	}
	return f, nil
}

// derive places a name for a release that the table does not have: where it lies
// at one distance from a known neighbour in all releases, so it does here.
// Neighbours that contradict each other leave it unknown.
func (fp *fingerprint) derive(n fieldName, places []layout.Field) (layout.Field, error) {
	if same(places) {
		return places[0], nil
	}
	var derived []layout.Field
	for anchor, at := range fp.known {
		if n.field == "" || anchor.typ != n.typ {
			continue
		}
		if d, ok := distance(places, fp.table.places(anchor), anchor.field == ""); ok {
			f := places[0]
			f.Offset = at.Offset + d
			if anchor.field == "" {
				f.Offset = at.Size + d
			}
			derived = append(derived, f)
		}
	}
	if len(derived) == 0 || !same(derived) {
		return layout.Field{}, fmt.Errorf("a release that is not in the table: %w", layout.ErrUnknown)
	}
	return derived[0], nil
}

// same tells whether all releases have one place.
func same(places []layout.Field) bool {
	return places[0].Known() && !slices.ContainsFunc(places, func(f layout.Field) bool { return f != places[0] })
}

// distance is how far a name lies behind an anchor, or behind the end of the
// structure, if that is the same in all releases.
func distance(places, anchors []layout.Field, fromEnd bool) (uint64, bool) {
	var d uint64
	for i, f := range places {
		from := anchors[i].Offset
		if fromEnd {
			from = anchors[i].Size
		}
		if !f.Known() || !anchors[i].Known() || f.Size != places[0].Size || f.Mask != places[0].Mask || i > 0 && f.Offset-from != d {
			return 0, false
		}
		d = f.Offset - from
	}
	return d, true
}
