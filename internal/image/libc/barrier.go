package libc

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// A barrier of glibc (struct pthread_barrier, since 2.24): the number of arrived threads, the number that
// arrived in completed rounds (the word on which threads sleep), and the number of threads that it waits for.
const (
	barrierCame  = 0
	barrierRound = 4
	barrierCount = 8
	barrierSize  = 12
)

// Barrier is a barrier of the C library.
type Barrier struct {
	Address uint64 // of the barrier
	Came    int    // threads that arrived in this round
	Count   int    // threads that it waits for, 1 or more, and more than Came
}

// Barrier reads the barrier in which a thread sleeps on a word. It returns an error for memory that
// cannot be a barrier.
func (l *Library) Barrier(word uint64) (Barrier, error) {
	if err := l.Supported("barriers"); err != nil {
		return Barrier{}, err
	}
	addr, b := word-barrierRound, make([]byte, barrierSize)
	r := l.read()
	if r.read(addr, b); r.err != nil {
		return Barrier{}, fmt.Errorf("barrier at %#x: %w", addr, r.err)
	}
	field := func(offset int) uint32 { return uint32(callbacks.Word(b[offset : offset+4])) }
	came, count := field(barrierCame)-field(barrierRound), field(barrierCount)
	if came == 0 || came >= count {
		return Barrier{}, fmt.Errorf("no barrier is at %#x: %d of %d threads would have come", addr, came, count)
	}
	return Barrier{Address: addr, Came: int(came), Count: int(count)}, nil
}
