package libc

// This file has all that is known of where glibc keeps something. Sizes and offsets
// are in bytes, of 64-bit machines.

// mutexLayout is pthread_mutex_t (sysdeps/nptl/bits/struct_mutex.h), whose lock word
// comes first. It is the same in all versions.
type mutexLayout struct {
	owner uint64 // thread id of who has it, 0 if nobody has
	users uint64 // threads that have it or are about to
	kind  uint64 // type and attributes
	size  uint64 // of what is read
}

var mutexFields = mutexLayout{owner: 8, users: 12, kind: 16, size: 20}

const (
	// lockContended is the value of a lock word that is taken and waited for.
	lockContended = 2
	// mutexShared is the bit of the kind of a mutex that other processes may use
	// too (PTHREAD_MUTEX_PSHARED_BIT).
	mutexShared = 1 << 7
	// mutexKinds are all bits that a kind may have: the type, robust, priority
	// inheritance and protection, shared, elision, and the priority ceiling.
	mutexKinds = 1<<2 - 1 | 1<<4 | 1<<5 | 1<<6 | mutexShared | 1<<8 | 1<<9 | 0xfff80000
)

// conditionSize is the size of pthread_cond_t, in bytes. It contains the words on which threads
// sleep; which of them varies from signal to signal.
const conditionSize = 48

// blockLayout is struct pthread, the control block of a thread, to which pthread_t and on x86-64
// the thread pointer point. It starts with its own address.
type blockLayout struct {
	self uint64 // its own address once more
	list uint64 // its links in the list of stacks: next and previous
	tid  uint64 // thread id
}

// blockFields is for x86-64, the same since there is 64-bit Linux.
var blockFields = blockLayout{self: 16, list: 704, tid: 720}

const (
	// blockSize is an upper bound of the size of struct pthread, in bytes; pthread_join waits on a
	// field of it.
	blockSize = 4096
	// blockRoom is an upper bound of struct pthread with its alignment, in bytes. It is at the
	// upper end of a stack.
	blockRoom = 8192
	// blockAlign is the minimum alignment of struct pthread, in bytes.
	blockAlign = 64
	// blockWords is the number of words of struct pthread that are searched for its stack: it has
	// 2,304 bytes or more.
	blockWords = 280
	// stackPage is the alignment of stacks and their guards, in bytes.
	stackPage = 4096
)

// Chunks of malloc: the size of its chunk, with flags, precedes a block of memory. A free block
// contains the links of its list, and the next chunk starts with a copy of its size.
const (
	chunkHeader = 8 // of a chunk in use: the word before the block
	chunkLinks  = 16
	chunkFlags  = 7
	chunkAlign  = 16
	// previousInUse is the flag of a chunk that the one before is in use.
	previousInUse = 1
	// minChunk and maxChunk bound the size of a chunk; no process has more memory.
	minChunk = 32
	maxChunk = 1 << 40
	// maxBack bounds how far before an address the start of its chunk is looked
	// for.
	maxBack = 64 << 10
	// arenaSpan is the alignment of the heaps of threads, in bytes (HEAP_MAX_SIZE).
	arenaSpan = 64 << 20
	// arenaHead is an upper bound of an arena, with which the first heap of a thread starts, in
	// bytes.
	arenaHead = 4096
	// maxLibraryData bounds the writable data of the C library, in which is the
	// arena of the program.
	maxLibraryData = 1 << 20
)

// cacheLayout is struct tcache_perthread_struct, which has the free blocks that a
// thread keeps for itself: counters of 2 bytes, and as many first entries of lists.
type cacheLayout struct {
	chunk uint64 // size of its chunk, which tells versions apart
	lists int
	left  bool // the counters say how many blocks may still be added
}

var cacheLayouts = []cacheLayout{
	{chunk: 0x290, lists: 64},
	{chunk: 0x300, lists: 76, left: true}, // Since glibc 2.42. Before that, and since 2.30, it is the first.
}

const (
	// plainLists is the number of lists of a cache whose blocks are all of one size.
	plainLists = 64
	// maxCached bounds a list of a cache, which has 7 blocks by default.
	maxCached = 256
	// cacheRoom is how far below its thread pointer a thread's pointer to its cache
	// is looked for: it is a thread-local variable of the C library.
	cacheRoom = 4096
)
