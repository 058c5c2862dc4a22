package layout

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Ask asks a source for a field, or for the size of a structure.
func Ask(src Source, n FieldName) (Field, error) {
	if n.Field != "" {
		return src.Field(n.Type, n.Field)
	}
	t, err := src.Type(n.Type)
	return Field{Size: t.Size}, err
}

// Rows is a checked-in table of the layouts of some releases of a runtime.
type Rows struct {
	Releases []string // a row each
	Places   map[FieldName]Places
	Order    []FieldName // as in the text
}

// Places are the offsets of a name by row, or one offset if it is the same in all; a size of 0 is a
// release without such a name. For a structure, they hold the size.
type Places []Field

// FieldOf returns the offset in one row.
func (p Places) FieldOf(row int) Field {
	if len(p) == 1 {
		return p[0]
	}
	return p[row]
}

// ParseRows parses a table. Its line "releases" has the names of the rows; then follows a line for
// each structure, with its size, and below, indented, one for each field, with "offset:size", or
// "offset:size&mask" for bits. A single value holds for all rows, otherwise there is one for each,
// with "-" where the release has no such name. Lines that start with # are comments.
func ParseRows(text string) (*Rows, error) {
	lines := strings.Count(text, "\n")
	r := &Rows{Places: make(map[FieldName]Places, lines), Order: make([]FieldName, 0, lines)}
	typ := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(line, "#"):
			continue
		case words[0] == "releases":
			r.Releases = words[1:]
			continue
		case line[0] != ' ':
			typ = words[0]
		}
		places, err := parsePlaces(words[1:], len(r.Releases))
		if err != nil || typ == "" {
			return nil, fmt.Errorf("layout table, line %d: %q: %w", n, line, err)
		}
		name := FieldName{Type: typ}
		if line[0] == ' ' {
			name.Field = words[0]
		}
		r.Places[name] = places
		r.Order = append(r.Order, name)
	}
	return r, nil
}

// parsePlaces reads one place for all n rows, or n of them.
func parsePlaces(words []string, n int) (Places, error) {
	if len(words) != 1 && len(words) != n || n == 0 {
		return nil, fmt.Errorf("%d places for %d releases", len(words), n)
	}
	all := make(Places, 0, len(words))
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
func parsePlace(w string) (f Field, err error) {
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

// DropReleases returns the rows except those of some releases.
func (r *Rows) DropReleases(releases []string) *Rows {
	if len(releases) == 0 {
		return r
	}
	out := &Rows{Places: make(map[FieldName]Places, len(r.Places)), Order: r.Order}
	for i, name := range r.Releases {
		if slices.Contains(releases, name) {
			continue
		}
		out.Releases = append(out.Releases, name)
		for n, p := range r.Places {
			out.Places[n] = append(out.Places[n], p.FieldOf(i))
		}
	}
	return out
}

// Replace returns the rows of the releases of changed, with its places instead of their own.
func (r *Rows) Replace(changed *Rows) *Rows {
	var others []string
	for _, name := range r.Releases {
		if !slices.Contains(changed.Releases, name) {
			others = append(others, name)
		}
	}
	rows := r.DropReleases(others)
	out := &Rows{Releases: rows.Releases, Places: maps.Clone(rows.Places), Order: rows.Order}
	maps.Copy(out.Places, changed.Places)
	return out
}

// Gather asks sources, in order, for all names of the table that are still unknown, and adds their
// answers.
func (r *Rows) Gather(known map[FieldName]Field, sources []Source) {
	for _, n := range r.Order {
		for _, src := range sources {
			if _, ok := known[n]; ok {
				break
			}
			if f, err := Ask(src, n); err == nil {
				known[n] = f
			}
		}
	}
}

// Fits reports whether all known fields equal a row.
func (r *Rows) Fits(row int, known map[FieldName]Field) bool {
	for n, f := range known {
		if p := r.Places[n]; len(p) == 0 || p.FieldOf(row) != f {
			return false
		}
	}
	return true
}
