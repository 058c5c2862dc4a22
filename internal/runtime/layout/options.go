package layout

import (
	"debug/dwarf"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Options select the sources of a runtime's layout. The zero value allows all sources that need no debug
// information.
type Options struct {
	// Only lists the sources that may answer: symbols, memory, debuginfo, code, table, derived. Empty means all.
	Only []string
	// Full queries the costly sources for every name, to compare, and not only for names that the others lack.
	Full bool
	// Without lists releases to ignore in the tables. Tests use it to read a release that the tables lack.
	Without []string
	// Debug returns the debug information of a module. It is called at most once, and only on demand; it may be
	// nil.
	Debug func(*callbacks.Module) (*dwarf.Data, error)
	// Kept holds the facts from an earlier reading of the same process; it may be nil.
	Kept *Kept
	// Functions returns the bounds of the functions of a module, by address, from its unwind tables. It is
	// called for executables without symbols only; it may be nil.
	Functions func(*callbacks.Module) [][2]uint64
}

// Allows reports whether a source of that name may answer. The part of the name after a blank is
// ignored.
func (o Options) Allows(name string) bool {
	name, _, _ = strings.Cut(name, " ")
	return len(o.Only) == 0 || slices.Contains(o.Only, name)
}

// Allowed returns the sources that may answer. It does not need their names if all may.
func (o Options) Allowed(srcs ...Source) []Source {
	if len(o.Only) == 0 {
		return srcs
	}
	var out []Source
	for _, s := range srcs {
		if o.Allows(s.Name()) {
			out = append(out, s)
		}
	}
	return out
}

// DebugInfo returns the source of a module's debug information: the target's own if it has one,
// otherwise the file's. It is empty without either.
func (o Options) DebugInfo(t callbacks.Target, mod *callbacks.Module) []Source {
	if types, ok := t.(callbacks.Types); ok {
		return []Source{fromTypes(types, mod.Path)}
	}
	if o.Debug == nil {
		return nil
	}
	return []Source{fromDWARF(func() (*dwarf.Data, error) { return o.Debug(mod) }, mod.Bias)}
}
