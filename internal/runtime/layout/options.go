package layout

import (
	"debug/dwarf"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Options say where the layout of a runtime may come from. The zero value allows all
// sources that need no debug information.
type Options struct {
	// Only names the sources that may answer: symbols, memory, debuginfo,
	// code, table, derived. Empty means all.
	Only []string
	// Full asks the costly sources for everything, to compare, and not only
	// for what the others left open.
	Full bool
	// Without names releases whose rows in the tables do not count: so it is seen how
	// a release is read that the tables do not have.
	Without []string
	// Debug gives the debug information of a module. It is called at most
	// once, and only if something is asked of it; nil means that there is
	// none.
	Debug func(*callbacks.Module) (*dwarf.Data, error)
	// Kept has what was found out about the runtime when the same process was
	// read before; nil keeps nothing.
	Kept *Kept
	// Functions lists where the functions of a module begin and end, by address, as its
	// unwind tables have it. It is called for executables without symbols only; nil stands
	// for none.
	Functions func(*callbacks.Module) [][2]uint64
}

// Allows reports whether a source of that name may answer. What stands behind a blank
// in the name does not count.
func (o Options) Allows(name string) bool {
	name, _, _ = strings.Cut(name, " ")
	return len(o.Only) == 0 || slices.Contains(o.Only, name)
}

// Allowed are those of some sources that may answer. It does not ask for their names
// if all may.
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

// DebugInfo is the source of what debug information tells of a module: asked of the
// target if it reads that itself, else read here. It is empty if there is neither.
func (o Options) DebugInfo(t callbacks.Target, mod *callbacks.Module) []Source {
	if types, ok := t.(callbacks.Types); ok {
		return []Source{fromTypes(types, mod.Path)}
	}
	if o.Debug == nil {
		return nil
	}
	return []Source{fromDWARF(func() (*dwarf.Data, error) { return o.Debug(mod) }, mod.Bias)}
}
