package libc

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// ReadWriteLock is the content of a pthread_rwlock_t.
type ReadWriteLock struct {
	Address uint64
	Writer  uint64 // thread id of the writer, in the C library's numbering; 0: no writer
	Readers int    // number of threads that hold it for reading, or are about to
	Shared  bool   // other processes may use it too

	writersFirst bool // readers sleep while a writer waits
}

// glibc's pthread_rwlock_t since 2.25: __readers with flags in its low bits, two words on which threads sleep,
// two unused ones, and the writer.
const (
	rwReaderShift = 3
	rwWritePhase  = 1 << 0 // a writer holds it, or the next writer will
	rwSize        = 56
	rwWriter      = 24
	rwShared      = 28
	rwFlags       = 48
	rwAlign       = 8
	rwMaxFlags    = 2 // the kinds: readers first, writers first, writers first without recursion
)

// rwUnused are the words that are 0 in every lock.
var rwUnused = [...]uint64{16, 20}

// rwWords are the offsets of the words on which threads sleep: for the phase, writers for each other, and
// readers if writers have priority.
var rwWords = [...]uint64{8, 12, 0}

// ReadWriteLock finds the lock in which a thread sleeps on a word. addr is the address of the lock,
// 0 if unknown; it is ignored if the lock there does not contain the word. The error is for memory
// that cannot be a lock.
func (l *Library) ReadWriteLock(word, addr uint64) (ReadWriteLock, error) {
	if err := l.Supported("read-write locks"); err != nil {
		return ReadWriteLock{}, err
	}
	known := slices.ContainsFunc(rwWords[:], func(offset uint64) bool { return addr == word-offset })
	if known {
		return l.readWriteLock(addr)
	}
	err := fmt.Errorf("no read-write lock has its word at %#x", word)
	for _, offset := range rwWords {
		if (word-offset)%rwAlign != 0 {
			continue
		}
		var rw ReadWriteLock
		if rw, err = l.readWriteLock(word - offset); err == nil && (offset != 0 || rw.writersFirst) {
			return rw, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("no read-write lock is at %#x: readers sleep there only if writers come first", word)
	}
	return ReadWriteLock{}, err
}

func (l *Library) readWriteLock(addr uint64) (ReadWriteLock, error) {
	b := make([]byte, rwSize)
	r := l.read()
	if r.read(addr, b); r.err != nil {
		return ReadWriteLock{}, fmt.Errorf("read-write lock at %#x: %w", addr, r.err)
	}
	field := func(offset uint64) uint64 { return callbacks.Word(b[offset : offset+4]) }
	for _, offset := range rwUnused {
		if field(offset) != 0 {
			return ReadWriteLock{}, fmt.Errorf("no read-write lock is at %#x: word %d of it is not 0", addr, offset/4)
		}
	}
	if shared, flags := field(rwShared), field(rwFlags); shared > 1 || flags > rwMaxFlags {
		return ReadWriteLock{}, fmt.Errorf("no read-write lock is at %#x: shared %d, kind %d", addr, shared, flags)
	}
	rw := ReadWriteLock{
		Address: addr, Writer: field(rwWriter), Shared: field(rwShared) == 1,
		writersFirst: field(rwFlags) == rwMaxFlags,
	}
	if field(0)&rwWritePhase == 0 {
		rw.Readers = int(field(0) >> rwReaderShift)
	}
	return rw, nil
}
