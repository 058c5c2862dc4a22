package trace

import (
	"errors"
	"fmt"
	"math"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// pageSize is the granularity of missing memory; files may be cut anywhere.
const pageSize = 4096

// missingTime is the time of records that are missing in the target's memory. Their code is 0.
const missingTime = math.MaxUint64

// readable copies the readable records at an address and marks the others. cause is the error of the first
// missing one.
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
		if errors.As(err, &fault) && fault.Address.Offset-at < next { // any other error: the rest is unreadable
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

// hole returns an error that describes the missing records of a run.
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

// Connected returns the recording without the records before a gap of missing ones in a ring, as if they had
// been overwritten. So events in the gap are not taken for events that did not happen.
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

// behindHoles returns the part of a run after its last missing record.
func (r *Run) behindHoles() Run {
	out := *r
	if r.Missing > 0 {
		out.First, out.records = r.connected, r.records[(r.connected-r.First)*recordSize:]
	}
	return out
}
