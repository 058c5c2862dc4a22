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
	places   map[fieldName]places
	order    []fieldName // as in the text
}

// fieldName names a field, or a structure if field is empty.
type fieldName struct{ typ, field string }

// places has the place of a name in each release, or one place if it is the same
// in all; a size of 0 is a release without such a name. Of a structure, it has
// the size.
type places []layout.Field

func (p places) in(row int) layout.Field {
	if len(p) == 1 {
		return p[0]
	}
	return p[row]
}

// parseTable reads the form that the text's own head describes.
func parseTable(text string) (*table, error) {
	lines := strings.Count(text, "\n")
	t := &table{places: make(map[fieldName]places, lines), order: make([]fieldName, 0, lines)}
	typ := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
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
			return nil, fmt.Errorf("layout table, line %d: %q: %w", n, line, err)
		}
		name := fieldName{typ: typ}
		if line[0] == ' ' {
			name.field = words[0]
		}
		t.places[name] = places
		t.order = append(t.order, name)
	}
	return t, nil
}

// parsePlaces reads one place for all n releases, or n of them.
func parsePlaces(words []string, n int) (places, error) {
	if len(words) != 1 && len(words) != n || n == 0 {
		return nil, fmt.Errorf("%d places for %d releases", len(words), n)
	}
	all := make(places, 0, len(words))
	for _, w := range words {
		f, err := parsePlace(w)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
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
	if fp.table, fp.err = parseTable(tableX86); fp.err != nil {
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
	for row := range fp.table.releases {
		if fp.matches(row) {
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
	for row := range t.releases {
		if t.number(row) <= bounds.low {
			first = row
		}
		if last < 0 && bounds.high != 0 && t.number(row) >= bounds.high {
			last = row
		}
	}
	if first < 0 || last <= first {
		first, last = 0, len(t.releases)-1
	}
	var rows []int
	for row := first; row <= last; row++ {
		rows = append(rows, row)
	}
	return rows
}

// number is the release of a row.
func (t *table) number(row int) int {
	n, _ := strconv.Atoi(t.releases[row]) // parseTable has seen to it
	return n
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
	// The union is as large as the structure in it, which has no size of its
	// own in the runtime's description.
	if f, ok := fp.known[fieldName{"kmp_info_t", ""}]; ok {
		fp.known[fieldName{"kmp_base_info_t", ""}] = f
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
		if fp.table.places[n].in(row) != f {
			return false
		}
	}
	return true
}

// releases lists the releases that speak.
func (fp *fingerprint) releases(separator string) string {
	var out []string
	for _, row := range fp.rows {
		out = append(out, fp.table.releases[row])
	}
	return strings.Join(out, separator)
}

// Field answers from the releases that match.
func (s *tableSource) Field(typ, field string) (layout.Field, error) {
	return s.place(fieldName{typ, field})
}

// Type answers from the releases that match.
func (s *tableSource) Type(typ string) (layout.Type, error) {
	f, err := s.place(fieldName{typ: typ})
	return layout.Type{Size: f.Size}, err
}

// Global knows none: addresses are not the same in two builds.
func (s *tableSource) Global(string) (uint64, error) { return 0, layout.ErrUnknown }

func (s *tableSource) place(n fieldName) (layout.Field, error) {
	fp := s.take()
	if fp.err != nil {
		return layout.Field{}, fp.err
	}
	all := fp.table.places[n].of(fp.rows)
	f, ok := all.same()
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
		if n.field == "" || anchor.typ != n.typ {
			continue
		}
		base := at.Offset
		if anchor.field == "" {
			base = at.Size
		}
		if d, ok := distance(all, fp.table.places[anchor].of(fp.rows), anchor.field == ""); ok {
			derived = append(derived, layout.Field{Offset: base + d, Size: all[0].Size, Mask: all[0].Mask})
		}
	}
	return derived.same()
}

// of are the places in some releases.
func (p places) of(rows []int) places {
	if p == nil {
		return nil
	}
	out := make(places, len(rows))
	for i, row := range rows {
		out[i] = p.in(row)
	}
	return out
}

// same is the one place that all have, and whether there is one.
func (p places) same() (layout.Field, bool) {
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
