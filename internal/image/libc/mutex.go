package libc

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Mutex is the content of a pthread_mutex_t.
type Mutex struct {
	Address uint64
	Owner   uint64 // thread id of the holder, in the C library's numbering; 0: unknown
	// Contended is set if threads sleep until its holder releases it. It is not set while a thread is just acquiring or
	// releasing it.
	Contended bool
	Shared    bool // other processes may use it too
	// ByKernel is set if the kernel passes it on when its holder ends: it is robust, or inherits priorities.
	ByKernel bool
	// Inherits is set if it inherits priorities (PTHREAD_PRIO_INHERIT).
	Inherits bool
}

// Mutex reads the mutex at addr. It returns an error for memory that cannot be a mutex.
func (l *Library) Mutex(addr uint64) (Mutex, error) {
	if err := l.Supported("mutexes"); err != nil {
		return Mutex{}, err
	}
	b := make([]byte, mutexFields.size)
	r := l.read()
	if r.read(addr, b); r.err != nil {
		return Mutex{}, fmt.Errorf("mutex at %#x: %w", addr, r.err)
	}
	field := func(offset uint64) uint64 { return callbacks.Word(b[offset : offset+4]) }
	lock, owner, users, kind := field(0), field(mutexFields.owner), field(mutexFields.users), field(mutexFields.kind)
	if kind&^mutexKinds != 0 {
		return Mutex{}, fmt.Errorf("no mutex is at %#x: its kind would be %#x", addr, kind)
	}
	m := Mutex{
		Address: addr, Owner: owner, Shared: kind&mutexShared != 0, Inherits: kind&mutexInherits != 0,
		ByKernel: kind&(mutexRobust|mutexInherits) != 0,
	}
	switch {
	case m.ByKernel: // the word has the holder, too
		m.Contended = lock&futexWaiters != 0 && users != 0
	case kind&mutexProtects != 0:
		m.Contended = lock&^mutexCeiling == lockContended && users != 0 && owner != 0
	default:
		m.Contended = lock == lockContended && users != 0 && owner != 0
	}
	return m, nil
}

// A stream's lock is glibc's _IO_lock_t: the word, the lock count of its owner (since glibc 2.41, the
// additional count), and the owner, as a pthread_t.
const (
	streamCount = 4
	streamOwner = 8
	streamSize  = 16
	// maxStreamCount bounds how often a thread locks one stream at a time.
	maxStreamCount = 1 << 16
)

// StreamOwner reads the lock of a stream of stdio at addr, and returns the pthread_t of the thread
// that holds it. It returns an error for memory that cannot be such a lock.
func (l *Library) StreamOwner(addr uint64) (uint64, error) {
	if err := l.Supported("locks of streams"); err != nil {
		return 0, err
	}
	b := make([]byte, streamSize)
	r := l.read()
	if r.read(addr, b); r.err != nil {
		return 0, fmt.Errorf("lock of a stream at %#x: %w", addr, r.err)
	}
	word, count := callbacks.Word(b[:streamCount]), callbacks.Word(b[streamCount:streamOwner])
	if word != lockContended || count > maxStreamCount {
		return 0, fmt.Errorf("no lock of a stream that somebody waits for is at %#x: %d, taken %d times", addr, word,
			count)
	}
	return callbacks.Word(b[streamOwner:]), nil
}

// InCondition reports whether a word on which a thread sleeps is part of the condition variable at addr.
func (l *Library) InCondition(addr, word uint64) bool {
	return l.Supported("condition variables") == nil && word-addr < conditionSize
}
