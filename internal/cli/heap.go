package cli

import (
	"runtime"
	"runtime/debug"
)

// worthCollecting is the smallest heap, in bytes, that is collected before the answer is made. A smaller heap
// takes more time to collect than the kernel needs to clear as much new memory.
const worthCollecting = 20 << 20

// answerHeap is the heap size, in bytes, up to which no memory is collected while the answer is made. For 1,024
// threads half of it is garbage by then.
const answerHeap = 34 << 20

// leastHeap is the heap size, in bytes, up to which Go's runtime does not collect at 100 %.
const leastHeap = 4 << 20

// collect collects the garbage of a rehearsal, so that the answer reuses its memory. Then no collection starts
// while a process is stopped for a snapshot.
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

// limitAfter returns the memory limit of this process while the answer is made, in bytes. rehearsal is the heap
// size after a rehearsal. The answer also analyses the code behind lock verdicts, which takes some 40 MiB for large
// C++ programs: with a limit below that, collections took three times the CPU time of the answer.
func limitAfter(rehearsal uint64) int64 {
	const least = 64 << 20
	return int64(max(least+rehearsal*6/10, rehearsal*13/10))
}

// growth returns the percentage by which a heap with so many bytes in use may grow to reach answerHeap, and at
// least 50.
func growth(used uint64) int {
	if used >= answerHeap {
		return 50
	}
	return int(min(max((answerHeap-used)*100/max(used, 1), 50), answerHeap*100/leastHeap))
}
