package live

import (
	"bytes"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// pageSize is the unit in which memory of the running process is read, in bytes: the smallest page
// of all architectures.
const pageSize = 4096

// reader is the callbacks.Memory of one answer. It reads memory that the copies lack from the
// current process, and records that.
type reader struct {
	p      *Process
	maps   []mapping
	before []mapping // from before the copies were made
	first  []copied  // empty in a rehearsal
	again  []copied  // a second copy; empty if the process was stopped

	mu      sync.Mutex
	pages   map[uint64]page // of the current process
	missed  blockSet        // blocks that were read from pages that can change
	changed map[uint64]struct{}
}

// page is a page of the current process.
type page struct {
	data  []byte // nil if it cannot be read
	fixed bool   // it cannot change, like code
}

func (p *Process) newReader(first, again []copied) *reader {
	maps, _ := p.lastLayout()
	return &reader{p: p, maps: maps, first: first, again: again,
		pages: map[uint64]page{}, missed: blockSet{}, changed: map[uint64]struct{}{}}
}

// ReadMemory fills p from address a.
func (r *reader) ReadMemory(a callbacks.Address, p []byte) error {
	if len(p) > 0 && (a.Segment != 0 || a.Offset+uint64(len(p)) < a.Offset) {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	for len(p) > 0 {
		n, known := r.readCopied(a.Offset, p)
		if !known {
			n = r.readConstant(a.Offset, p)
		}
		if !known && n == 0 {
			n = r.readCurrent(a.Offset, p)
		}
		if n == 0 {
			return &callbacks.FaultError{Address: a, Err: r.faultCause(a.Offset)}
		}
		a, p = a.Add(uint64(n)), p[n:]
	}
	return nil
}

// readCopied fills the start of p from the copies. known reports whether they cover address a, which
// may be unreadable.
func (r *reader) readCopied(a uint64, p []byte) (n int, known bool) {
	b, known := r.copiedBytes(a, len(p))
	return copy(p, b), known
}

// copiedBytes returns at most n bytes at address a in the copies. known reports whether they cover address
// a, which may be unreadable.
func (r *reader) copiedBytes(a uint64, n int) (b []byte, known bool) {
	for i := range r.first {
		b, known = r.first[i].bytesAt(a)
		if !known {
			continue
		}
		b = b[:min(n, len(b)):min(n, len(b))]
		if len(r.again) > 0 {
			later, _ := r.again[i].bytesAt(a)
			r.compare(a, b, later)
		}
		return b, true
	}
	return nil, false
}

// Lend returns n bytes at address a, if they are contiguous in the copies, or in one page of the
// current process. It implements callbacks.Lender.
func (r *reader) Lend(a callbacks.Address, n uint64) []byte {
	if a.Segment != 0 || n == 0 || n > pageSize {
		return nil
	}
	b, known := r.copiedBytes(a.Offset, int(n))
	if !known {
		b = r.currentBytes(a.Offset, n)
	}
	if uint64(len(b)) < n {
		return nil
	}
	return b
}

// wordSize is the unit of reported changes, in bytes.
const wordSize = 8

// compare records the words at address a that differ between two copies.
func (r *reader) compare(a uint64, p, later []byte) {
	if len(later) >= len(p) && bytes.Equal(p, later[:len(p)]) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range p {
		if i >= len(later) || p[i] != later[i] {
			r.changed[(a+uint64(i))&^(wordSize-1)] = struct{}{}
		}
	}
}

// manyPages is the size of a read of constant memory, in bytes, from which on it is not cached:
// such a read is a search, made once.
const manyPages = 4 * pageSize

// readConstant fills the start of p, if p is large and the memory cannot change, such as code;
// otherwise it returns 0.
func (r *reader) readConstant(a uint64, p []byte) int {
	if len(p) < manyPages {
		return 0
	}
	m := mappingAt(r.maps, a)
	if m == nil || !m.isFixed() {
		return 0
	}
	n := min(uint64(len(p)), m.High.Offset-a)
	if n < manyPages || r.p.mem.ReadMemory(callbacks.Addr(a), p[:n]) != nil {
		return 0
	}
	return int(n)
}

// readCurrent fills the start of p from the current process; it returns 0 if that is impossible.
func (r *reader) readCurrent(a uint64, p []byte) int {
	return copy(p, r.currentBytes(a, uint64(len(p))))
}

// currentBytes returns at most n bytes of one page, at address a, of the current process; nil if that is
// impossible.
func (r *reader) currentBytes(a, n uint64) []byte {
	base := a &^ (pageSize - 1)
	at := a - base
	n = min(n, pageSize-at)
	if len(r.first) > 0 {
		n = min(n, blockSize-at%blockSize) // the copies may have the next block
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	pg, ok := r.pages[base]
	if !ok {
		m := mappingAt(r.maps, base)
		switch {
		case m == nil && mappingAt(r.before, base) == nil:
			return nil
		case m != nil && m.isFixed():
			pg = page{r.p.fixedPage(base), true}
			r.pages[base] = pg
		default:
			pg.data = r.p.readPage(base)
			r.pages[base] = pg
		}
	}
	if !pg.fixed {
		r.missed[base] |= blocksOf(at, n)
	}
	if pg.data == nil {
		return nil
	}
	return pg.data[at : at+n : at+n]
}

// readsAlike reports whether a later reader has, in its copies, all memory that r has copies of, or has read of
// the current process, with the same contents: then an answer from r is an answer from the later one.
func (r *reader) readsAlike(later *reader) bool {
	if !slices.Equal(r.maps, later.maps) {
		return false
	}
	for i := range r.first {
		for _, s := range r.first[i].spans {
			for a := s.low; a < s.high; {
				b, _ := r.first[i].bytesAt(a)
				n := later.sameBytes(a, b)
				if n == 0 {
					return false
				}
				a += n
			}
		}
	}
	for a := range r.missed.all {
		var b []byte // nil if it could not be read
		if data := r.pages[a&^(pageSize-1)].data; data != nil {
			at := a % pageSize
			b = data[at : at+blockSize]
		}
		if later.sameBytes(a, b) == 0 {
			return false
		}
	}
	return true
}

// sameBytes returns the number of bytes from address a on for which the copies have the same as b; 0 if they differ
// or lack them. An empty b is a block that could not be read.
func (r *reader) sameBytes(a uint64, b []byte) uint64 {
	own, known := r.copiedBytes(a, max(1, len(b)))
	switch {
	case !known, (len(own) == 0) != (len(b) == 0), !bytes.Equal(own, b[:len(own)]):
		return 0
	case len(b) == 0:
		return blockSize - a%blockSize
	}
	return uint64(len(own))
}

// replaceCopies makes the copies of a later stop, with which r reads alike, those that r reads from now on.
func (r *reader) replaceCopies(s []copied) {
	r.dropPages()
	r.first = s
}

// faultCause returns the cause why address a cannot be read.
func (r *reader) faultCause(a uint64) error {
	if r.p.mem.isGone() {
		return errGone
	}
	if mappingAt(r.maps, a) != nil {
		return errProtected
	}
	return callbacks.ErrUnmapped
}

// dropPages drops the cached pages, for a reader that outlives its discarded answer.
func (r *reader) dropPages() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pages, r.missed = map[uint64]page{}, blockSet{}
}

// readPage reads a page of the current process; nil if that is impossible.
func (o *opened) readPage(base uint64) []byte {
	b := make([]byte, pageSize)
	if o.mem.ReadMemory(callbacks.Addr(base), b) != nil {
		return nil
	}
	return b
}

// fixedPage returns a page that cannot change, such as code.
func (p *Process) fixedPage(base uint64) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, ok := p.fixed[base]
	if !ok {
		if b = p.readPage(base); b != nil {
			p.fixed[base] = b
		}
	}
	return b
}

// dropFixedPages drops the pages that could not change during the last look.
func (p *Process) dropFixedPages() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.fixed)
}

// copied is a copy of memory of one snapshot. It is immutable once it is made.
type copied struct {
	spans  []span   // ascending, without overlap
	at     []uint64 // offset of each in buf
	buf    []byte
	absent []uint64 // the blocks that could not be read, ascending
}

// setOffsets sets the offset of each span in buf.
func (c *copied) setOffsets() {
	c.at = make([]uint64, len(c.spans))
	at := uint64(0)
	for i, s := range c.spans {
		c.at[i] = at
		at += s.size()
	}
}

// bytesAt returns the contiguous bytes at address a; nil if they could not be read. known reports whether a is
// in the copy.
func (c *copied) bytesAt(a uint64) (b []byte, known bool) {
	i, known := slices.BinarySearchFunc(c.spans, a, func(s span, a uint64) int {
		switch {
		case a < s.low:
			return 1
		case a >= s.high:
			return -1
		}
		return 0
	})
	if !known {
		return nil, false
	}
	s := c.spans[i]
	end := s.high
	if k, _ := slices.BinarySearch(c.absent, a&^(blockSize-1)); k < len(c.absent) {
		end = max(a, min(end, c.absent[k]))
	}
	return c.buf[c.at[i]+a-s.low : c.at[i]+end-s.low], true
}
