package unwind

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

const (
	// windowSize is the size of one read of a stack, in bytes. Ten frames of usual size fit; a
	// larger size would copy unused memory from processes.
	windowSize = 1024
	pageSize   = 4096 // the smallest; a mapping may end at each multiple
)

// window is a piece of the target's memory.
type window struct {
	low uint64
	n   int // valid bytes
	buf [windowSize]byte
}

// stackReader reads the words of a stack in large pieces. It keeps two, for a
// signal stack and the one below it.
type stackReader struct {
	mem     callbacks.Memory
	windows [2]window
	next    int // the window to replace
}

// read returns the unsigned number of size bytes (1, 2, 4 or 8) at addr.
func (s *stackReader) read(addr uint64, size int) (uint64, error) {
	for i := range s.windows {
		w := &s.windows[i]
		if off := addr - w.low; off < uint64(w.n) && uint64(w.n)-off >= uint64(size) {
			return callbacks.Word(w.buf[off : off+uint64(size)]), nil
		}
	}
	w := &s.windows[s.next]
	w.low, w.n = addr, 0
	for _, n := range [...]int{windowSize, min(windowSize, pageSize-int(addr%pageSize)), size} {
		if n < size {
			continue
		}
		err := s.mem.ReadMemory(callbacks.Addr(addr), w.buf[:n])
		if err == nil {
			w.n = n
			break
		}
		if n == size {
			return 0, err
		}
	}
	s.next = (s.next + 1) % len(s.windows)
	return callbacks.Word(w.buf[:size]), nil
}

// reset drops the cached memory.
func (s *stackReader) reset(mem callbacks.Memory) {
	s.mem, s.next = mem, 0
	for i := range s.windows {
		s.windows[i].n = 0
	}
}
