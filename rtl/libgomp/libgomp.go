// Package libgomp reads GNU libgomp, the OpenMP runtime of GCC, in a target.
//
// The runtime keeps no list of its threads: each has a gomp_thread in its
// thread-local storage, at one distance from the thread pointer. Everything that
// is known of the structures is declared in Layout; the rest of the package knows
// what the fields mean. A worker keeps the team of its last region while it waits
// for the next one: threads.go says how that is told.
package libgomp

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// runtime is one libgomp of a target at one stop. All that it keeps is read once
// and does not change.
type runtime struct {
	target callbacks.Target
	mem    callbacks.Memory
	stamp  handles.Stamp
	l      *Layout
	rep    layout.Report
	id     rtl.Identity
	code   extent // of the runtime's functions

	natives []native
	world   func() *world
	holders func() map[uint64]*thread // see current.go
	teams   cache[*team]
	graphs  cache[*graph]          // of dependences, by team
	orphans cache[map[uint64]bool] // queued tasks whose parent is finished, by team
	forks   cache[[]fork]          // by thread
	entries func() []uint64        // of functions that fork
	modules func() []extent
}

// Open reads the GNU runtimes in t. No such runtime is no error: the result is
// empty then. A runtime that is there and cannot be read is an error, beside those
// that can. The handles of the i-th runtime of the result carry the stamp with i
// added to its Space.
func Open(t callbacks.Target, stamp handles.Stamp, o Options) ([]rtl.Runtime, error) {
	mods, err := Find(t)
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

func open(t callbacks.Target, mod *callbacks.Module, stamp handles.Stamp, o Options) (*runtime, error) {
	loc, err := Locate(t, mod, o)
	if err != nil {
		return nil, err
	}
	rt := &runtime{target: t, mem: t, stamp: stamp, l: &loc.Layout, rep: loc.Report, id: loc.Identity, code: codeOf(t, mod)}
	rt.entries = sync.OnceValue(rt.forkEntries)
	rt.modules = sync.OnceValue(rt.readModules)
	if err := rt.readThreads(); err != nil {
		return nil, err
	}
	if !rt.anyPointer() {
		rt.id.Warnings = append(rt.id.Warnings, "the target tells no thread pointers: threads cannot be found")
	}
	return rt, nil
}

// readThreads lists the target's threads, of which everything else is read when it
// is asked for.
func (rt *runtime) readThreads() (err error) {
	rt.world = sync.OnceValue(rt.readWorld)
	rt.holders = sync.OnceValue(rt.readHolders)
	rt.natives, err = listThreads(rt.target)
	return err
}

// Reread is the runtime as the target's memory is now. What comes from the code of
// modules stays.
func (rt *runtime) Reread() (rtl.Runtime, error) {
	now := &runtime{
		target: rt.target, mem: rt.mem, stamp: rt.stamp, l: rt.l, rep: rt.rep, id: rt.id, code: rt.code,
		entries: rt.entries, modules: rt.modules,
	}
	return now, now.readThreads()
}

func (rt *runtime) anyPointer() bool {
	for _, n := range rt.natives {
		if n.tp != 0 {
			return true
		}
	}
	return len(rt.natives) == 0
}

// Identity names the runtime.
func (rt *runtime) Identity() rtl.Identity { return rt.id }

// Layout says where each field lies and who said so.
func (rt *runtime) Layout() layout.Report { return rt.rep }

// Stamp is what all handles of this runtime carry.
func (rt *runtime) Stamp() handles.Stamp { return rt.stamp }

// Owns tells whether pc lies in the runtime's functions.
func (rt *runtime) Owns(pc uint64) bool { return pc >= rt.code.low && pc < rt.code.high }

// cache keeps what was read of structures, by their address.
type cache[T any] struct {
	mu sync.Mutex
	m  map[uint64]T
}

// maxCached bounds each cache. A program with more threads or teams is read again
// and again, not wrongly.
const maxCached = 1 << 16

func (c *cache[T]) get(a uint64) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.m[a]
	return v, ok
}

func (c *cache[T]) put(a uint64, v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[uint64]T{}
	}
	if len(c.m) < maxCached {
		c.m[a] = v
	}
}
