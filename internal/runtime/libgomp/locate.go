package libgomp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Located is a runtime with a known layout.
type Located struct {
	Layout   Layout
	Report   layout.Report
	Identity handles.Identity

	linked *linkedFunctions // nil if the runtime has symbols, or its functions were not found
}

// locate finds the offsets of fields and the globals of the runtime in mod. If too little is known to read even
// its threads, the error is callbacks.Incompatible; other unknown fields are listed in the report. With
// Options.Only, the error is not returned. Fields that the program's memory confirmed beyond doubt are stored in
// Options.Kept and not searched again.
func locate(t callbacks.Target, mod *callbacks.Module, o layout.Options) (*Located, error) {
	kept := o.Kept.ModuleOf(mod)
	if loc, ok := kept.Located.(*Located); ok {
		return loc, nil
	}
	if kept.Code == nil {
		kept.Code = newCodeSource(t, mod)
	}
	code := kept.Code
	symbols := &symbolSource{target: t, module: mod}
	memory := newMemorySource(t, func() (uint64, error) {
		if tls, err := symbols.Global("gomp_tls_data"); err == nil {
			return tls, nil
		}
		return code.Global("gomp_tls_data")
	})
	bounds, _ := versions(t, mod)
	table := &tableSource{evidence: o.Allowed(memory, code), bounds: bounds, allowed: memory.allows}
	costly := o.DebugInfo(t, mod)
	linked := findLinked(t, mod, o, func() (uint64, error) { return memory.Global("gomp_tls_data") })
	shown := []layout.Source{code}
	if linked != nil {
		shown = append(shown, linked)
	}
	sources := o.Allowed(slices.Concat([]layout.Source{symbols, memory}, costly, shown)...)
	if o.Allows("table") || o.Allows("derived") { // the name of this source depends on its result
		sources = append(sources, table)
	}
	r := layout.Resolver{
		Sources: sources,
		Judge:   func(candidates []layout.Entry) int { return believeMemory(memory, candidates) },
	}
	if !o.Full {
		r.Costly = costly
	}
	loc := &Located{linked: linked}
	var err error
	loc.Report, err = r.Resolve(&loc.Layout)
	loc.Identity = identify(t, mod, table.take())
	if len(o.Only) > 0 {
		return loc, err
	}
	if err == nil {
		err = loc.Layout.keysKnown()
	}
	if err != nil {
		return nil, &rtl.Unread{Module: mod,
			Err: fmt.Errorf("libgomp layout: %w", errors.Join(err, callbacks.Incompatible))}
	}
	if table.name == "derived" {
		loc.Identity.Warnings = append(loc.Identity.Warnings,
			"no known release of libgomp has this layout: fields are derived from the code of the accessors")
	}
	if memory.hits >= minWitnesses && loc.Report.Undisputed() {
		kept.Located = loc
	}
	return loc, nil
}

// minWitnesses is the number of threads that must show a layout in memory before it overrides another source.
const minWitnesses = 2

// believeMemory settles a conflict between sources by the evidence of several threads.
func believeMemory(memory *memorySource, candidates []layout.Entry) int {
	if memory.hits < minWitnesses {
		return -1
	}
	return slices.IndexFunc(candidates, func(c layout.Entry) bool { return c.Source == memory.Name() })
}

// keysKnown returns an error for a missing name that is required to read a runtime at all.
func (l *Layout) keysKnown() error {
	return errors.Join(l.Globals.TLS.Err(), l.Thread.Team.Err(), l.Thread.TeamID.Err(), l.Thread.Level.Err(),
		l.Thread.Task.Err(),
		l.Thread.ThreadPool.Err(), l.Team.Nthreads.Err(), l.Team.PrevTeam.Err(), l.Team.PrevTeamID.Err(),
		l.Team.Size.Err(), l.Task.Size.Err())
}

// symbolSource returns the symbols of a runtime that is not stripped, for example of a statically linked one.
type symbolSource struct {
	target callbacks.Target
	module *callbacks.Module
}

// Name returns "symbols".
func (s *symbolSource) Name() string { return "symbols" }

// Field returns an error: symbols show no fields.
func (s *symbolSource) Field(string, string) (layout.Field, error) {
	return layout.Field{}, layout.ErrUnknown
}

// Type returns an error: symbols show no types.
func (s *symbolSource) Type(string) (layout.Type, error) { return layout.Type{}, layout.ErrUnknown }

// Global returns the value of a symbol of the runtime's module; for gomp_tls_data, the distance of
// a thread's instance from its thread pointer.
func (s *symbolSource) Global(name string) (uint64, error) {
	if name != "gomp_tls_data" {
		a, err := layout.SymbolIn(s.target, s.module, name)
		return a.Offset, err
	}
	lwps, err := listThreads(s.target)
	if err != nil {
		return 0, fmt.Errorf("%w: %v", layout.ErrUnknown, err)
	}
	for _, l := range lwps {
		id := callbacks.LWP(l.lwp)
		if l.lwp == 0 {
			id = callbacks.Pthread(l.pthread)
		}
		a, err := s.target.ThreadSymbol(id, name, s.module.Path)
		if err == nil && l.tp != 0 {
			return a.Offset - l.tp, nil
		}
		if errors.Is(err, callbacks.ErrNoSymbol) { // the name is missing for all threads
			break
		}
	}
	return 0, layout.ErrUnknown
}
