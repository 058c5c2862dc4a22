// Package libomp reads LLVM's OpenMP runtime, and what is derived from it
// (Intel's and AMD's), in a target.
//
// Everything that it knows of the runtime's structures is declared in Layout;
// the rest of the package knows what the fields mean. A team of the runtime may
// serve several nested regions and a worker keeps its last team while it idles:
// regions.go and threads.go say how both are told apart.
package libomp

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// runtime is one libomp of a target at one stop. All that it keeps is read once
// and does not change.
type runtime struct {
	mem   callbacks.Memory
	stamp handles.Stamp
	l     *Layout
	rep   layout.Report
	id    rtl.Identity

	slots  []callbacks.Address // __kmp_threads, null where a gtid is free
	gtids  map[uint64]int      // address of a kmp_info_t → gtid
	sorted []uint64            // the addresses, ascending

	known   cache[uint64, *thread]
	teams   cache[uint64, *team]
	around  cache[handles.Parallel, []region]
	chains  cache[uint64, []region] // by thread: the regions that it is in
	tasks   cache[uint64, *task]
	aside   cache[uint64, *uint64]   // by loop: iterations that are set aside for members
	holders func() map[uint64]holder // see current.go
	graphs  cache[uint64, *graph]    // by team, see deps.go
}

// Open reads the runtimes of LLVM's kind in t. No such runtime is no error: the
// result is empty then. A runtime that is there and cannot be read is an error,
// beside those that can. The handles of the i-th runtime of the result carry the
// stamp with i added to its Space.
func Open(t callbacks.Target, stamp handles.Stamp, o Options) ([]rtl.Runtime, error) {
	mods, err := Find(t)
	if err != nil {
		return nil, fmt.Errorf("libomp: %w", err)
	}
	var rts []rtl.Runtime
	var errs []error
	for _, mod := range mods {
		rt, err := open(t, mod, stamp, o)
		switch {
		case errors.Is(err, ErrNotInitialized):
			errs = append(errs, &rtl.Dormant{Identity: rtl.Identity{Family: "libomp", Name: "LLVM OpenMP runtime", Module: mod}})
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

func open(t callbacks.Target, mod *callbacks.Module, stamp handles.Stamp, o Options) (*runtime, error) {
	loc, err := Locate(t, mod, o)
	if err != nil {
		return nil, err
	}
	rt := newRuntime(t, stamp, loc)
	if err := rt.readThreads(); err != nil {
		return nil, err
	}
	rt.identify()
	return rt, nil
}

func newRuntime(mem callbacks.Memory, stamp handles.Stamp, loc *Located) *runtime {
	rt := &runtime{
		mem: mem, stamp: stamp, l: &loc.Layout, rep: loc.Report, id: loc.Identity,
		gtids: map[uint64]int{},
	}
	rt.holders = sync.OnceValue(rt.readHolders)
	return rt
}

// readThreads reads which threads there are.
func (rt *runtime) readThreads() error {
	if err := rt.readSlots(); err != nil {
		return err
	}
	rt.sortThreads()
	return nil
}

// Reread is the runtime as the target's memory is now.
func (rt *runtime) Reread() (rtl.Runtime, error) {
	now := &runtime{mem: rt.mem, stamp: rt.stamp, l: rt.l, rep: rt.rep, id: rt.id, gtids: map[uint64]int{}}
	now.holders = sync.OnceValue(now.readHolders)
	return now, now.readThreads()
}

// identify adds to the identity what the runtime's own variables say.
func (rt *runtime) identify() {
	g := &rt.l.Globals
	if v, err := layout.ReadGlobal(rt.mem, g.OpenmpVersion, 4); err == nil {
		rt.id.OMPVersion = v
	}
	if v, err := layout.ReadGlobal(rt.mem, g.OmpdState, 8); err == nil && v&1 != 0 {
		rt.id.Tracking = true
	}
	if v, err := layout.ReadGlobal(rt.mem, g.OmptEnabled, 4); err == nil && v&1 != 0 {
		rt.id.Tracking = true
	}
}

// Identity names the runtime.
func (rt *runtime) Identity() rtl.Identity { return rt.id }

// Layout says where each field lies and who said so.
func (rt *runtime) Layout() layout.Report { return rt.rep }

// Stamp is what all handles of this runtime carry.
func (rt *runtime) Stamp() handles.Stamp { return rt.stamp }

// Owns tells whether pc lies in the runtime's module.
func (rt *runtime) Owns(pc uint64) bool {
	return rt.id.Module != nil && rt.id.Module.Contains(callbacks.At(pc))
}

// cache keeps what was read.
type cache[K comparable, T any] struct {
	mu sync.Mutex
	m  map[K]T
}

// maxCached bounds each cache. A program with more threads or teams is read
// again and again, not wrongly.
const maxCached = 1 << 16

func (c *cache[K, T]) get(a K) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.m[a]
	return v, ok
}

func (c *cache[K, T]) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.m)
}

func (c *cache[K, T]) put(a K, v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[K]T{}
	}
	if len(c.m) < maxCached {
		c.m[a] = v
	}
}
