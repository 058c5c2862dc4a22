// Package foreign reads OpenMP runtimes whose structures are unknown. If a runtime exports the functions by
// which a thread asks for its own place, their code is run on the target's memory (package accessor).
//
// That gives each thread's place at every nesting level, and control variables. The teams of threads follow
// where only one assignment is possible: see teams.go. Tasks, the waits of threads, and threads outside of
// parallel regions are unknown, and the answers say so.
package foreign

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/accessor"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

const (
	family = "other"
	name   = "OpenMP runtime of another kind"
)

// required lists the functions that a runtime must export: they return a thread's place. They have been in the
// standard since 2008.
func required() []string {
	return []string{"omp_get_thread_num", "omp_get_num_threads", "omp_get_level", "omp_get_ancestor_thread_num",
		"omp_get_team_size"}
}

// errUnknown is the error of most questions.
var errUnknown = fmt.Errorf("the structures of this runtime are not known, only what its omp_get_ functions tell: %w",
	callbacks.Unsupported)

// warning describes the limits of such a runtime's data; it is printed once.
const warning = "its structures are not known: numbers are what its own omp_get_ functions would return to each " +
	"thread; " +
	"tasks, the functions of regions, what a thread waits for, and which threads outside of parallel regions are its " +
	"own are not known"

// runtime is one such runtime of a target at one stop. Its data is read once and does not change.
type runtime struct {
	target callbacks.Target
	stamp  handles.Stamp
	id     handles.Identity
	call   *accessor.Caller
	icvs   []accessor.Function // that return control variables, and that the module exports
	world  func() *world
}

var _ rtl.Runtime = (*runtime)(nil)

// openRuntimes returns a reader for each module of t that exports the required functions and that no other
// reader knows (known). Handles of the i-th result carry the stamp with i added to its Space. No such module is
// no error.
func openRuntimes(t callbacks.Target, stamp handles.Stamp, known func(*callbacks.Module) bool) ([]rtl.Runtime, error) {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		return nil, nil
	}
	mods, _ := lister.Modules() // errors in the modules are reported by the reader of the others
	var rts []rtl.Runtime
	var errs []error
	for _, mod := range mods {
		if !exports(t, mod) || known(mod) {
			continue
		}
		call, err := accessor.New(t, mod)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", mod.Path, err))
			continue
		}
		id := handles.Identity{Family: family, Name: name, Module: mod, Warnings: []string{warning}}
		rt := &runtime{target: t, stamp: stamp, id: id, call: call}
		rt.world = sync.OnceValue(rt.readWorld)
		rt.icvs = variables(t, mod)
		rts = append(rts, rt)
		stamp.Space++
	}
	return rts, errors.Join(errs...)
}

// recognize reports whether a module that defines these symbols exports the required functions.
func recognize(defines func(symbol string) bool, path string) (rtl.Kind, bool) {
	t, mod := rtl.SymbolsOnly(defines, path)
	return rtl.Kind{Family: family, Name: name}, exports(t, mod)
}

func exports(t callbacks.Target, mod *callbacks.Module) bool {
	for _, f := range required() {
		if _, err := layout.SymbolIn(t, mod, f); err != nil {
			return false
		}
	}
	return true
}

// Identity returns the runtime's name and version.
func (rt *runtime) Identity() handles.Identity { return rt.id }

// Layout returns an empty report: no field is read.
func (rt *runtime) Layout() layout.Report {
	return layout.Report{Instead: "derived by running the runtime's own functions on the target's memory"}
}

// Stamp returns the stamp of all handles of this runtime.
func (rt *runtime) Stamp() handles.Stamp { return rt.stamp }

// Owns reports whether pc is in the runtime's library. If the runtime is linked into the executable, its code
// cannot be distinguished from the program's.
func (rt *runtime) Owns(pc uint64) bool {
	return !rt.id.Module.Main && rt.id.Module.Contains(callbacks.Addr(pc))
}
