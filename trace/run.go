package trace

import (
	"slices"
	"sort"
)

// Run is a copy of consecutive records of one ring.
type Run struct {
	First   uint64 // number of the first record of the copy
	Written uint64 // records that were ever written into the ring
	Lost    uint64 // records before First that were overwritten unread
	Passed  uint64 // records before First that were not requested (Reader.Latest)
	Damaged uint64 // records of the copy that no writer can have left
	Missing uint64 // records of the copy that are missing in the target's memory
	Rare    bool

	upper   uint8  // of ids of regions (Header.upper)
	records []byte // consecutive; damaged ones have the code 0
	owners  []owner

	connected uint64 // number of the first record after the last missing one
	cause     error  // error of the first missing record
}

// owner is a thread that took over the ring, with its record NEWTHREAD.
type owner struct {
	number uint64
	lwp    uint32
}

// Len is the number of records in the copy.
func (r *Run) Len() int { return len(r.records) / recordSize }

// newRun checks copied consecutive records. The first has the number first; they are from a ring of 1 << shift
// records with the newest time last.
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

// ownersMax bounds the owners kept for one shared ring. A ring of a million records may have as many; owners
// before the last thousands are dropped.
const ownersMax = 1 << 16

// Cursor iterates over the events of a run.
type Cursor struct {
	records []byte
	at      int
	first   uint64
	rare    bool
	upper   uint8
	// Skipped counts the MORE records without a preceding event, and the events with missing records.
	Skipped uint64
}

// Events returns a cursor before the first event.
func (r *Run) Events() Cursor {
	return Cursor{records: r.records, first: r.First, rare: r.Rare, upper: r.upper}
}

// Back returns the event that starts at the nth record before the end, or soon after.
func (r *Run) Back(n int) (e Event, ok bool) {
	c := r.Events()
	c.at = max(0, len(c.records)-n*recordSize)
	ok = c.Next(&e)
	return e, ok
}

// Since returns a cursor before the first event at or after a time.
func (r *Run) Since(ticks uint64) Cursor {
	c := r.Events()
	n := r.Len()
	c.at = recordSize * sort.Search(n, func(i int) bool {
		for ; i < n; i++ { // the next record with a time
			if b := r.records[i*recordSize:]; b[8] != 0 && Code(b[8]) != more {
				return le.Uint64(b) >= ticks
			}
		}
		return true
	})
	return c
}

// Next decodes the next event; it returns false at the end.
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

// CodesOf returns a set of codes.
func CodesOf(codes ...Code) *Codes {
	var s Codes
	for _, c := range codes {
		s[c] = true
	}
	return &s
}

// NextOf decodes the next event with one of some codes; it returns false at the end. Other events are skipped
// undecoded.
func (c *Cursor) NextOf(e *Event, codes *Codes) bool {
	for ; c.at+recordSize <= len(c.records); c.at += recordSize {
		if codes[c.records[c.at+8]] {
			return c.Next(e)
		}
	}
	return false
}

// follow returns the n records that continue an event, or the available ones.
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

// ownerAt returns the LWP of the thread that wrote a record, if the run contains it.
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
