// Package budget bounds the work of one look at a target: by CPU time, and by a context that can be
// cancelled. Every loop reports its work, and stops on an error. Reading memory of a target counts
// too, so that a loop over a damaged structure always ends.
package budget

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ErrSpent means that the CPU time of a look is used up.
var ErrSpent = errors.New("the budget of processor time is spent")

// stride is the amount of work between two readings of the clock. A unit of work is about one read of a
// structure, from 100 ns to 10 µs. So the clock costs little, and the end of a context is noticed within about
// a millisecond.
const stride = 128

// Budget bounds the work of one look. A nil Budget has no limit. It is safe for concurrent use, but counts only
// the time of goroutines that call Spend. A goroutine that stays on one thread of the operating system
// (runtime.LockOSThread) pays only for itself; another pays for all work of its thread since its last call.
type Budget struct {
	ctx   context.Context
	limit time.Duration // 0: no limit

	work atomic.Int64          // since the last reading of the clock
	end  atomic.Pointer[error] // the permanent error; nil before the end

	mu   sync.Mutex
	used time.Duration
	tid  int           // the operating system's thread at the last reading of the clock
	at   time.Duration // its CPU time then
}

// New returns a budget of CPU time (0: no limit) that ends with ctx.
func New(ctx context.Context, limit time.Duration) *Budget {
	b := &Budget{ctx: ctx, limit: limit}
	b.tid, b.at = now()
	return b
}

// Spend counts work before it is done. It returns an error, the same from then on, if the work must not be
// done: that of the context, or ErrSpent.
func (b *Budget) Spend(work int) error {
	if b == nil {
		return nil
	}
	if err := b.end.Load(); err != nil {
		return *err
	}
	if b.work.Add(int64(work)) < stride {
		return nil
	}
	b.work.Store(0)
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.check()
	if err != nil {
		b.end.Store(&err)
	}
	return err
}

// Err returns the error of Spend without any work. It always reads the clock.
func (b *Budget) Err() error { return b.Spend(stride) }

// check checks the context and the clock.
func (b *Budget) check() error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	tid, at := now()
	if tid == b.tid { // otherwise the time is another goroutine's, or unknown
		b.used += at - b.at
	}
	b.tid, b.at = tid, at
	if b.limit > 0 && b.used >= b.limit {
		return fmt.Errorf("%w: %v", ErrSpent, b.limit)
	}
	return nil
}

// Share returns a budget with one of n equal parts of the rest of b. Its time counts for b too, after Return.
func (b *Budget) Share(n int) *Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := New(b.ctx, 0)
	if b.limit > 0 {
		h.limit = max((b.limit-b.used)/time.Duration(n), 1)
	}
	return h
}

// Return ends the use of a share of b.
func (b *Budget) Return(share *Budget) {
	_ = share.Err() // reads the clock
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += share.Used()
	b.tid, b.at = now() // b must not count the share's time again
}

// Used returns the CPU time counted so far.
func (b *Budget) Used() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// now returns the current thread of the operating system, and its CPU time. A goroutine may return from any
// system call on another thread: without the lock, the time of one thread would be taken for that of another,
// which may have used minutes more.
func now() (tid int, used time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		return 0, 0 // every Linux has this clock
	}
	return unix.Gettid(), time.Duration(ts.Nano())
}
