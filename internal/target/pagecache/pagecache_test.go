package pagecache

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
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
		return &callbacks.FaultError{Address: callbacks.Addr(high), Err: callbacks.ErrUnmapped}
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
	r := &region{low: 0x10000, b: numbered(16 * BlockSize)}
	c := New(nil, r)
	for _, tt := range []struct {
		off, n, reads int
	}{
		{0, 8, 1},                           // first block
		{BlockSize - 4, 8, 1},               // one block more
		{100, 2*BlockSize - 200, 0},         // both are there
		{BlockSize, 4 * BlockSize, 1},       // three missing blocks in one piece
		{0, 16 * BlockSize, 1},              // the rest in one piece
		{7 * BlockSize, 9 * BlockSize, 0},   // all there
		{16*BlockSize - 1, 1, 0},            // the last byte
		{3*BlockSize + 5, 2 * BlockSize, 0}, // across three blocks
	} {
		before := r.reads
		p := make([]byte, tt.n)
		if err := c.ReadMemory(callbacks.Addr(0x10000+uint64(tt.off)), p); err != nil ||
			!bytes.Equal(p, r.b[tt.off:tt.off+tt.n]) {
			t.Errorf("read of %d at %#x: wrong, %v", tt.n, tt.off, err)
		}
		if got := r.reads - before; got != tt.reads {
			t.Errorf("read of %d at %#x: %d reads underneath, want %d", tt.n, tt.off, got, tt.reads)
		}
	}
}

// TestEdges checks that a block that is only partly there serves its part.
func TestEdges(t *testing.T) {
	r := &region{low: 0x10200, b: numbered(2 * BlockSize)} // half, whole, half a block
	c := New(nil, r)
	for _, tt := range []struct {
		at    uint64
		n     int
		fault uint64 // 0: no fault
	}{
		{0x10200, 16, 0}, {0x10200, 2 * BlockSize, 0}, {0x10800, 0x200, 0}, {0x109ff, 1, 0},
		{0x101ff, 1, 0x101ff}, {0x101f8, 16, 0x101f8}, {0x10900, 0x101, 0x10a00}, {0x10280, 3 * BlockSize, 0x10a00},
		{0xffffffffffffffff, 16, 0xffffffffffffffff},
	} {
		p := make([]byte, tt.n)
		err := c.ReadMemory(callbacks.Addr(tt.at), p)
		var fault *callbacks.FaultError
		switch {
		case tt.fault == 0 && (err != nil || !bytes.Equal(p, r.b[tt.at-r.low:][:tt.n])):
			t.Errorf("read of %d at %#x: wrong, %v", tt.n, tt.at, err)
		case tt.fault != 0 && (!errors.As(err, &fault) || fault.Address != callbacks.Addr(tt.fault)):
			t.Errorf("read of %d at %#x: %v, want a fault at %#x", tt.n, tt.at, err, tt.fault)
		}
	}
	if err := c.ReadMemory(callbacks.Addr(0), nil); err != nil {
		t.Errorf("an empty read: %v", err)
	}
}

// TestLend checks that lent memory equals read memory, and that it is from cached blocks where possible.
func TestLend(t *testing.T) {
	r := &region{low: 0x10200, b: numbered(2 * BlockSize)} // half, whole, half a block
	c := New(nil, r)
	for _, tt := range []struct {
		at    uint64
		n     uint64
		lent  bool
		reads int
	}{
		{0x10400, BlockSize, true, 1}, // the whole block
		{0x10410, 8, true, 0},         // in the cached block
		{0x107ff, 2, false, 0},        // across two blocks
		{0x10410, 0, false, 0},
		{0x10410, BlockSize + 1, false, 0},
		{0x10200, 8, true, 2},  // a block that cannot be read as a whole
		{0x109f8, 9, false, 2}, // past the end
		{0x20000, 8, false, 2}, // unmapped
	} {
		before := r.reads
		b := c.Lend(callbacks.Addr(tt.at), tt.n)
		if (b != nil) != tt.lent {
			t.Errorf("%d bytes at %#x: lent %v, want %v", tt.n, tt.at, b != nil, tt.lent)
		}
		if b != nil && !bytes.Equal(b, r.b[tt.at-r.low:][:tt.n]) {
			t.Errorf("%d bytes at %#x: wrong", tt.n, tt.at)
		}
		if got := r.reads - before; got != tt.reads {
			t.Errorf("%d bytes at %#x: %d reads underneath, want %d", tt.n, tt.at, got, tt.reads)
		}
	}
}

