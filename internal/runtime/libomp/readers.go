package libomp

import (
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp/locate"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// The readers of a runtime form layers, and call only lower ones:
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

// base is the runtime as it was found in the target. It does not change once the
// runtime is open.
type base struct {
	mem        callbacks.Memory
	stamp      handles.Stamp
	l          *locate.Layout
	vars       func() *locate.Settings // found when they are asked for
	rep        layout.Report
	id         handles.Identity
	keepsWords wordsKept
}

// threads reads threads and their teams.
type threads struct {
	*base
	slots  []callbacks.Address // __kmp_threads, null where a gtid is free
	gtids  map[uint64]int      // address of a kmp_info_t → gtid
	sorted []uint64            // the addresses, ascending
	known  rtl.Cache[uint64, *thread]
	teams  rtl.Cache[uint64, *team]
}

// records reads the structures of tasks, each for itself.
type records struct {
	*base
	tasks    rtl.Recent[uint64, *task]
	idents   rtl.Cache[uint64, handles.SourceLocation] // by ident_t
	bindings rtl.Cache[uint64, binding]                // of tasks around target tasks
}

// regions finds the parallel regions that threads are in.
type regions struct {
	*base
	threads *threads
	records *records
	around  rtl.Cache[handles.Parallel, []region]
	chains  rtl.Cache[uint64, []region] // by thread: the regions that it is in
}

// tasks finds tasks: which there are, in which regions, and which thread has them.
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

// states infers the activity of a thread from the runtime's fields and from evidence.
type states struct {
	*base
	threads  *threads
	records  *records
	regions  *regions
	locks    *locks
	barriers *barriers
	ahead    ahead
}

// ahead is which threads, by gtid, were foreseen last, and how many (state_word.go). It is used where memory is dear
// only, which one question at a time reads.
type ahead struct{ begin, end, many int }

// waits finds the object of a thread's wait, and its holder or the missing threads.
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

// loops reads how far a thread is, in its loop and beyond.
type loops struct {
	*base
	threads *threads
	aside   rtl.Cache[uint64, *uint64] // by loop: iterations that are set aside for members
}

// settings reads control variables and the data of tools.
type settings struct {
	*base
	threads *threads
	regions *regions
	tasks   *tasks
}
