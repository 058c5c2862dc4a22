package live

import (
	"bytes"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// pageSize is the unit in which memory of the running process is read: the
// smallest page of all architectures.
const pageSize = 4096

// reader is the callbacks.Memory of one answer. What the copies do not have it
// reads from the process as it is now, and remembers that it did.
type reader struct {
	p      *Process
	maps   []mapping
	before []mapping // the mappings before the copies were made
	first  []copied  // empty in a rehearsal
	again  []copied  // the same a moment later; empty if the process was stopped

	mu      sync.Mutex
	pages   map[uint64]page // of the process as it is now
	missed  blockSet        // the blocks that were read of pages that can change
	changed map[uint64]struct{}
}

// page is a page of the process as it is now.
type page struct {
	data  []byte // nil if it cannot be read
	fixed bool   // it cannot change, as code
}

func (p *Process) reader(first, again []copied) *reader {
	maps, _ := p.layout()
	return &reader{p: p, maps: maps, first: first, again: again,
		pages: map[uint64]page{}, missed: blockSet{}, changed: map[uint64]struct{}{}}
}

// ReadMemory fills p from address a.
func (r *reader) ReadMemory(a callbacks.Address, p []byte) error {
	if len(p) > 0 && (a.Segment != 0 || a.Offset+uint64(len(p)) < a.Offset) {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	for len(p) > 0 {
		n, known := r.copied(a.Offset, p)
		if !known {
			n = r.constant(a.Offset, p)
		}
		if !known && n == 0 {
			n = r.current(a.Offset, p)
		}
		if n == 0 {
			return &callbacks.FaultError{Address: a, Err: r.reason(a.Offset)}
		}
		a, p = a.Add(uint64(n)), p[n:]
	}
	return nil
}

// copied fills the start of p from the copies. known reports whether they have
// address a, which may be that it could not be read.
func (r *reader) copied(a uint64, p []byte) (n int, known bool) {
	b, known := r.kept(a, len(p))
	return copy(p, b), known
}

// kept are at most n bytes from address a on in the copies. known reports whether they
// have address a, which may be that it could not be read.
func (r *reader) kept(a uint64, n int) (b []byte, known bool) {
	for i := range r.first {
		b, known = r.first[i].from(a)
		if !known {
			continue
		}
		b = b[:min(n, len(b)):min(n, len(b))]
		if len(r.again) > 0 {
			later, _ := r.again[i].from(a)
			r.compare(a, b, later)
		}
		return b, true
	}
	return nil, false
}

// Lend shows n bytes from address a on, if they lie side by side in the copies, or in
// one page of the process as it is now. It is a callbacks.Lender.
func (r *reader) Lend(a callbacks.Address, n uint64) []byte {
	if a.Segment != 0 || n == 0 || n > pageSize {
		return nil
	}
	b, known := r.kept(a.Offset, int(n))
	if !known {
		b = r.now(a.Offset, n)
	}
	if uint64(len(b)) < n {
		return nil
	}
	return b
}

// wordSize is the unit in which changed memory is told.
const wordSize = 8

// compare remembers the words of what was just read at address a that were
// different a moment later.
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

// manyPages is how much of memory that cannot change is read at once and not
// remembered: who reads so much searches in it, and that only once.
const manyPages = 4 * pageSize

// constant fills the start of p, if that is much and cannot change, such as code; 0
// if it is something else.
func (r *reader) constant(a uint64, p []byte) int {
	if len(p) < manyPages {
		return 0
	}
	m := mappingAt(r.maps, a)
	if m == nil || !m.fixed() {
		return 0
	}
	n := min(uint64(len(p)), m.High.Offset-a)
	if n < manyPages || r.p.mem.ReadMemory(callbacks.At(a), p[:n]) != nil {
		return 0
	}
	return int(n)
}

// current fills the start of p from the process as it is now; 0 if that cannot
// be.
func (r *reader) current(a uint64, p []byte) int {
	return copy(p, r.now(a, uint64(len(p))))
}

// now are at most n bytes of one page, from address a on, of the process as it is
// now; none if that cannot be.
func (r *reader) now(a, n uint64) []byte {
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
		case m != nil && m.fixed():
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

// reason is why address a cannot be read.
func (r *reader) reason(a uint64) error {
	if r.p.mem.gone() {
		return errGone
	}
	if mappingAt(r.maps, a) != nil {
		return errProtected
	}
	return callbacks.ErrUnmapped
}

// forget forgets the pages of the process as it was, for who still has the reader when its answer is of no
// use any more.
func (r *reader) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pages, r.missed = map[uint64]page{}, blockSet{}
}

// readPage reads a page of the process as it is now, nil if that cannot be.
func (o *opened) readPage(base uint64) []byte {
	b := make([]byte, pageSize)
	if o.mem.ReadMemory(callbacks.At(base), b) != nil {
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

// forget forgets what could not change during the last look.
func (p *Process) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.fixed)
}

// copied is a copy of memory of one moment. It never changes once it is made.
type copied struct {
	spans  []span   // ascending, without overlap
	at     []uint64 // where in buf each begins
	buf    []byte
	absent []uint64 // the blocks that could not be read, ascending
}

// place notes where each span is in buf.
func (c *copied) place() {
	c.at = make([]uint64, len(c.spans))
	at := uint64(0)
	for i, s := range c.spans {
		c.at[i] = at
		at += s.size()
	}
}

// from returns the bytes from address a on, as far as they are side by side;
// none if they could not be read. known reports whether a is in the copy.
func (c *copied) from(a uint64) (b []byte, known bool) {
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
