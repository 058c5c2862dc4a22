// Package libomp reads LLVM's OpenMP runtime, and its derivatives (Intel's and AMD's), in a target.
//
// locate.Layout declares all known fields of the runtime's structures; the rest of the package
// interprets them. A team of the runtime may serve several nested regions, and an idle worker keeps
// its last team: regions.go and threads.go distinguish these.
package libomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp/locate"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// runtime is one libomp in a target at one stop. Its readers together implement the interfaces of rtl
// (readers.go).
type runtime struct {
	*base
	*locate.Locations
	*threads
	*regions
	*tasks
	*states
	*waits
	*loops
	*settings
}

// Open reads the runtimes of LLVM's kind in t. Without such a runtime the result is empty, and the error is nil.
// If a runtime cannot be read, Open returns an error together with the other runtimes. The handles of the i-th
// runtime of the result carry the stamp with i added to its Space.
func Open(t callbacks.Target, stamp handles.Stamp, o layout.Options) ([]rtl.Runtime, error) {
	mods, err := locate.Find(t, o.Kept)
	if err != nil {
		return nil, fmt.Errorf("libomp: %w", err)
	}
	var rts []rtl.Runtime
	var errs []error
	for _, mod := range mods {
		rt, err := open(t, mod, stamp, o)
		switch {
		case errors.Is(err, locate.ErrNotInitialized):
			id := handles.Identity{Family: locate.Family, Name: locate.FullName, Module: mod,
				OMPVersion: locate.OpenMPVersion(t, mod)}
			errs = append(errs, &rtl.Dormant{Identity: id, ICVs: icvs().ICVs()})
			continue
		case err != nil:
			errs = append(errs, fmt.Errorf("libomp in %s: %w", mod.Path, err))
			continue
		}
		rts = append(rts, rt)
		stamp.Space++
	}
	return rts, errors.Join(errs...)
}

func open(t callbacks.Target, mod *callbacks.Module, stamp handles.Stamp, o layout.Options) (*runtime, error) {
	loc, err := locate.Locate(t, mod, o)
	if err != nil {
		return nil, err
	}
	found := &base{mem: t, stamp: stamp, l: &loc.Layout, vars: loc.Settings, rep: loc.Report, id: loc.Identity}
	rt, err := newRuntime(found)
	if err != nil {
		return nil, err
	}
	found.identify()
	return rt, nil
}

// newRuntime reads the list of threads. All other data is read on demand.
func newRuntime(found *base) (*runtime, error) {
	ths := &threads{base: found, gtids: map[uint64]int{}}
	if err := ths.readThreads(); err != nil {
		return nil, err
	}
	rs := &records{base: found}
	rg := &regions{base: found, threads: ths, records: rs}
	tk := newTasks(rg)
	lk := &locks{base: found, threads: ths}
	bs := &barriers{base: found, threads: ths}
	lp := &loops{base: found, threads: ths}
	sr := &states{base: found, threads: ths, records: rs, regions: rg, locks: lk, barriers: bs, loops: lp}
	return &runtime{
		base: found, Locations: locate.NewLocations(found.mem, found.id.Module, &found.l.Globals),
		threads: ths, regions: rg, tasks: tk, states: sr, loops: lp,
		waits: &waits{
			base: found, threads: ths, records: rs, regions: rg, tasks: tk,
			locks: lk, barriers: bs, states: sr, loops: lp,
		},
		settings: &settings{base: found, threads: ths, regions: rg, tasks: tk},
	}, nil
}

// readThreads reads the list of threads.
func (ths *threads) readThreads() error {
	if err := ths.readSlots(); err != nil {
		return err
	}
	ths.sortThreads()
	return nil
}

// Reread returns a runtime that reads the target's current memory.
func (rt *runtime) Reread() (rtl.Runtime, error) { return newRuntime(rt.base) }

// identify adds the contents of the runtime's own variables to the identity.
func (rt *base) identify() {
	g := &rt.l.Globals
	if v, err := layout.ReadGlobal(rt.mem, g.OpenmpVersion, 4); err == nil {
		rt.id.OMPVersion = v
	}
	if v, err := layout.ReadGlobal(rt.mem, g.OmpdState, 8); err == nil {
		rt.id.Trackable, rt.id.Tracking = true, v&1 != 0
	}
	switch v, err := layout.ReadGlobal(rt.mem, g.OmptEnabled, 4); {
	case err == nil && v&1 != 0:
		rt.id.Tracking, rt.keepsWords = true, allWords
	case err != nil && rt.id.Tracking:
		rt.keepsWords = writtenWords
	}
}

// Identity returns the name and version of the runtime.
func (rt *base) Identity() handles.Identity { return rt.id }

// Layout returns the offset and the source of each field.
func (rt *base) Layout() layout.Report { return rt.rep }

// Stamp returns the stamp of all handles of this runtime.
func (rt *base) Stamp() handles.Stamp { return rt.stamp }

// Owns reports whether pc is in the runtime's module.
func (rt *base) Owns(pc uint64) bool {
	return rt.id.Module != nil && rt.id.Module.Contains(callbacks.Addr(pc))
}
