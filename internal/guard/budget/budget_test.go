package budget

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestSpend spends budgets of all kinds.
func TestSpend(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var none *Budget
	if err := none.Spend(1 << 30); err != nil {
		t.Errorf("no budget: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	endless := New(ctx, 0)
	for range 10 * stride {
		if err := endless.Spend(1); err != nil {
			t.Fatalf("an endless budget: %v", err)
		}
	}
	cancel()
	var err error
	spent := 0
	for ; err == nil; spent++ {
		err = endless.Spend(1)
	}
	if !errors.Is(err, context.Canceled) || spent > stride {
		t.Errorf("a cancelled budget: %v after %d units", err, spent)
	}
	small := New(t.Context(), time.Millisecond)
	for err = nil; err == nil; {
		err = small.Spend(1)
	}
	if !errors.Is(err, ErrSpent) || small.Used() < time.Millisecond || !errors.Is(small.Spend(0), ErrSpent) {
		t.Errorf("a small budget: %v after %v", err, small.Used())
	}
}

// TestShare takes halves: each leaves a rest, and together they are no more than the whole.
func TestShare(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	whole := New(t.Context(), 8*time.Millisecond)
	for i, want := range []time.Duration{4 * time.Millisecond, 2 * time.Millisecond} {
		h := whole.Share(2)
		if h.limit > want || h.limit < want/2 {
			t.Errorf("half %d: %v, want %v", i, h.limit, want)
		}
		for h.Spend(1) == nil {
		}
		whole.Return(h)
	}
	if left := whole.limit - whole.Used(); left <= 0 || left > 3*time.Millisecond {
		t.Errorf("%v left", left)
	}
}

// TestReturned returns halves: their time counts once.
func TestReturned(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, begin := now()
	whole := New(t.Context(), 0)
	for range 3 {
		half := whole.Share(2)
		for half.Used() < 5*time.Millisecond {
			_ = half.Err()
		}
		whole.Return(half)
	}
	_ = whole.Err()
	_, end := now()
	if used := whole.Used(); used < 15*time.Millisecond || used > end-begin {
		t.Errorf("%v used, by a thread that used %v", used, end-begin)
	}
}

// TestThreads spends budgets in goroutines that move between threads with different CPU times: no look uses
// more CPU time than it lasts, and one that stays on its thread uses no more than that.
func TestThreads(t *testing.T) {
	const goroutines, looks = 16, 20000
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			stays := i%4 == 0
			if stays {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			_, before := now()
			begin := time.Now()
			b := New(t.Context(), 0)
			for range looks {
				if err := b.Err(); err != nil {
					t.Errorf("an endless budget: %v", err)
				}
				most := time.Since(begin)
				if stays {
					_, at := now()
					most = at - before
				}
				if used := b.Used(); used < 0 || used > most {
					t.Errorf("stays %v: %v used of at most %v", stays, used, most)
					return
				}
			}
		})
	}
	all.Wait()
}
