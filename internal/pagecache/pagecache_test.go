package pagecache

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// region is a memory of bytes at an address that counts its reads.
type region struct {
	low   uint64
	b     []byte
	mu    sync.Mutex
	reads int
}

func (r *region) ReadMemory(a callbacks.Address, p []byte) error {
	r.mu.Lock()
	r.reads++
	r.mu.Unlock()
	high := r.low + uint64(len(r.b))
	if a.Offset < r.low || a.Offset >= high {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	if n := copy(p, r.b[a.Offset-r.low:]); n < len(p) {
		return &callbacks.FaultError{Address: callbacks.At(high), Err: callbacks.ErrUnmapped}
	}
	return nil
}

func numbered(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

func TestReadsAreRememberedAndRight(t *testing.T) {
	r := &region{low: 0x10000, b: numbered(16 * PageSize)}
	c := New(r)
	for _, tt := range []struct {
		off, n, reads int
	}{
		{0, 8, 1},                         // first page
		{PageSize - 4, 8, 1},              // one page more
		{100, 2*PageSize - 200, 0},        // both are there
		{PageSize, 4 * PageSize, 1},       // three missing pages in one piece
		{0, 16 * PageSize, 1},             // the rest in one piece
		{7 * PageSize, 9 * PageSize, 0},   // all there
		{16*PageSize - 1, 1, 0},           // the last byte
		{3*PageSize + 5, 2 * PageSize, 0}, // across three pages
	} {
		before := r.reads
		p := make([]byte, tt.n)
		if err := c.ReadMemory(callbacks.At(0x10000+uint64(tt.off)), p); err != nil || !bytes.Equal(p, r.b[tt.off:tt.off+tt.n]) {
			t.Errorf("read of %d at %#x: wrong, %v", tt.n, tt.off, err)
		}
		if got := r.reads - before; got != tt.reads {
			t.Errorf("read of %d at %#x: %d reads underneath, want %d", tt.n, tt.off, got, tt.reads)
		}
	}
}

// TestEdges checks that a page that is only partly there serves its part.
func TestEdges(t *testing.T) {
	r := &region{low: 0x10800, b: numbered(2 * PageSize)} // half, whole, half a page
	c := New(r)
	for _, tt := range []struct {
		at    uint64
		n     int
		fault uint64 // 0 for none
	}{
		{0x10800, 16, 0}, {0x10800, 2 * PageSize, 0}, {0x12000, 0x800, 0}, {0x127ff, 1, 0},
		{0x107ff, 1, 0x107ff}, {0x107f8, 16, 0x107f8}, {0x12700, 0x101, 0x12800}, {0x10900, 3 * PageSize, 0x12800},
		{0xffffffffffffffff, 16, 0xffffffffffffffff},
	} {
		p := make([]byte, tt.n)
		err := c.ReadMemory(callbacks.At(tt.at), p)
		var fault *callbacks.FaultError
		switch {
		case tt.fault == 0 && (err != nil || !bytes.Equal(p, r.b[tt.at-r.low:][:tt.n])):
			t.Errorf("read of %d at %#x: wrong, %v", tt.n, tt.at, err)
		case tt.fault != 0 && (!errors.As(err, &fault) || fault.Address != callbacks.At(tt.fault)):
			t.Errorf("read of %d at %#x: %v, want a fault at %#x", tt.n, tt.at, err, tt.fault)
		}
	}
	if err := c.ReadMemory(callbacks.At(0), nil); err != nil {
		t.Errorf("an empty read: %v", err)
	}
}

func TestBounded(t *testing.T) {
	r := &region{low: PageSize, b: make([]byte, 3*maxPages*PageSize)}
	c := New(r)
	var p [1]byte
	for i := range uint64(3 * maxPages) {
		if err := c.ReadMemory(callbacks.At(PageSize+i*PageSize), p[:]); err != nil {
			t.Fatal(err)
		}
		if err := c.ReadMemory(callbacks.At(PageSize), p[:]); err != nil { // a page that is used again stays
			t.Fatal(err)
		}
	}
	if n := len(c.young) + len(c.old); n > maxPages {
		t.Errorf("%d pages are kept, the limit is %d", n, maxPages)
	}
	if want := 3 * maxPages; r.reads != want {
		t.Errorf("%d reads underneath, want %d", r.reads, want)
	}
	c.Forget()
	if len(c.young)+len(c.old) != 0 {
		t.Error("Forget left pages")
	}
}

func TestConcurrent(t *testing.T) {
	r := &region{low: PageSize, b: numbered(64 * PageSize)}
	c := New(r)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			p := make([]byte, 300)
			for i := range 500 {
				off := (i*7919 + g*104729) % (63 * PageSize)
				if err := c.ReadMemory(callbacks.At(PageSize+uint64(off)), p); err != nil || !bytes.Equal(p, r.b[off:off+300]) {
					t.Errorf("wrong bytes at %#x, %v", off, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkHit(b *testing.B) {
	c := New(&region{low: PageSize, b: make([]byte, PageSize)})
	var p [8]byte
	for b.Loop() {
		if err := c.ReadMemory(callbacks.At(PageSize+128), p[:]); err != nil {
			b.Fatal(err)
		}
	}
}
