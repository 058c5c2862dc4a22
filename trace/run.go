package trace

import (
	"slices"
	"sort"
)

// Run is a copy of the records of one ring that follow each other.
type Run struct {
	First   uint64 // number of the first record of the copy
	Written uint64 // records that were ever written into the ring
	Lost    uint64 // records before First that were overwritten before they could be read
	Passed  uint64 // records before First that were not asked for (Reader.Latest)
	Damaged uint64 // records of the copy that cannot be what a writer left
	Missing uint64 // records of the copy that the target's memory does not have
	Rare    bool

	upper   uint8  // of ids of regions (Header.upper)
	records []byte // one after the other; damaged ones have the code 0
	owners  []owner

	connected uint64 // number of the first record behind the last one that is missing
	cause     error  // why the first of them is missing
}

// owner is a thread that took the ring, with its record NEWTHREAD.
type owner struct {
	number uint64
	lwp    uint32
}

// Len is the number of records in the copy.
func (r *Run) Len() int { return len(r.records) / recordSize }

// newRun checks records that were copied in their order, the first of which has the number
// first, from a ring of 1 << shift records whose newest has the time last.
func newRun(records []byte, first uint64, shift uint32, last uint64) Run {
	r := Run{First: first, records: records}
	n := len(records) / recordSize
	if n > 0 {
		last = max(last, le.Uint64(records[(n-1)*recordSize:]))
	}
	before := uint64(0)
	for i := range n {
		b := records[i*recordSize : (i+1)*recordSize]
		code, time := Code(b[8]), le.Uint64(b)
		number := first + uint64(i)
		wrong := code == 0 || b[11] != uint8(number>>shift)
		if code != more {
			wrong = wrong || time <= before || time > last
		}
		if code == 0 && time == missingTime {
			r.Missing, r.connected = r.Missing+1, number+1
			continue
		}
		if wrong {
			r.Damaged++
			b[8] = 0
			continue
		}
		if code != more {
			before = time
		}
		if code == NewThread && len(r.owners) < ownersMax {
			r.owners = append(r.owners, owner{number, le.Uint32(b[12:])})
		}
	}
	return r
}

// ownersMax bounds the threads that share one ring, of which the numbers are kept. A ring of
// a million records may have as many; who had it before the last thousands is not said.
const ownersMax = 1 << 16

// Cursor goes through the events of a run.
type Cursor struct {
	records []byte
	at      int
	first   uint64
	rare    bool
	upper   uint8
	// Skipped counts the records MORE without the event that they continue, and events that
	// lack records.
	Skipped uint64
}

// Events returns a cursor before the first event.
func (r *Run) Events() Cursor {
	return Cursor{records: r.records, first: r.First, rare: r.Rare, upper: r.upper}
}

// Back is the event that begins at the nth record before the end, or soon after.
func (r *Run) Back(n int) (e Event, ok bool) {
	c := r.Events()
	c.at = max(0, len(c.records)-n*recordSize)
	ok = c.Next(&e)
	return e, ok
}

// Since returns a cursor before the first event that is not earlier than a time.
func (r *Run) Since(ticks uint64) Cursor {
	c := r.Events()
	n := r.Len()
	c.at = recordSize * sort.Search(n, func(i int) bool {
		for ; i < n; i++ { // the next record that has a time
			if b := r.records[i*recordSize:]; b[8] != 0 && Code(b[8]) != more {
				return le.Uint64(b) >= ticks
			}
		}
		return true
	})
	return c
}

// Next takes the next event; it reports whether there is one.
func (c *Cursor) Next(e *Event) bool {
	for c.at+recordSize <= len(c.records) {
		at := c.at
		b := c.records[at : at+recordSize : at+recordSize]
		c.at += recordSize
		switch Code(b[8]) {
		case 0:
			continue
		case more:
			c.Skipped++
			continue
		}
		e.decode(b, c.upper)
		e.Number, e.Rare, e.More = c.first+uint64(at/recordSize), c.rare, nil
		if n := int(b[10] >> followShift); n > 0 {
			if e.More = c.follow(n); e.Code == TargetDataOp || e.Code == TargetDataOpEMI {
				e.PC = e.parent() & addressMask
			}
		}
		return true
	}
	return false
}

// Codes is a set of codes.
type Codes [256]bool

// CodesOf is the set of some codes.
func CodesOf(codes ...Code) *Codes {
	var s Codes
	for _, c := range codes {
		s[c] = true
	}
	return &s
}

// NextOf takes the next event of one of some codes; it reports whether there is one. What
// is none of them is passed over without a look at it.
func (c *Cursor) NextOf(e *Event, codes *Codes) bool {
	for ; c.at+recordSize <= len(c.records); c.at += recordSize {
		if codes[c.records[c.at+8]] {
			return c.Next(e)
		}
	}
	return false
}

// follow takes the n records that continue an event, or as many as are there.
func (c *Cursor) follow(n int) []byte {
	begin := c.at
	for range n {
		if c.at+recordSize > len(c.records) || Code(c.records[c.at+8]) != more {
			c.Skipped++
			break
		}
		c.at += recordSize
	}
	return c.records[begin:c.at:c.at]
}

// ownerAt is the LWP of the thread that wrote a record, if the run tells.
func (r *Run) ownerAt(number uint64) (lwp uint32, ok bool) {
	i, found := slices.BinarySearchFunc(r.owners, number, func(o owner, n uint64) int {
		switch {
		case o.number < n:
			return -1
		case o.number > n:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 {
		return 0, false
	}
	return r.owners[i].lwp, true
}
