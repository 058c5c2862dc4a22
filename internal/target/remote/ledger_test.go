package remote

import (
	"context"
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// zeros is a debugger of a program with endless memory.
type zeros struct{}

func (zeros) Ask(_ context.Context, questions []*ompdv1.Question) ([]*ompdv1.Answer, error) {
	var out []*ompdv1.Answer
	for _, q := range questions {
		m := &ompdv1.MemoryAnswer{Data: make([]byte, q.GetMemory().GetSize())}
		out = append(out, &ompdv1.Answer{Answer: &ompdv1.Answer_Memory{Memory: m}})
	}
	return out, nil
}

// TestLedger reads more memory than may be cached: all reads succeed, the cache stays below the limit, and is
// empty after the stop.
func TestLedger(t *testing.T) {
	const limit = 1 << 20
	l := budget.NewLedger(limit)
	h := &ompdv1.Hello{About: &ompdv1.Target{Arch: callbacks.ArchX86_64.String()}}
	tg, err := New(h, zeros{}, Options{Memory: l})
	if err != nil {
		t.Fatal(err)
	}
	at, most := tg.InContext(t.Context()), uint64(0)
	for i := range uint64(256) {
		if err := at.ReadMemory(callbacks.Addr(1<<30+i<<16), make([]byte, 1<<16)); err != nil {
			t.Fatal(err)
		}
		most = max(most, l.HeldBytes())
	}
	if most > limit || most < limit/4 || l.Err() != nil {
		t.Errorf("%d bytes were kept at most, %v", most, l.Err())
	}
	if err := tg.Stopped(nil); err != nil || l.HeldBytes() != 0 {
		t.Errorf("%d bytes are kept of a stop that is over, %v", l.HeldBytes(), err)
	}
	small, err := New(h, zeros{}, Options{Memory: budget.NewLedger(4096)})
	if err != nil {
		t.Fatal(err)
	}
	if err := small.InContext(t.Context()).ReadMemory(callbacks.Addr(1<<30), make([]byte, 8)); !errors.Is(err,
		budget.ErrMemory) {
		t.Errorf("within less than a page: %v", err)
	}
}
