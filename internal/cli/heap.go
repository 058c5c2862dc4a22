package cli

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/live"
)

// manyThreads is from how many threads on a look is worth the time to make room for it;
// roomOfThread is what it takes of the heap for each, in bytes.
const (
	manyThreads  = 128
	roomOfThread = 64 << 10
)

// makeRoom has the kernel give this process the memory for a look at a target in huge pages, if
// it has any at hand: page by page, a look spends a sixth of its time in page faults. What is
// not used is not given. It is done before anything is on the heap. From then on, one processor
// is used: a look is one goroutine, and what Go does beside on others costs more than it saves.
func makeRoom(threads int) {
	runtime.GOMAXPROCS(1)
	if threads < manyThreads {
		hugeNext()
		return
	}
	room := make([]byte, min(threads*roomOfThread, answerHeap))
	_ = unix.Madvise(room, unix.MADV_HUGEPAGE) // not each kernel has them
	room = nil
	runtime.GC() // the heap has its memory from now on
}

// heapUnit is in what Go's heap takes memory of the kernel, hugePage the size of such a page,
// and firstRoom what shows where the heap will go on; in bytes.
const (
	heapUnit  = 4 << 20
	hugePage  = 2 << 20
	firstRoom = 128 << 10
)

// hugeNext has the next megabytes of the heap be of huge pages, without a collection: that takes
// longer than the page faults of few threads. It fills the heap up to the next huge page but
// one with an object that nobody touches, so that what is needed next lies behind that. Only
// where the heap does not grow as Go's does, that is in vain.
func hugeNext() {
	next := behind(make([]byte, firstRoom))
	end := (next + heapUnit - 1) &^ (heapUnit - 1) // of what the heap has
	from := end + heapUnit
	if end-next > hugePage {
		from = end + hugePage
	}
	filler := make([]byte, from-next)
	if behind(filler) != from {
		return
	}
	_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, from, end+2*heapUnit-from, unix.MADV_HUGEPAGE)
}

// behind is the address of the byte behind b.
func behind(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) + uintptr(len(b)) }

// threadsOf is how many threads a target seems to have: a core has two segments for each, its
// stack and the guard page below that. It is 0 if that cannot be told at once, as of what is compressed or elsewhere.
func threadsOf(name string) int {
	if pid, err := strconv.Atoi(name); err == nil {
		return live.ThreadCount(pid)
	}
	file, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer file.Close()
	var h elf.Header64
	err = binary.Read(file, binary.LittleEndian, &h)
	if err != nil || !bytes.HasPrefix(h.Ident[:], []byte(elf.ELFMAG)) || elf.Type(h.Type) != elf.ET_CORE {
		return 0
	}
	return int(h.Phnum) / 2
}

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
