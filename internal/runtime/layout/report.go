package layout

import (
	"fmt"
	"slices"
)

// All returns Entries, followed by those of Late.
func (r Report) All() []Entry {
	if r.Late == nil {
		return r.Entries
	}
	return slices.Concat(r.Entries, r.Late())
}

// Lookup returns the entry of a field, of the size of a type (empty name), or of a global variable
// (empty type), and whether it was requested.
func (r Report) Lookup(typ, name string) (Entry, bool) {
	for _, e := range r.All() {
		if e.Type == typ && e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

// Missing returns the entries that no source knew or that were refused. Optional entries are included only if
// sources disagree on them.
func (r Report) Missing() []Entry {
	var out []Entry
	for _, e := range r.All() {
		if e.Err != nil && (!e.Optional || len(e.Claims) > 0) {
			out = append(out, e)
		}
	}
	return out
}

// Undisputed reports whether no source contradicted another or was damaged.
func (r Report) Undisputed() bool {
	return !slices.ContainsFunc(r.Entries, func(e Entry) bool { return len(e.Claims) > 0 })
}

// String returns the entry's name as in a declaration: "type.field", "type" or the global
// variable's name.
func (e Entry) String() string { return entryName(e.Type, e.Name) }

func entryName(typ, member string) string {
	if typ == "" || member == "" {
		return typ + member
	}
	return typ + "." + member
}

// agrees reports whether two answers for one name are equal.
func (e *Entry) agrees(o *Entry) bool { return e.Field.same(o.Field) && e.Global == o.Global }

// value formats the answer.
func (e *Entry) value() string {
	switch {
	case e.Type == "":
		return fmt.Sprintf("%#x", e.Global)
	case e.Name == "":
		return fmt.Sprintf("%d bytes", e.Field.Size)
	}
	return e.Field.String()
}
