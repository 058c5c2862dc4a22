package libc_test

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
)

// FuzzMemory reads bytes as a heap and as the control blocks of threads: every answer for an address must
// include that address.
func FuzzMemory(f *testing.F) {
	const blockAt = 0x600000
	heap := make([]byte, 0x2000)
	for at := 0; at < len(heap); at += 0x90 { // chunks of 0x90 bytes
		binary.LittleEndian.PutUint64(heap[at+8:], 0x91)
	}
	block := make([]byte, 0x1000)
	for _, at := range []int{0, 16} { // pointers to itself
		binary.LittleEndian.PutUint64(block[at:], blockAt)
	}
	binary.LittleEndian.PutUint64(block[0x2c0:], blockAt+0x2c0)
	binary.LittleEndian.PutUint32(block[0x2d0:], 7)
	f.Add(heap, block, uint16(0x98), uint16(0))
	f.Add(heap[:0x100], block[:0x300], uint16(0xff), uint16(0x2c0))
	f.Fuzz(func(t *testing.T, heap, block []byte, in, of uint16) {
		m := callbackstest.NewFake(callbacks.ArchX86_64)
		low := callbacks.Addr(0x7f0000000000)
		m.AddModule(&callbacks.Module{Path: "/lib/libc.so.6", Low: low, High: low.Add(1 << 20)})
		m.Map(callbacks.Addr(heapAt), heap)
		m.Map(callbacks.Addr(blockAt), block)
		threads := []libc.Thread{{Pthread: blockAt, LWP: 7}, {Pthread: blockAt + uint64(of)}}
		l := libc.New(libc.Config{Target: m, Threads: threads, PID: 7})
		for _, a := range []uint64{heapAt + uint64(in), blockAt + uint64(of), 0, ^uint64(0)} {
			at := libc.MappingAt(m.Mappings(), a)
			if b, err := l.BlockAt(a); err == nil && (b.Low != a || b.High <= a) {
				t.Fatalf("%#x: %+v", a, b)
			}
			if at != nil {
				if b, err := l.FreedBlock(at, a); err == nil && (b.Low > a || b.High != 0 && b.High <= a) {
					t.Fatalf("%#x: %+v", a, b)
				}
				l.StackAt(at, a)
			}
			l.Mutex(a)
			l.InCondition(a, a+8)
			l.ThreadAt(a)
			l.ThreadID(a)
			l.Zeroed(a)
		}
	})
}
