// Package libgomp reads GNU libgomp, the OpenMP runtime of GCC, in a target.
//
// The runtime keeps no list of its threads: each thread has a gomp_thread in its thread-local storage, at a
// fixed distance from the thread pointer. Layout declares all known fields of the structures; the rest of the
// package interprets them. A waiting worker keeps the team of its last region until the next region starts;
// threads.go distinguishes stale from current teams.
package libgomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// runtime is one libgomp in a target at one stop. Its readers together implement the interfaces of rtl
// (readers.go).
type runtime struct {
	*base
	*threads
	*tasks
	*states
	*waits
	*loops
	*settings
}

// Open reads the GNU runtimes in t. Without such a runtime the result is empty, and the error is nil. If a
// runtime cannot be read, Open returns an error together with the other runtimes. The handles of the i-th
// runtime of the result carry the stamp with i added to its Space.
func Open(t callbacks.Target, stamp handles.Stamp, o layout.Options) ([]rtl.Runtime, error) {
	mods, err := findModules(t)
	if err != nil {
		return nil, fmt.Errorf("libgomp: %w", err)
	}
	var rts []rtl.Runtime
	var errs []error
	for _, mod := range mods {
		rt, err := open(t, mod, stamp, o)
		if err != nil {
			errs = append(errs, fmt.Errorf("libgomp in %s: %w", mod.Path, err))
			continue
		}
		rts = append(rts, rt)
		stamp.Space++
	}
	return rts, errors.Join(errs...)
}

// errStatic rejects executables with the runtime linked in and without symbols, of an architecture for which the search
// for the runtime's functions by their code was not tried.
func errStatic(a callbacks.Arch) error {
	return fmt.Errorf("the runtime is linked into an executable for %v without symbols, which is not read yet: %w",
		a, callbacks.Incompatible)
}

func open(t callbacks.Target, mod *callbacks.Module, stamp handles.Stamp, o layout.Options) (*runtime, error) {
	if mod.Main && !arch.Of(t.Arch()).LinkedSearch && codeOf(t, mod).low == 0 {
		return nil, &rtl.Unread{Module: mod, Err: errStatic(t.Arch())}
	}
	loc, err := locate(t, mod, o)
	if err != nil {
		return nil, err
	}
	found := &base{target: t, mem: t, stamp: stamp, l: &loc.Layout, rep: loc.Report, id: loc.Identity,
		code: codeOf(t, mod), linked: loc.linked}
	if found.linked != nil {
		found.code = found.linked.code
	}
	rt, err := newRuntime(found, newForks(found, o.Kept.ModuleOf(mod)))
	if err != nil {
		return nil, err
	}
	if !rt.anyPointer() {
		found.id.Warnings = append(found.id.Warnings, "the target does not provide thread pointers: threads cannot "+
			"be found")
	}
	return rt, nil
}

// newRuntime lists the target's threads. All other data is read on demand.
func newRuntime(found *base, code *forks) (*runtime, error) {
	natives, err := listThreads(found.target)
	if err != nil {
		return nil, err
	}
	ths := newThreads(found, code, natives)
	ts := newTasks(ths)
	s := &states{base: found, records: code.records, forks: code, threads: ths, tasks: ts}
	return &runtime{
		base: found, threads: ths, tasks: ts, states: s,
		waits:    &waits{base: found, records: code.records, threads: ths, tasks: ts, states: s},
		loops:    &loops{base: found, threads: ths},
		settings: &settings{base: found, records: code.records, threads: ths, tasks: ts},
	}, nil
}

// Reread returns a runtime that reads the target's current memory. Facts from the code of modules are kept.
func (rt *runtime) Reread() (rtl.Runtime, error) {
	return newRuntime(rt.base, rt.threads.forks.reopen())
}

// anyPointer reports whether the target provides the thread pointer of at least one thread, or has no threads.
func (ths *threads) anyPointer() bool {
	for _, n := range ths.natives {
		if n.tp != 0 {
			return true
		}
	}
	return len(ths.natives) == 0
}

// Identity returns the name and version of the runtime.
func (rt *base) Identity() handles.Identity { return rt.id }

// Layout returns the offset and the source of each field.
func (rt *base) Layout() layout.Report { return rt.rep }

// Stamp returns the stamp of all handles of this runtime.
func (rt *base) Stamp() handles.Stamp { return rt.stamp }

// Owns reports whether pc is in the runtime's functions.
func (rt *base) Owns(pc uint64) bool { return pc >= rt.code.low && pc < rt.code.high }
