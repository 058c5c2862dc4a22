package libc

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// reader reads numbers of a target's memory. After an error, which contains the address, it reads 0 and keeps
// the error: a caller checks it once.
type reader struct {
	mem callbacks.Memory
	err error
}

// number reads an unsigned integer of n bytes, at most 8.
func (r *reader) number(a uint64, n int) uint64 {
	var b [8]byte
	if r.read(a, b[:n]); r.err != nil {
		return 0
	}
	return callbacks.Word(b[:n])
}

// word reads an address, or another word of 8 bytes.
func (r *reader) word(a uint64) uint64 { return r.number(a, 8) }

func (r *reader) read(a uint64, p []byte) {
	if r.err == nil {
		r.err = r.mem.ReadMemory(callbacks.Addr(a), p)
	}
}

// words reads the aligned 8-byte words of [low, high).
func (r *reader) words(low, high uint64) []uint64 {
	low = (low + 7) &^ 7
	if high <= low {
		return nil
	}
	b := make([]byte, (high-low)&^7)
	if r.read(low, b); r.err != nil {
		return nil
	}
	ws := make([]uint64, len(b)/8)
	for i := range ws {
		ws[i] = callbacks.Word(b[8*i : 8*i+8])
	}
	return ws
}

// read returns a reader of the target's memory.
func (l *Library) read() *reader { return &reader{mem: l.target} }
