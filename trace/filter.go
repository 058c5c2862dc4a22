package trace

import "slices"

// Filter selects events of threads and of a region. It is asked of all events of a thread
// in their order.
type Filter struct {
	LWPs   []uint32 // none is all
	Region string   // in words, such as 0.7; "" is all
	Words  Words

	in map[uint32]uint64 // by ring: the region that its thread is in
}

// Has reports whether an event is selected.
func (f *Filter) Has(t *Thread, e *Event) bool {
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

// Reset forgets in which regions threads are, to ask for events anew.
func (f *Filter) Reset() { clear(f.in) }
