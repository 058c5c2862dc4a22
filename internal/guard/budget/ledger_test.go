package budget

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

// TestLedger takes memory up to the limit, as a whole and by parts.
func TestLedger(t *testing.T) {
	var none *Ledger
	if err := none.Take("anything", 1<<60); err != nil || none.Part() != nil || none.Err() != nil ||
		none.HeldBytes() != 0 {
		t.Errorf("no ledger: %v", err)
	}
	none.Close()
	if err := NewLedger(0).Take("anything", 1<<60); err != nil {
		t.Errorf("no limit: %v", err)
	}
	const limit = 450 << 20
	l := NewLedger(limit)
	part := l.Look()
	for i, tt := range []struct {
		of   *Ledger
		n    uint64
		fits bool
		held uint64
	}{
		{l, 100 << 20, true, 100 << 20},
		{part, 150 << 20, true, 250 << 20},
		{part, 51 << 20, false, 250 << 20}, // a third is reserved for uncounted memory
		{l, 1 << 63, false, 250 << 20},
		{l, ^uint64(0), false, 250 << 20},
		{part, 50 << 20, true, 300 << 20},
		{l, 1, false, 300 << 20},
	} {
		err := tt.of.Take("symbols of x", tt.n)
		if (err == nil) != tt.fits || err != nil && !errors.Is(err, ErrMemory) || l.HeldBytes() != tt.held {
			t.Errorf("step %d: %v, %d bytes held", i, err, l.HeldBytes())
		}
	}
	if err := part.Err(); err == nil || strings.Count(err.Error(), "symbols of x") != 2 {
		t.Errorf("what a part says: %v", err)
	}
	if err := l.Err(); err == nil || strings.Count(err.Error(), "symbols of x") != 1 {
		t.Errorf("what the whole says: %v", err)
	}
	part.Close()
	if l.HeldBytes() != 100<<20 || part.HeldBytes() != 0 {
		t.Errorf("%d and %d bytes are held after the part was closed", l.HeldBytes(), part.HeldBytes())
	}
	for _, name := range strings.Fields("a b c d e f g h i j") {
		_ = l.Take(name, limit)
	}
	if text := l.Err().Error(); !strings.Contains(text, "others") || strings.Contains(text, "j (") {
		t.Errorf("many things left out: %s", text)
	}
}

// TestWithin shares one ledger between two parts with smaller limits, and gives the memory of a part back once,
// whichever is closed first.
func TestWithin(t *testing.T) {
	all := NewLedger(600)
	a, b := all.NewPart(450), all.NewPart(450)
	for i, tt := range []struct {
		of   *Ledger
		n    uint64
		fits bool
		all  uint64
	}{
		{a, 300, true, 300},
		{a, 1, false, 300},
		{b, 100, true, 400},
		{b, 1, false, 400}, // of all
		{all, 1, false, 400},
	} {
		if err := tt.of.Take("x", tt.n); (err == nil) != tt.fits || all.HeldBytes() != tt.all {
			t.Errorf("step %d: %v, %d bytes held", i, err, all.HeldBytes())
		}
	}
	if a.Err() == nil || b.Err() == nil {
		t.Errorf("what they say: %v, %v", a.Err(), b.Err())
	}
	a.Close()
	part := a.Part()
	if err := part.Take("x", 200); err != nil {
		t.Fatal(err)
	}
	a.Close() // before its part
	part.Close()
	if all.HeldBytes() != 100 || b.HeldBytes() != 100 {
		t.Errorf("%d of %d bytes are held", b.HeldBytes(), all.HeldBytes())
	}
	if c := (*Ledger)(nil).NewPart(1); c != nil {
		t.Error("a part of no ledger")
	}
}

// TestLedgerTogether takes and gives from several goroutines: the count stays right.
func TestLedgerTogether(t *testing.T) {
	l := NewLedger(4 << 20)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			part := l.Part()
			for range 1000 {
				if part.Take("x", 1<<20) == nil {
					part.Give(1 << 20)
				}
			}
			_ = part.Take("y", 1<<10)
			part.Close()
		})
	}
	wg.Wait()
	if l.HeldBytes() != 0 {
		t.Errorf("%d bytes are left", l.HeldBytes())
	}
}
