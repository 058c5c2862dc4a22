package libomp

import (
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp/locate"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// The readers of a runtime form layers. Each calls only lower ones:
//
//	waits
//	states                settings
//	locks  barriers       tasks       loops
//	   |      |           regions       |
//	   +------+---+----------+----------+
//	           threads    records    locations
//	           base
//
// Each caches the structures that it has read at this stop.

// base is the description of the runtime in the target. It does not change once the runtime is open.
type base struct {
	mem        callbacks.Memory
	stamp      handles.Stamp
	l          *locate.Layout
	vars       func() *locate.Settings // read on first use
	rep        layout.Report
	id         handles.Identity
	keepsWords wordsKept
}

// threads reads threads and their teams.
type threads struct {
	*base
	slots  []callbacks.Address // __kmp_threads; null for a free gtid
	gtids  map[uint64]int      // address of a kmp_info_t → gtid
	sorted []uint64            // the addresses in ascending order
	known  rtl.Cache[uint64, *thread]
	teams  rtl.Cache[uint64, *team]
}

// records reads single structures of tasks.
type records struct {
	*base
	tasks    rtl.Recent[uint64, *task]
	idents   rtl.Cache[uint64, handles.SourceLocation] // by ident_t
	bindings rtl.Cache[uint64, binding]                // of tasks that enclose target tasks
}

// regions finds the parallel regions of threads.
type regions struct {
	*base
	threads *threads
	records *records
	around  rtl.Cache[handles.Parallel, []region]
	chains  rtl.Cache[uint64, []region] // by thread: its regions
}

// tasks finds the tasks, their regions, and the threads that execute or have suspended them.
type tasks struct {
	*base
	threads *threads
	records *records
	regions *regions
	holders func() map[uint64]holder              // see current.go
	held    func() map[uint64][]callbacks.Address // by team, see explicit.go
	graphs  rtl.Cache[uint64, *graph]             // by team, see deps.go
}

func newTasks(rg *regions) *tasks {
	tk := &tasks{base: rg.base, threads: rg.threads, records: rg.records, regions: rg}
	tk.holders, tk.held = sync.OnceValue(tk.readHolders), sync.OnceValue(tk.readHeld)
	return tk
}

// locks reads locks of all kinds, with their holders and queues.
type locks struct {
	*base
	threads *threads
	queues  rtl.Cache[uint64, *waitQueue] // by queuing lock, see queue.go
}

// barriers reads the counters and flags of barriers.
type barriers struct {
	*base
	threads *threads
}

// states infers the activity of a thread from the runtime's fields and the evidence.
type states struct {
	*base
	threads  *threads
	records  *records
	regions  *regions
	locks    *locks
	barriers *barriers
	loops    *loops
	ahead    ahead
}

// ahead is the range of threads, by gtid, that were prefetched last, and their number (state_word.go). It is
// used only for expensive memory, which a single goroutine reads.
type ahead struct{ begin, end, many int }

// waits finds the object for which a thread waits, and its holder or the missing threads.
type waits struct {
	*base
	threads  *threads
	records  *records
	regions  *regions
	tasks    *tasks
	locks    *locks
	barriers *barriers
	states   *states
	loops    *loops
}

// loops reads the progress of a thread, in its loop and outside of it.
type loops struct {
	*base
	threads *threads
	aside   rtl.Cache[uint64, *uint64] // by loop: iterations that are reserved for members
}

// settings reads control variables and the data of tools.
type settings struct {
	*base
	threads *threads
	regions *regions
	tasks   *tasks
}
