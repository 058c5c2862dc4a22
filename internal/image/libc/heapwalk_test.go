package libc_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
)

// wholeHeap is a program with a heap of four chunks: the cache of its thread, two in use, one free, and the
// rest, with a pointer to it in the C library's data.
func wholeHeap(t *testing.T) *machine {
	const data = 0x7f0000000000 + 1<<24 + 0x1000
	m := newHeap(t)
	m.room(data, 0x1000)
	m.put(data+0x60, 8, heapAt+0x400)
	m.put(heapAt+8, 8, 0x291)
	m.put(heapAt+0x298, 8, 0x41)       // [0x2a0, 0x2d8)
	m.put(heapAt+0x2d8, 8, 0x51)       // [0x2e0, 0x328)
	m.put(heapAt+0x328, 8, 0xd1)       // free, to 0x3f0
	m.put(heapAt+0x3f0, 8, 0xd0, 0x10) // the size of the one before; a block in use
	m.put(heapAt+0x3f8, 8, 0x20)       // [0x400, 0x418)
	m.put(heapAt+0x418, 8, 0x2000-0x410|1)
	return m
}

func TestBrokenHeap(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(m *machine)
		low    uint64 // of the block before the damage, from the heap's start; 0: no damage
		size   uint64
	}{
		{"whole", func(*machine) {}, 0, 0},
		{"zeros", func(m *machine) { m.put(heapAt+0x2d8, 8, 0) }, 0x2a0, 0},
		{"text", func(m *machine) { m.put(heapAt+0x2d8, 8, 0x6f77206f6c6c6568) }, 0x2a0, 0x6f77206f6c6c6568 &^ 7},
		{"not aligned", func(m *machine) { m.put(heapAt+0x2d8, 8, 0x49) }, 0x2a0, 0x48},
		{"beyond the end", func(m *machine) { m.put(heapAt+0x328, 8, 0x2001) }, 0x2e0, 0x2000},
		{"another arena's", func(m *machine) { m.put(heapAt+0x328, 8, 0xd5) }, 0x2e0, 0xd0},
		{"the size of a free one", func(m *machine) { m.put(heapAt+0x3f0, 8, 0x41) }, 0x330, 0x20},
		{"memory of somebody else", func(m *machine) { m.put(heapAt+0x2d8, 8, 0x11) }, 0, 0},
		{"no heap: the first chunk", func(m *machine) { m.put(heapAt+8, 8, 0x21); m.put(heapAt+0x2d8, 8, 0) }, 0, 0},
		{"no heap: the second chunk", func(m *machine) { m.put(heapAt+0x298, 8, 0) }, 0, 0},
		{"no arena", func(m *machine) {
			m.put(0x7f0001001060, 8, 0)
			m.put(heapAt+0x2d8, 8, 0)
		}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := wholeHeap(t)
			tt.damage(m)
			b, err := m.library().BrokenHeap()
			switch {
			case err != nil:
				t.Fatal(err)
			case b == nil:
				b = &libc.BrokenHeap{Block: libc.Block{Low: heapAt}}
			}
			if b.Block.Low != heapAt+tt.low || b.Size != tt.size {
				t.Errorf("%+v, want a block at %#x with %#x behind it", b, heapAt+tt.low, tt.size)
			}
		})
	}
}

// TestBrokenHeapOfTwoMappings walks the heap of a child process, which has a mapping for the part that the child has
// added. A chunk lies in both mappings.
func TestBrokenHeapOfTwoMappings(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header uint64 // after the chunk in both mappings
		broken bool
	}{
		{"whole", 0x2000 - 0x800 | 1, false},
		{"overwritten", 0x6f77206f6c6c6568, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := wholeHeap(t)
			m.room(heapAt+0x2000, 0x2000)
			m.put(heapAt+0x418, 8, 0x2000-0x410+0x800|1)
			m.put(heapAt+0x2808, 8, tt.header)
			b, err := m.library().BrokenHeap()
			if err != nil {
				t.Fatal(err)
			}
			if (b != nil) != tt.broken || b != nil && b.Block.Low != heapAt+0x420 {
				t.Errorf("%+v, want a break after the block at %#x: %v", b, heapAt+0x420, tt.broken)
			}
		})
	}
}
