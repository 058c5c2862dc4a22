package trace

import (
	"errors"
	"fmt"
	"math"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// pageSize is the least that is missing where memory is: files are cut anywhere, memory in pages.
const pageSize = 4096

// missingTime is the time of records that the target's memory does not have. Their code is 0.
const missingTime = math.MaxUint64

// readable copies what is there of the records at an address, and marks those that are not. cause says why the
// first of them is missing.
func (r *Reader) readable(at uint64, b []byte) (cause error) {
	for len(b) > 0 {
		err := r.mem.ReadMemory(callbacks.Addr(at), b)
		if err == nil {
			return cause
		}
		if cause == nil {
			cause = err
		}
		whole, next := uint64(0), uint64(len(b))
		fault := (*callbacks.FaultError)(nil)
		if errors.As(err, &fault) && fault.Address.Offset-at < next { // else nothing can be read any more
			whole = (fault.Address.Offset - at) / recordSize * recordSize
			page := pageSize - (at+whole)%pageSize
			next = min(whole+(page+recordSize-1)/recordSize*recordSize, next)
		}
		if whole > 0 && r.mem.ReadMemory(callbacks.Addr(at), b[:whole]) != nil {
			whole = 0
		}
		for ; whole < next; whole += recordSize {
			clear(b[whole : whole+recordSize])
			le.PutUint64(b[whole:], missingTime)
		}
		at, b = at+next, b[next:]
	}
	return cause
}

// hole tells of records of a run that the target's memory does not have.
func (t *Thread) hole(r *Run) error {
	if r.Missing == 0 {
		return nil
	}
	which, where := "", ""
	if r.Rare {
		which = " of rare events"
	}
	if r.connected == r.First+uint64(r.Len()) {
		where = ", the newest among them"
	}
	return fmt.Errorf("thread %d: %d of its %d records%s are missing%s: %w", t.LWP, r.Missing, r.Len(), which, where,
		r.cause)
}

// Connected is the recording without what comes before records that are missing in a ring, so that what happened
// in between cannot be taken for something that did not: as if the others had been overwritten.
func (r *Recording) Connected() *Recording {
	out := r
	for i, t := range r.Threads {
		if t.Main.Missing == 0 && t.Rare.Missing == 0 {
			continue
		}
		if out == r {
			c := *r
			out, c.Threads = &c, append([]*Thread(nil), r.Threads...)
		}
		c := *t
		c.Main, c.Rare = t.Main.behindHoles(), t.Rare.behindHoles()
		out.Threads[i] = &c
	}
	return out
}

// behindHoles is the part of a run behind the last record that is missing.
func (r *Run) behindHoles() Run {
	out := *r
	if r.Missing > 0 {
		out.First, out.records = r.connected, r.records[(r.connected-r.First)*recordSize:]
	}
	return out
}
