package libc_test

import (
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
)

const heapAt = 0x500000

// newHeap is a program with a heap of two pages, and one thread with a page of thread-local storage.
func newHeap(t *testing.T) *machine { return newHeapOf(t, callbacks.ArchX86_64) }

func newHeapOf(t *testing.T, a callbacks.Arch) *machine {
	m := newMachineOf(t, a, "/bin/a", "/lib/libc.so.6")
	m.room(heapAt, 0x2000)
	m.room(0x600000, 0x2000)
	m.threads = []libc.Thread{{Pthread: 0x601000, LWP: 1}}
	return m
}

// freed returns the freed block that contains an address.
func (m *machine) freed(addr uint64) (libc.Block, error) {
	return m.library().FreedBlock(m.mapping(addr), addr)
}

// TestCaches finds a block in a thread's cache: with plain pointers, as before glibc 2.32, and mixed ones; with
// counters that count up and, since 2.42, down. The thread's pointer to its cache is in its thread-local data, above
// its control block on aarch64, and below it on x86-64.
func TestCaches(t *testing.T) {
	const first, second = heapAt + 0x1010, heapAt + 0x1090
	for _, tt := range []struct {
		name         string
		chunk, lists uint64
		none, two    uint64 // counters
		mix          bool
		arch         callbacks.Arch
		pointer      uint64 // address of the pointer to the cache
	}{
		{"2.31", 0x290, 64, 0, 2, false, callbacks.ArchX86_64, 0x600800},
		{"2.36", 0x290, 64, 0, 2, true, callbacks.ArchX86_64, 0x600800},
		{"2.42", 0x300, 76, 7, 5, true, callbacks.ArchX86_64, 0x600800},
		{"2.36 aarch64", 0x290, 64, 0, 2, true, callbacks.ArchAArch64, 0x601840},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const cache, list = heapAt + 0x10, 2 // chunks of 64 bytes
			m := newHeapOf(t, tt.arch)
			m.put(tt.pointer, 8, cache)
			m.put(cache-8, 8, tt.chunk|1)
			for i := range tt.lists {
				m.put(cache+2*i, 2, tt.none)
			}
			m.put(cache+2*list, 2, tt.two)
			m.put(cache+2*tt.lists+8*list, 8, first)
			next, end := uint64(second), uint64(0)
			if tt.mix {
				next, end = second^first>>12, second>>12
			}
			m.put(first-8, 8, 0x41, next)
			m.put(second-8, 8, 0x41, end)
			for _, at := range []uint64{first, second} {
				if b, err := m.freed(at + 20); err != nil ||
					b != (libc.Block{Low: at, High: at + 0x38, Place: libc.InCache}) {
					t.Errorf("block at %#x: %+v, %v", at, b, err)
				}
			}
			if _, err := m.freed(first + 0x38); !errors.Is(err, libc.ErrNotFreed) {
				t.Errorf("behind the block: %v", err)
			}
			m.put(first, 4, 0xffffffff) // a lock's word, written after the block was freed
			if b, err := m.freed(first); err != nil || b.Low != first || b.Place != libc.InCache {
				t.Errorf("an overwritten link: %+v, %v", b, err)
			}
			m.put(first, 8, next)
			m.put(second-8, 8, 0x51) // of another size than its list: not a cache
			if _, err := m.freed(first); !errors.Is(err, libc.ErrNotFreed) {
				t.Errorf("a list of blocks of several sizes: %v", err)
			}
			m.put(second-8, 8, 0x41)
			m.put(cache+2*list, 2, tt.none)
			if _, err := m.freed(first); !errors.Is(err, libc.ErrNotFreed) {
				t.Errorf("a list that counts none: %v", err)
			}
		})
	}
}

// addFree makes a free chunk of 0x200 bytes that is in a list with one at head.
func (m *machine) addFree(at, head uint64) {
	m.put(at+8, 8, 0x201, head, head)
	m.put(at+0x200, 8, 0x200, 0x40) // its neighbour marks it as free
	m.put(head+16, 8, at, at)
}

func TestLists(t *testing.T) {
	const at, head = heapAt + 0x400, heapAt + 0x1800
	m := newHeap(t)
	m.addFree(at, head)
	if b, err := m.freed(at + 0x100); err != nil ||
		b != (libc.Block{Low: at + 16, High: at + 0x200, Place: libc.InList}) {
		t.Errorf("%+v, %v", b, err)
	}
	for _, header := range []uint64{at, at + 8} { // the end of the block before, which is in use; the size
		if b, err := m.freed(header); !errors.Is(err, libc.ErrNotFreed) {
			t.Errorf("%#x before a free block: %+v, %v", header, b, err)
		}
	}
	for name, damage := range map[string]func(){
		"in use":         func() { m.put(at+0x208, 8, 0x41) },
		"another size":   func() { m.put(at+0x200, 8, 0x210) },
		"no links":       func() { m.put(at+16, 8, 0) },
		"not linked":     func() { m.put(head+16, 8, heapAt) },
		"linked nowhere": func() { m.put(at+24, 8, 0x99999000) },
	} {
		m.addFree(at, head)
		damage()
		_, err := m.freed(at + 0x100)
		says(t, name, err, "0x500500")
		if !errors.Is(err, libc.ErrNotFreed) {
			t.Errorf("%s: %v, want ErrNotFreed", name, err)
		}
	}
	fixed := callbacks.Mapping{Low: callbacks.Addr(heapAt), High: callbacks.Addr(heapAt + 0x2000),
		Perm: callbacks.PermRead}
	_, err := m.library().FreedBlock(&fixed, at+0x100)
	says(t, "memory that is not writable", err, "0x500500", "not writable")
}

// TestTop checks the unallocated top of a heap: the program's, which its arena in the C library's data points
// to, and that of a thread's own heap.
func TestTop(t *testing.T) {
	const top = heapAt + 0x1800
	m := newHeap(t)
	m.put(top+8, 8, 0x801)
	if _, err := m.freed(top + 0x100); !errors.Is(err, libc.ErrNotFreed) {
		t.Errorf("no arena has it: %v", err)
	}
	const data = 0x7f0000000000 + 1<<24 + 0x1000 // in the second module, the C library
	m.room(data, 0x1000)
	m.put(data+0x60, 8, top)
	if b, err := m.freed(top + 0x100); err != nil || b.Place != libc.AtTop || b.Low != top {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := m.freed(top + 8); !errors.Is(err, libc.ErrNotFreed) {
		t.Errorf("its header: %v", err)
	}

	const arena = 64 << 20 // a heap of a thread
	m = newHeap(t)
	m.room(arena, 0x4000)
	m.put(arena+0x80, 8, arena+0x3000)
	m.put(arena+0x3008, 8, 0x1001)
	if b, err := m.freed(arena + 0x3800); err != nil || b.Place != libc.AtTop {
		t.Errorf("heap of a thread: %+v, %v", b, err)
	}
}

func TestBlockAt(t *testing.T) {
	m := newHeap(t)
	m.put(heapAt+8, 8, 0x51)
	l := m.library()
	if b, err := l.BlockAt(heapAt + 0x10); err != nil || b != (libc.Block{Low: heapAt + 0x10, High: heapAt + 0x58}) {
		t.Errorf("%+v, %v", b, err)
	}
	for addr, want := range map[uint64]string{heapAt + 0x20: "0x0 bytes", heapAt + 0x11: "aligned",
		0x9000: "not mapped"} {
		_, err := l.BlockAt(addr)
		says(t, "no block", err, want)
	}
}
