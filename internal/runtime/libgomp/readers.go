package libgomp

import (
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// The readers of a runtime form layers. Each calls only lower ones:
//
//	waits
//	states   settings   loops
//	tasks       |         |
//	threads ----+---------+
//	forks
//	records
//	base
//
// Each caches the structures that it has read at this stop.

// base is an immutable description of the runtime in the target.
type base struct {
	target callbacks.Target
	mem    callbacks.Memory
	stamp  handles.Stamp
	l      *Layout
	rep    layout.Report
	id     handles.Identity
	code   extent // range of the runtime's functions
	linked *linkedFunctions
}

// records reads single structures of teams and tasks.
type records struct {
	*base
	teams rtl.Cache[uint64, *team]
}

// forks finds the function that a thread passed to the runtime when it forked a region.
type forks struct {
	*base
	records *records
	known   rtl.Cache[uint64, []fork] // by thread
	passed  *passedFunctions
	entries func() []uint64 // addresses of functions that fork
	modules func() []extent
}

// passedFunctions has the functions that calls of functions that fork pass, by the code, which stays the same while the
// program runs.
type passedFunctions struct {
	arguments rtl.Cache[uint64, uint64] // by return address; 0 if the code does not show it
	// jumps has the function by that which ends in such a call. It has no 0: a slot of the PLT may be bound later.
	jumps rtl.Cache[uint64, uint64]
}

func newForks(found *base, kept *layout.KeptModule) *forks {
	passed, ok := kept.Forks.(*passedFunctions)
	if !ok {
		passed = &passedFunctions{}
		kept.Forks = passed
	}
	fs := &forks{base: found, records: &records{base: found}, passed: passed}
	fs.entries = sync.OnceValue(fs.forkEntries)
	fs.modules = sync.OnceValue(fs.readModules)
	return fs
}

// reopen returns a forks for another stop of the same target. Facts from the code of modules are kept.
func (fs *forks) reopen() *forks {
	return &forks{
		base: fs.base, records: &records{base: fs.base}, passed: fs.passed, entries: fs.entries, modules: fs.modules,
	}
}

// threads finds the threads that use the runtime, and their regions.
type threads struct {
	*base
	records *records
	forks   *forks
	natives []native
	world   func() *world
}

func newThreads(found *base, code *forks, natives []native) *threads {
	ths := &threads{base: found, records: code.records, forks: code, natives: natives}
	ths.world = sync.OnceValue(ths.readWorld)
	return ths
}

// tasks finds the tasks, their regions, and the threads that execute or have suspended them.
type tasks struct {
	*base
	records *records
	forks   *forks
	threads *threads
	holders func() map[uint64]*thread          // see current.go
	graphs  rtl.Cache[uint64, *graph]          // dependences, by team
	orphans rtl.Cache[uint64, map[uint64]bool] // queued tasks whose parent is finished, by team
	places  rtl.Recent[uint64, place]          // places of parent tasks
}

func newTasks(ths *threads) *tasks {
	ts := &tasks{base: ths.base, records: ths.records, forks: ths.forks, threads: ths}
	ts.holders = sync.OnceValue(ts.readHolders)
	return ts
}

// states infers the activity of a thread from the records and the evidence.
type states struct {
	*base
	records *records
	forks   *forks
	threads *threads
	tasks   *tasks
	known   rtl.Cache[observed, *handles.ThreadState]
}

// waits finds the object for which a thread waits, and its holder or the missing threads.
type waits struct {
	*base
	records *records
	threads *threads
	tasks   *tasks
	states  *states
}

// loops reads the progress of a thread, in its loop and outside of it.
type loops struct {
	*base
	threads *threads
}

// settings reads control variables.
type settings struct {
	*base
	records *records
	threads *threads
	tasks   *tasks
}
