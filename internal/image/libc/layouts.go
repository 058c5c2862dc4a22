package libc

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// This file contains all known offsets in glibc. Sizes and offsets are in bytes, for 64-bit machines.

// mutexLayout is pthread_mutex_t (sysdeps/nptl/bits/struct_mutex.h). Its first word is the lock word. It is the
// same in all versions.
type mutexLayout struct {
	owner uint64 // thread id of the holder; 0: free
	users uint64 // threads that hold it or are about to
	kind  uint64 // type and attributes
	size  uint64 // of the part that is read
}

var mutexFields = mutexLayout{owner: 8, users: 12, kind: 16, size: 20}

const (
	// lockContended is the value of a lock word with a holder and waiters.
	lockContended = 2
	// mutexShared is the bit of the kind of a mutex that other processes may use
	// too (PTHREAD_MUTEX_PSHARED_BIT).
	mutexShared = 1 << 7
	// The bits of the kind of a mutex that is robust, that inherits priorities, and that has a priority ceiling, which
	// is in the bits mutexCeiling of the lock word.
	mutexRobust   = 1 << 4
	mutexInherits = 1 << 5
	mutexProtects = 1 << 6
	mutexCeiling  = 0xfff80000
	// futexWaiters is the bit for waiters of a lock word that contains the id of the holder (FUTEX_WAITERS).
	futexWaiters = 1 << 31
	// mutexKinds are all valid bits of a kind: the type, robust, priority inheritance and protection, shared,
	// elision, and the priority ceiling.
	mutexKinds = 1<<2 - 1 | mutexRobust | mutexInherits | mutexProtects | mutexShared | 1<<8 | 1<<9 | mutexCeiling
)

// conditionSize is the size of pthread_cond_t, in bytes. Threads sleep on words in it; which of them varies
// from signal to signal.
const conditionSize = 48

// blockLayout is struct pthread, the control block of a thread, to which pthread_t and on x86-64
// the thread pointer point. On x86-64 it starts with its own address.
type blockLayout struct {
	self  uint64 // its own address once more; 0 if it does not contain its address
	list  uint64 // its links in the list of stacks: next and previous
	tid   uint64 // thread id
	align uint64 // minimum alignment
}

// blockLayouts are unchanged in all versions. On x86-64 the structure starts with the fields to which the thread
// pointer points, on aarch64 with padding for these.
var blockLayouts = map[callbacks.Arch]blockLayout{
	callbacks.ArchX86_64:  {self: 16, list: 704, tid: 720, align: 64},
	callbacks.ArchAArch64: {list: 192, tid: 208, align: 16},
}

// muslThreadID is the offset of the thread id in struct pthread of musl 1.2, where pthread_t is known without the size
// of that structure.
var muslThreadID = map[callbacks.Arch]uint64{callbacks.ArchX86_64: 48}

const (
	// blockSize is an upper bound of the size of struct pthread, in bytes; pthread_join waits on a
	// field of it.
	blockSize = 4096
	// blockRoom is an upper bound of struct pthread with its alignment, in bytes. It is at the
	// upper end of a stack.
	blockRoom = 8192
	// blockWords is the number of words from struct pthread on that are searched for its stack: with thread-local data
	// above it, it has 2,304 bytes or more.
	blockWords = 280
	// stackPage is the alignment of stacks and their guards, in bytes, and sizeAlign that of the sizes of stacks.
	stackPage, sizeAlign = 4096, 16
)

// Chunks of malloc: the size of its chunk, with flags, precedes a block of memory. A free block
// contains the links of its list, and the next chunk starts with a copy of its size.
const (
	HeaderSize = 8 // of a chunk in use: the word before the block
	chunkLinks = 16
	chunkFlags = 7
	chunkAlign = 16
	// previousInUse is the flag of a chunk that the one before is in use.
	previousInUse = 1
	// minChunk and maxChunk bound the size of a chunk; no process has more memory.
	minChunk = 32
	maxChunk = 1 << 40
	// maxBack bounds the distance from an address to the start of its chunk.
	maxBack = 64 << 10
	// searchPiece is the size and alignment of the pieces of one read of that memory.
	searchPiece = 4096
	// arenaSpan is the alignment of the heaps of threads, in bytes (HEAP_MAX_SIZE).
	arenaSpan = 64 << 20
	// arenaHead is an upper bound of an arena, with which the first heap of a thread starts, in
	// bytes.
	arenaHead = 4096
	// maxLibraryData bounds the writable data of the C library, which contain the arena of the program.
	maxLibraryData = 1 << 20
)

// cacheLayout is struct tcache_perthread_struct, a thread's own free blocks: counters of 2 bytes, and as many
// heads of lists.
type cacheLayout struct {
	chunk uint64 // size of its chunk, different in each version
	lists int
	left  bool // the counters are the numbers of blocks that may still be added
}

var cacheLayouts = []cacheLayout{
	{chunk: 0x290, lists: 64},
	{chunk: 0x300, lists: 76, left: true}, // Since glibc 2.42; the first one from 2.30 to 2.41.
}

const (
	// plainLists is the number of a cache's lists with blocks of a single size.
	plainLists = 64
	// maxCached bounds a list of a cache, which has 7 blocks by default.
	maxCached = 256
	// cacheRoom is the distance below or above the thread's control block in which a thread's pointer to its cache
	// is searched: it is a thread-local variable of the C library.
	cacheRoom = 4096
)