func TestBounded(t *testing.T) {
	r := &region{low: BlockSize, b: make([]byte, 6*maxBlocks*BlockSize)}
	l := budget.NewLedger(0)
	c := New(l, r)
	var p [1]byte
	for i := range uint64(3 * maxBlocks) {
		// every second one, so no read-ahead
		if err := c.ReadMemory(callbacks.Addr((6*maxBlocks-2*i)*BlockSize), p[:]); err != nil {
			t.Fatal(err)
		}
		if err := c.ReadMemory(callbacks.Addr(BlockSize), p[:]); err != nil { // a block that is used again stays
			t.Fatal(err)
		}
	}
	if n := len(c.young) + len(c.old); n > maxBlocks {
		t.Errorf("%d blocks are kept, the limit is %d", n, maxBlocks)
	}
	if n := uint64(len(c.young)+len(c.old)) * BlockSize; l.HeldBytes() != n {
		t.Errorf("%d bytes of blocks are kept, %d are counted", n, l.HeldBytes())
	}
	if want := 3*maxBlocks + 1; r.reads != want {
		t.Errorf("%d reads underneath, want %d", r.reads, want)
	}
}

// TestNoMemory reads through a cache with memory for three blocks, as a third is reserved for uncounted memory:
// all reads must succeed.
func TestNoMemory(t *testing.T) {
	r := &region{low: BlockSize, b: numbered(16 * BlockSize)}
	c := New(budget.NewLedger(5*BlockSize), r)
	for range 2 {
		for i := range uint64(16) {
			var p [8]byte
			if err := c.ReadMemory(callbacks.Addr((1+i)*BlockSize), p[:]); err != nil ||
				!bytes.Equal(p[:], r.b[i*BlockSize:][:8]) {
				t.Errorf("block %d: % x, %v", i, p, err)
			}
		}
	}
	if n := len(c.young) + len(c.old); n != 3 {
		t.Errorf("%d blocks are kept, not 3", n)
	}
}

// TestReadsAhead checks that successive reads in either direction soon fetch many blocks at once, and at the
// end of the memory the existing ones.
func TestReadsAhead(t *testing.T) {
	const blocks = 1000
	const words = blocks * BlockSize / 8
	for name, order := range map[string]func(i uint64) uint64{
		"up":   func(i uint64) uint64 { return i },
		"down": func(i uint64) uint64 { return words - 1 - i },
	} {
		r := &region{low: BlockSize, b: numbered(blocks * BlockSize)}
		c := New(nil, r)
		for n := range uint64(words) {
			var p [8]byte
			i := order(n)
			if err := c.ReadMemory(callbacks.Addr(BlockSize+8*i), p[:]); err != nil ||
				!bytes.Equal(p[:], r.b[8*i:8*i+8]) {
				t.Fatalf("%s: word %d: % x, %v", name, i, p, err)
			}
		}
		if r.reads > blocks/10 {
			t.Errorf("%s: %d reads of %d blocks in a row", name, r.reads, blocks)
		}
		if err := c.ReadMemory(callbacks.Addr(BlockSize+blocks*BlockSize), make([]byte, 1)); err == nil {
			t.Errorf("%s: a block past the end is there", name)
		}
	}
}

func TestConcurrent(t *testing.T) {
	r := &region{low: BlockSize, b: numbered(64 * BlockSize)}
	c := New(nil, r)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			p := make([]byte, 300)
			for i := range 500 {
				off := (i*7919 + g*104729) % (63 * BlockSize)
				if err := c.ReadMemory(callbacks.Addr(BlockSize+uint64(off)), p); err != nil ||
					!bytes.Equal(p, r.b[off:off+300]) {
					t.Errorf("wrong bytes at %#x, %v", off, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkHit(b *testing.B) {
	c := New(nil, &region{low: BlockSize, b: make([]byte, BlockSize)})
	var p [8]byte
	for b.Loop() {
		if err := c.ReadMemory(callbacks.Addr(BlockSize+128), p[:]); err != nil {
			b.Fatal(err)
		}
	}
}
