package cli

import (
	"runtime"
	"runtime/debug"
)

// worthCollecting is from how many bytes on a heap takes less time to collect than as much
// new memory: the kernel clears each page of that.
const worthCollecting = 20 << 20

// answerHeap is what the heap may grow to, in bytes, while the answer is made, before memory
// is collected again: of 1,024 threads half of it is garbage by then.
const answerHeap = 34 << 20

// leastHeap is what the heap of a Go program may grow to at 100 %, whatever is in use.
const leastHeap = 4 << 20

// collect collects the garbage of a rehearsal, so that the answer is made in its place. No
// collection is begun while a process stands still for a look, then.
func collect() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetMemoryLimit(limitAfter(m.HeapAlloc))
	if m.HeapAlloc < worthCollecting {
		return
	}
	runtime.GC()
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(growth(m.HeapAlloc))
}

// limitAfter is what this process may take while the answer is made, in bytes, before memory is
// collected whatever that costs, if a rehearsal that reads the same left so many on the heap.
func limitAfter(rehearsal uint64) int64 {
	const least = 30 << 20
	return int64(max(least+rehearsal*6/10, rehearsal*13/10))
}

// growth is by how many percent a heap of which so many bytes are in use may grow to be
// as large as answerHeap: at least by half.
func growth(used uint64) int {
	if used >= answerHeap {
		return 50
	}
	return int(min(max((answerHeap-used)*100/max(used, 1), 50), answerHeap*100/leastHeap))
}
