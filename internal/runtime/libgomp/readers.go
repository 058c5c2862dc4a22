package libgomp

import (
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// The readers of a runtime form layers, and call only lower ones:
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

// base is the runtime as it was found in the target. It does not change.
type base struct {
	target callbacks.Target
	mem    callbacks.Memory
	stamp  handles.Stamp
	l      *Layout
	rep    layout.Report
	id     handles.Identity
	code   extent // of the runtime's functions
	linked *linkedFunctions
}

// records reads the structures of teams and tasks, each for itself.
type records struct {
	*base
	teams rtl.Cache[uint64, *team]
}

// forks finds the function that a thread's code passed to the runtime when it forked a region.
type forks struct {
	*base
	records *records
	known   rtl.Cache[uint64, []fork] // by thread
	entries func() []uint64           // of functions that fork
	modules func() []extent
}

func newForks(found *base) *forks {
	fs := &forks{base: found, records: &records{base: found}}
	fs.entries = sync.OnceValue(fs.forkEntries)
	fs.modules = sync.OnceValue(fs.readModules)
	return fs
}

// reopen returns the reader for another look at the same target: facts from the code of modules
// stay.
func (fs *forks) reopen() *forks {
	return &forks{base: fs.base, records: &records{base: fs.base}, entries: fs.entries, modules: fs.modules}
}

// threads finds the threads that use the runtime, and the regions that they are in.
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

// tasks finds tasks: which there are, in which regions, and which thread has them.
type tasks struct {
	*base
	records *records
	forks   *forks
	threads *threads
	holders func() map[uint64]*thread          // see current.go
	graphs  rtl.Cache[uint64, *graph]          // of dependences, by team
	orphans rtl.Cache[uint64, map[uint64]bool] // queued tasks whose parent is finished, by team
	places  rtl.Recent[uint64, place]          // of tasks around others
}

func newTasks(ths *threads) *tasks {
	ts := &tasks{base: ths.base, records: ths.records, forks: ths.forks, threads: ths}
	ts.holders = sync.OnceValue(ts.readHolders)
	return ts
}

// states infers the activity of a thread from the records and from evidence.
type states struct {
	*base
	records *records
	forks   *forks
	threads *threads
	tasks   *tasks
	known   rtl.Cache[observed, *handles.ThreadState]
}

// waits finds the object of a thread's wait, and its holder or the missing threads.
type waits struct {
	*base
	records *records
	threads *threads
	tasks   *tasks
	states  *states
}

// loops reads how far a thread is, in its loop and beyond.
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
