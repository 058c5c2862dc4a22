package locate

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Located is a runtime with a known layout.
type Located struct {
	Layout   Layout
	Report   layout.Report // of Layout, and later of Settings
	Settings func() *Settings
	Identity handles.Identity // without the contents of the runtime's own variables
}

// Locate finds the offsets of the fields and the addresses of the globals of the runtime in mod. A runtime that
// is loaded but not yet used is ErrNotInitialized. If too little is known to read even its threads, it is
// callbacks.Incompatible. With Options.Only, both are not checked. All other unknown names are in the report.
// Facts that the program's memory confirmed beyond doubt are kept in Options.Kept and not searched for again.
func Locate(t callbacks.Target, mod *callbacks.Module, o layout.Options) (*Located, error) {
	kept := o.Kept.ModuleOf(mod)
	if loc, ok := kept.Located.(*Located); ok {
		return loc, nil
	}
	if len(o.Only) == 0 && asleep(t, mod) {
		return nil, ErrNotInitialized
	}
	if kept.Code == nil {
		kept.Code = newCodeSource(t, mod)
	}
	code := kept.Code
	memory := newMemorySource(t, mod)
	cheap := []layout.Source{newSymbolSource(t, mod), memory}
	costly := append(o.DebugInfo(t, mod), code)
	j := &judge{target: t, sources: cheap, memory: memory}
	table := &tableSource{
		arch: t.Arch(), evidence: cheap, costly: costly,
		without: o.Without, bounds: func() layout.Releases { return exported(t, mod) },
		confirm: j.allows, pick: j.decide, shaped: j.shaped, holds: j.holds,
	}
	j.table = table
	r := layout.Resolver{
		Sources: o.Allowed(slices.Concat(cheap, costly, []layout.Source{table})...),
		Check:   isKey,
		Judge:   j.decide,
	}
	if !o.Full {
		r.Costly = costly
	}
	loc := &Located{}
	var err error
	loc.Report, err = r.Resolve(&loc.Layout)
	settings := sync.OnceValues(func() (*Settings, layout.Report) {
		s := &Settings{}
		rep, _ := r.Resolve(s) // the report has the error of each name
		return s, rep
	})
	loc.Settings = func() *Settings { s, _ := settings(); return s }
	loc.Report.Late = func() []layout.Entry { _, rep := settings(); return rep.Entries }
	if len(o.Only) > 0 {
		loc.Identity = identify(t, mod, table.take())
		return loc, err
	}
	if e := initialized(t, &loc.Layout, memory); e != nil {
		return nil, e
	}
	if err == nil {
		err = loc.Layout.keysKnown()
	}
	if err != nil {
		return nil, &rtl.Unread{Module: mod,
			Err: fmt.Errorf("libomp layout: %w", errors.Join(err, callbacks.Incompatible))}
	}
	loc.Identity = identify(t, mod, table.take())
	if memory.confirmed() && loc.Report.Undisputed() {
		kept.Located = loc
	}
	return loc, nil
}

// isKey selects the names that most others depend on: all sources are always queried for them.
func isKey(typ, name string) bool {
	switch typ + "." + name {
	case "kmp_base_info_t.th_team", "kmp_base_info_t.th_current_task", "kmp_base_team_t.t_level", ".__kmp_threads":
		return true
	}
	return false
}

// keysKnown returns the error of a name that is necessary to read anything.
func (l *Layout) keysKnown() error {
	return errors.Join(l.Globals.Threads.Err(), l.Thread.Team.Err(), l.Thread.CurrentTask.Err(),
		l.Team.Level.Err(), l.Team.Nproc.Err(), l.Team.Threads.Err(), l.Thread.Size.Err())
}

// initialized returns an error unless the runtime is initialized.
func initialized(t callbacks.Target, l *Layout, memory *memorySource) error {
	if !l.Globals.Threads.IsKnown() {
		memory.scan()
		if errors.Is(memory.poolErr, ErrNotInitialized) {
			return memory.poolErr
		}
		return nil
	}
	threads, err := layout.ReadUint(t, l.Globals.Threads.Address, 8)
	if err == nil && threads == 0 {
		return ErrNotInitialized
	}
	return nil
}
