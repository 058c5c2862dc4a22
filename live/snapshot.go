package live

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxSnapshot bounds what is copied in one stop, in bytes: at 10 GB a second
// that is a stop of 50 ms.
const maxSnapshot = 512 << 20

// blockSet is a set of blocks by their addresses.
type blockSet map[uint64]struct{}

// spans are the blocks of the set, in ranges.
func (s blockSet) spans() []span {
	var list []span
	for _, a := range slices.Sorted(maps.Keys(s)) {
		if n := len(list); n > 0 && list[n-1].high == a {
			list[n-1].high += blockSize
		} else {
			list = append(list, span{a, a + blockSize})
		}
	}
	return list
}

func size(spans []span) uint64 {
	n := uint64(0)
	for _, s := range spans {
		n += s.size()
	}
	return n
}

// buffer is memory for n bytes that the kernel has already given to this
// process, so that no page fault makes a stop longer.
func buffer(n uint64) ([]byte, error) {
	if n > maxSnapshot {
		return nil, fmt.Errorf("%w: %d MiB, more than %d", ErrTooBig, n>>20, maxSnapshot>>20)
	}
	b := make([]byte, n)
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
	return b, nil
}

// snapshot is memory of one moment. It never changes.
type snapshot map[uint64][]byte // by address of the block; nil if it cannot be read

// reader is the callbacks.Memory of one answer. What the snapshot does not have
// it reads from the process as it is now, and remembers that it did.
type reader struct {
	p      *Process
	maps   []mapping
	before []mapping // the mappings before the copies were made
	first  snapshot  // nil in a rehearsal
	again  snapshot  // the same blocks a moment later; nil if the process was stopped

	mu      sync.Mutex
	now     map[uint64][]byte // blocks that were read from the process; nil if it was not possible
	missed  blockSet          // the blocks of now that can change
	changed map[uint64]struct{}
}

func (p *Process) reader(first, again snapshot) *reader {
	maps, _ := p.layout()
	return &reader{p: p, maps: maps, first: first, again: again,
		now: map[uint64][]byte{}, missed: blockSet{}, changed: map[uint64]struct{}{}}
}

// ReadMemory fills p from address a.
func (r *reader) ReadMemory(a callbacks.Address, p []byte) error {
	if len(p) > 0 && (a.Segment != 0 || a.Offset+uint64(len(p)) < a.Offset) {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	for len(p) > 0 {
		base := a.Offset &^ (blockSize - 1)
		at := a.Offset - base
		n := min(uint64(len(p)), blockSize-at)
		b := r.block(base)
		if b == nil {
			return &callbacks.FaultError{Address: a, Err: r.reason(a.Offset)}
		}
		copy(p[:n], b[at:])
		r.compare(base, at, p[:n])
		a, p = a.Add(n), p[n:]
	}
	return nil
}

// block returns the block at base, nil if it cannot be read.
func (r *reader) block(base uint64) []byte {
	if b, ok := r.first[base]; ok {
		return b
	}
	if mappingAt(r.maps, base) == nil && mappingAt(r.before, base) == nil {
		return nil
	}
	if b, ok := r.p.fixedBlock(base, r.maps); ok {
		return b
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.now[base]
	if !ok {
		r.missed[base] = struct{}{}
		b = r.p.readBlock(base)
		r.now[base] = b
	}
	return b
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

// wordSize is the unit in which changed memory is told.
const wordSize = 8

// compare remembers the words of what was just read that were different a
// moment later.
func (r *reader) compare(base, at uint64, p []byte) {
	later := r.again[base]
	if later == nil || bytes.Equal(p, later[at:at+uint64(len(p))]) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range p {
		if p[i] != later[at+uint64(i)] {
			r.changed[(base+at+uint64(i))&^(wordSize-1)] = struct{}{}
		}
	}
}

// readBlock reads a block of the process as it is now, nil if that cannot be.
func (p *Process) readBlock(base uint64) []byte {
	b := make([]byte, blockSize)
	if p.mem.ReadMemory(callbacks.At(base), b) != nil {
		return nil
	}
	return b
}

// fixedBlock returns a block that cannot change, such as code; not ok if it can.
func (p *Process) fixedBlock(base uint64, maps []mapping) ([]byte, bool) {
	m := mappingAt(maps, base)
	if m == nil || m.shared || m.Perm&callbacks.PermWrite != 0 {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b, ok := p.fixed[base]
	if !ok {
		if b = p.readBlock(base); b != nil {
			p.fixed[base] = b
		}
	}
	return b, true
}

// forget forgets what could not change during the last look.
func (p *Process) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.fixed)
}
