package locate

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// equivalents maps locations that the runtime lacks to exported functions that serve the same purpose.
var equivalents = map[string]struct{ function, event string }{
	"ompd_bp_parallel_begin": {"__kmp_fork_call", "the thread that meets a parallel construct enters it, before it " +
		"has a team; regions that are serialized by an if clause do not come here"},
	"ompd_bp_teams_begin": {"__kmpc_fork_teams", "the thread that meets a teams construct on the host enters it, " +
		"before it has a league"},
}

// Locations finds the locations at which a debugger can stop a runtime. It needs only the code.
type Locations struct {
	mem     callbacks.Memory
	module  *callbacks.Module // nil if unknown
	globals *Globals
}

// NewLocations returns the locations of the runtime in mod with the given globals.
func NewLocations(mem callbacks.Memory, mod *callbacks.Module, g *Globals) *Locations {
	return &Locations{mem: mem, module: mod, globals: g}
}

// Breakpoints finds the locations by their symbols and by the code that calls them. If both exist, they must
// agree.
func (ls *Locations) Breakpoints() ([]handles.Breakpoint, error) {
	proofs, codeErr := ls.provenStubs()
	tracing, _ := layout.ReadGlobal(ls.mem, ls.globals.OmpdState, 8)
	var out []handles.Breakpoint
	for _, name := range handles.StandardBreakpoints() {
		b := handles.Breakpoint{BreakpointName: name}
		symbol, a := ls.breakpointSymbol(name.Name)
		proof, proven := proofs[name.Name]
		b.Sites, b.Entries = proof.sites, ls.bodyEntries(name.Name)
		switch {
		case symbol != "" && proven && proof.err == nil && proof.entry != a:
			b.Err = fmt.Errorf("%s: the symbol says %v, the runtime's code calls %v: %w", name.Name, a, proof.entry,
				callbacks.Incompatible)
			b.Sites = nil
		case symbol != "":
			b.Address, b.How, b.Function, b.Evidence = a, handles.BreakpointSymbol, symbol, "symbol of the runtime"
			if proven && proof.err == nil {
				b.Evidence += "; the code agrees: " + proof.evidence
			}
		case proven && proof.err == nil:
			b.Address, b.How, b.Evidence = proof.entry, handles.BreakpointCode, proof.evidence
		default:
			b = ls.equivalent(b, notFound(name.Name, proven, proof.err, codeErr))
		}
		b.Active = b.Address != (callbacks.Address{}) &&
			(b.How == handles.BreakpointEquivalent || tracing&1 != 0 || name.Name == validLocations)
		out = append(out, b)
	}
	return out, nil
}

// notFound returns the reason why a location was not found.
func notFound(name string, looked bool, err, codeErr error) error {
	switch {
	case looked:
		return fmt.Errorf("%s: %w", name, err)
	case isStub(name) && codeErr != nil:
		return fmt.Errorf("%s: %w", name, codeErr)
	}
	return fmt.Errorf("%s: this runtime does not have this location: %w", name, callbacks.Unsupported)
}

// equivalent completes b by an exported function, if there is one.
func (ls *Locations) equivalent(b handles.Breakpoint, why error) handles.Breakpoint {
	b.Err = why
	e, ok := equivalents[b.Name]
	if !ok {
		return b
	}
	a, err := ls.exportedFunction(e.function)
	if err != nil {
		return b
	}
	b.Address, b.How, b.Function, b.Evidence, b.Sites = a, handles.BreakpointEquivalent, e.function, e.event,
		[]callbacks.Address{a}
	return b
}

// breakpointSymbol looks a location up by its C name and its C++ name.
func (ls *Locations) breakpointSymbol(name string) (symbol string, a callbacks.Address) {
	for _, s := range []string{name, fmt.Sprintf("_Z%d%sv", len(name), name)} {
		if a, err := ls.exportedFunction(s); err == nil {
			return s, a
		}
	}
	return "", callbacks.Address{}
}

// exportedFunction returns the address of a symbol of the runtime's module.
func (ls *Locations) exportedFunction(name string) (callbacks.Address, error) {
	t, ok := ls.mem.(callbacks.Target)
	if !ok || ls.module == nil {
		return callbacks.Address{}, fmt.Errorf("%s: %w", name, callbacks.ErrNoSymbol)
	}
	return layout.SymbolIn(t, ls.module, name)
}

// isStub reports whether LLVM's runtime has this location.
func isStub(name string) bool {
	return name == validLocations || strings.HasPrefix(name, "ompd_bp_") &&
		(strings.Contains(name, "_parallel_") || strings.Contains(name, "_task_") || strings.Contains(name, "_thread_"))
}
