package trace

import (
	"fmt"
	"math"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Reader reads one recording, repeatedly while the program runs. One goroutine at a time may use it.
type Reader struct {
	// Ledger counts the copies of rings while they are in use; nil: not counted. Refused parts are left out and
	// reported as problems.
	Ledger callbacks.Ledger

	mem    callbacks.Memory
	at     uint64
	last   Header
	rings  map[uint64]*progress // by address
	copied uint64               // bytes of the present copy
}

// progress is the position in a ring up to which it was read.
type progress struct {
	main, rare uint64 // number of the next record of each
}

// NewReader returns a reader of the recording with a header at an address.
func NewReader(mem callbacks.Memory, at uint64) *Reader {
	return &Reader{mem: mem, at: at, rings: map[uint64]*progress{}}
}

// Doing reads the threads' current activity, and no events.
func (r *Reader) Doing() (*Recording, error) {
	return r.each(tries, func(*Recording, *Thread, uint64, []byte) error { return nil })
}

// Read reads all available events.
func (r *Reader) Read() (*Recording, error) {
	clear(r.rings)
	return r.next(tries, math.MaxUint64)
}

// New reads the events since the last call of Read, New or Latest; Lost counts those overwritten meanwhile. The
// threads' activity is mostly torn.
func (r *Reader) New() (*Recording, error) { return r.next(1, math.MaxUint64) }

// Latest is New without the records older than the last n of each ring. Those are counted (Run.Passed) and not
// copied, so that a program with many events costs little.
func (r *Reader) Latest(n uint64) (*Recording, error) { return r.next(1, n) }

// next reads the last n of the records since the last call.
func (r *Reader) next(tries int, n uint64) (*Recording, error) {
	return r.each(tries, func(_ *Recording, t *Thread, at uint64, header []byte) error {
		p := r.rings[at]
		if p == nil {
			p = &progress{}
			r.rings[at] = p
		}
		var err error
		if t.Main, err = r.copyRing(at, header, main, &p.main, n); err == nil {
			t.Rare, err = r.copyRing(at, header, rare, &p.rare, n)
		}
		return err
	})
}

// Newest reads the last events of one thread of a recording by this reader.
func (r *Reader) Newest(t *Thread) error {
	const few = 2 * (1 + 15) // more than one event can have
	at, err := r.address(t.Index)
	if err != nil {
		return err
	}
	header := make([]byte, ringCursors)
	if err := r.mem.ReadMemory(callbacks.Addr(at), header); err != nil {
		return err
	}
	return r.newest(t, at, header, few)
}

// newest copies the last n records of each ring of a thread.
func (r *Reader) newest(t *Thread, at uint64, header []byte, n uint64) (err error) {
	if t.Main, err = r.copyLast(at, header, main, n); err == nil {
		t.Rare, err = r.copyLast(at, header, rare, n)
	}
	return err
}

// eachRing is called with the address and the header of each ring.
type eachRing func(rec *Recording, t *Thread, at uint64, header []byte) error

// each reads the header and those of all rings, and calls f for each ring.
func (r *Reader) each(tries int, f eachRing) (*Recording, error) {
	h, err := r.header()
	if err != nil {
		return nil, err
	}
	r.last, r.copied = h, 0
	rec := &Recording{Header: h, Address: r.at}
	directory := make([]byte, 8*h.Rings)
	if err := r.mem.ReadMemory(callbacks.Addr(r.at+headerSize), directory); err != nil {
		return nil, fmt.Errorf("%w: directory: %w", ErrDamaged, err)
	}
	seen := make(map[uint64]bool, h.Rings)
	header := make([]byte, ringHeader)
	for i := range h.Rings {
		at := le.Uint64(directory[8*i:])
		if at == 0 { // the ring is being created
			continue
		}
		if seen[at] {
			rec.problem(fmt.Errorf("ring %d: the directory has it twice", i))
			continue
		}
		seen[at] = true
		t, err := r.thread(rec, at, header, tries)
		problems := []error{err}
		if err != nil {
			problems[0] = fmt.Errorf("its header: %w", err)
		} else {
			t.Index = i
			rec.Threads = append(rec.Threads, t)
			problems = []error{f(rec, t, at, header), t.hole(&t.Main), t.hole(&t.Rare)}
		}
		for _, err := range problems {
			if err != nil {
				rec.problem(fmt.Errorf("ring %d: %w", i, err))
			}
		}
	}
	return rec, nil
}

// address returns the address of a ring.
func (r *Reader) address(index uint32) (uint64, error) {
	b := make([]byte, 8)
	err := r.mem.ReadMemory(callbacks.Addr(r.at+headerSize+8*uint64(index)), b)
	return le.Uint64(b), err
}

// tries bounds the reads of a ring's header until it is consistent. A thread that writes an event in 20 ns
// changes it during each copy.
const tries = 8

// thread reads the header of a ring into b, again while it is torn.
func (r *Reader) thread(rec *Recording, at uint64, b []byte, tries int) (*Thread, error) {
	torn := true
	for n := 0; torn && n < tries; n++ {
		head, err := r.word(at + ringHead)
		if err != nil {
			return nil, err
		}
		if err := r.mem.ReadMemory(callbacks.Addr(at), b); err != nil {
			return nil, err
		}
		begun, err := r.word(at)
		if err != nil {
			return nil, err
		}
		torn = head != begun
	}
	rec.Clock.learn(parseMoment(b[ringMoment:]))
	t := parseThread(b)
	rec.doubt(t)
	t.Torn = torn
	return t, nil
}

func (r *Reader) word(at uint64) (uint64, error) {
	var b [8]byte
	err := r.mem.ReadMemory(callbacks.Addr(at), b[:])
	return le.Uint64(b[:]), err
}

// ring contains the offsets of the fields of one of a thread's two rings in the header.
type ring struct {
	cursor, records, shift uint64
	rare                   bool
}

var (
	main = ring{0, ringRecords, ringShift, false}
	rare = ring{ringRare, ringRareRecords, ringRareShift, true}
)

// ringCursors is the size of the part of a ring's header with the positions of its records, in bytes.
const ringCursors = ringRareRecords + 8

// span is a part of a ring to copy.
type span struct {
	which         ring
	records, size uint64 // address and number of slots
	shift         uint32
	head          uint64 // number of written records
}

// spanOf reads the position of a ring's records from its header.
func spanOf(header []byte, which ring) (span, error) {
	shift := le.Uint32(header[which.shift:])
	if shift > shiftMax {
		return span{}, fmt.Errorf("%w: a ring of 2^%d records, more than 2^%d", ErrDamaged, shift, shiftMax)
	}
	return span{
		which, le.Uint64(header[which.records:]), 1 << shift, shift, le.Uint64(header[which.cursor+ringHead:]),
	}, nil
}

// copyRing copies the last n complete records of a ring, starting at *next at the earliest.
func (r *Reader) copyRing(at uint64, header []byte, which ring, next *uint64, n uint64) (Run, error) {
	s, err := spanOf(header, which)
	if err != nil {
		return Run{}, err
	}
	if s.head < *next { // the header is damaged, or the ring is another one
		return Run{}, fmt.Errorf("%w: %d records, after %d", ErrDamaged, s.head, *next)
	}
	there := max(*next, s.head-min(s.head, s.size)) // the others are overwritten
	first := max(there, s.head-min(s.head, n))
	run, err := r.copy(at, s, first)
	if err == nil {
		run.Lost += there - *next
		run.Passed = first - there
		*next = s.head
	}
	return run, err
}

// copyLast copies the last n records of a ring.
func (r *Reader) copyLast(at uint64, header []byte, which ring, n uint64) (Run, error) {
	s, err := spanOf(header, which)
	if err != nil {
		return Run{}, err
	}
	return r.copy(at, s, s.head-min(s.head, s.size, n))
}

// copy copies records starting at first, without those overwritten meanwhile.
func (r *Reader) copy(at uint64, s span, first uint64) (Run, error) {
	if s.head == first {
		return Run{First: s.head, Written: s.head, Rare: s.which.rare}, nil
	}
	if err := r.take((s.head - first) * recordSize); err != nil {
		return Run{}, err
	}
	b := make([]byte, (s.head-first)*recordSize)
	slot := first & (s.size - 1)
	end := min((s.size-slot)*recordSize, uint64(len(b)))
	cause := r.readable(s.records+slot*recordSize, b[:end])
	if err := r.readable(s.records, b[end:]); cause == nil {
		cause = err
	}
	var after [ringCursors]byte
	if err := r.mem.ReadMemory(callbacks.Addr(at), after[:]); err != nil {
		return Run{}, err
	}
	cursor := after[s.which.cursor:]
	begun := max(le.Uint64(cursor), le.Uint64(cursor[ringHead:]))
	whole := min(max(first, begun-min(begun, s.size)), s.head) // the first one not overwritten
	run := newRun(b[(whole-first)*recordSize:], whole, s.shift, le.Uint64(after[ringLast:]))
	run.upper = r.last.upper()
	run.Written, run.Lost, run.Rare, run.cause = s.head, whole-first, s.which.rare, cause
	return run, nil
}

// copiedMax bounds the bytes copied at once, whatever sizes the rings' headers claim.
const copiedMax = 8 << 30

// take counts memory for the copy of a ring.
func (r *Reader) take(n uint64) error {
	limit := min(r.last.Limit, copiedMax)
	if r.copied+n > limit {
		return fmt.Errorf("%w: its rings have more than the %d bytes that the header says", ErrDamaged, limit)
	}
	r.copied += n
	if r.Ledger == nil {
		return nil
	}
	return r.Ledger.Take("recorded events", n)
}

// header reads and checks the header.
func (r *Reader) header() (Header, error) {
	b := make([]byte, headerUsed)
	if err := r.mem.ReadMemory(callbacks.Addr(r.at), b); err != nil {
		return Header{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return parseHeader(b)
}
