package trace

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrNoEvent means that a requested thread or region has no event. Test with errors.Is.
var ErrNoEvent = errors.New("no event")

// Filter selects events by thread and region. It must see all events of a thread, in order.
type Filter struct {
	LWPs   []uint32 // empty: all
	Region string   // in words, such as 0.7; "": all
	Words  Words

	in map[uint32]uint64 // the current region of each ring's thread
}

// Matches reports whether an event is selected.
func (f *Filter) Matches(t *Thread, e *Event) bool {
	if e.Code == NewThread && !e.Rare { // it is in both rings
		return false
	}
	if len(f.LWPs) > 0 && !slices.Contains(f.LWPs, t.LWPOf(e)) {
		return false
	}
	if f.Region == "" {
		return true
	}
	if f.in == nil {
		f.in = map[uint32]uint64{}
	}
	in := f.in[t.Index]
	if e.Region != 0 && e.Code != ParallelBegin && e.Code != ParallelEnd {
		in, f.in[t.Index] = e.Region, e.Region
	}
	if e.Code == ImplicitTask && e.Endpoint == End {
		f.in[t.Index] = 0
	}
	return f.Words.ID(in) == f.Region || e.Region != 0 && f.Words.ID(e.Region) == f.Region
}

// Check returns an error if a recording has no event of the requested threads and region, at any time.
func (f *Filter) Check(rec *Recording) error {
	lwps := rec.LWPs()
	for _, lwp := range f.LWPs {
		if !slices.Contains(lwps, lwp) {
			return fmt.Errorf("%w of thread %d was recorded, only of %s", ErrNoEvent, lwp, someOf(lwps))
		}
	}
	if f.Region == "" {
		return nil
	}
	for _, t := range rec.Threads {
		for e := range t.Events(0) {
			if e.Region != 0 && f.Words.ID(e.Region) == f.Region {
				return nil
			}
		}
	}
	return fmt.Errorf("%w of region %s is there: there was none, or its events are overwritten", ErrNoEvent, f.Region)
}

// someOf lists at most sixteen threads.
func someOf(lwps []uint32) string {
	const most = 16
	var names []string
	for _, lwp := range lwps[:min(len(lwps), most)] {
		names = append(names, strconv.Itoa(int(lwp)))
	}
	s := strings.Join(names, ", ")
	if more := len(lwps) - most; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// Reset forgets the threads' regions, before the events are filtered again.
func (f *Filter) Reset() { clear(f.in) }
