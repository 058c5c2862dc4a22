package lockflow

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Certainty is how surely a thread has a lock.
type Certainty uint8

// The certainties, the best first.
const (
	// Certain: on all paths to where the thread is, it took the lock, and gave it back on none.
	Certain Certainty = iota
	// Likely: the same, as far as the code is known, or if memory did not change.
	Likely
	// Possible: on some paths.
	Possible
)

// Lock names a lock: its family, and the address of the program's variable, which is 0 where
// there is only one.
type Lock struct {
	Family  string
	Address uint64
}

// Holder is a thread that has a lock, or may have it, as its code shows.
type Holder struct {
	Thread    *Thread
	Frame     int // in which it took the lock
	Certainty Certainty
	Taken     []flow.CallSite // the calls that may have taken it
}

// Look is what a Program tells of the threads of one stop. It is for one goroutine at a time.
type Look struct {
	p       *Program
	threads func() []*Thread
	indexes map[string]*index
	held    map[Lock][]Holder
	open    map[string]*releases // by family

	acquiring map[string]map[uint64][]*Thread // by family and lock
}

// NewLook asks about the threads that the function lists, which is called at most once for
// each family of locks.
func NewLook(p *Program, threads func() []*Thread) *Look {
	return &Look{p: p, threads: threads, indexes: map[string]*index{}, held: map[Lock][]Holder{},
		open: map[string]*releases{}, acquiring: map[string]map[uint64][]*Thread{}}
}

// Holders lists the threads that have a lock, or may have it, the best first. It is the same
// list for all who ask.
func (l *Look) Holders(lock Lock) []Holder {
	out, ok := l.held[lock]
	if !ok {
		out = l.find(lock)
		l.held[lock] = out
	}
	return out
}

// index is the frames that may have locks of one family.
type index struct {
	frames    []*candidate
	byAddress map[uint64][]int // by the locks that their calls take; 0 for the only one
	anywhere  []int            // those with a call of which it is not known what it takes
}

// candidate is a frame behind a call that takes a lock of a family.
type candidate struct {
	thread  *Thread
	frame   int
	family  string
	f       *function
	sites   *familySites
	point   *point
	at      flow.Point
	locks   []value      // of the effects of sites, in order
	now     []value      // of those of the call under way, with the values of now
	first   int          // index of the first of these among the effects of sites
	through map[int]site // calls through pointers, by their index, with what these point to
	key     string       // names those
	callee  *candidate   // the frame of the call under way; nil if it is none of the program's
}

// value is the address of the lock of an effect.
type value struct {
	address     uint64
	sure, known bool
	single      bool
}

// indexOf gathers the frames that may have locks of a family.
func (l *Look) indexOf(family string) *index {
	if x := l.indexes[family]; x != nil {
		return x
	}
	x := &index{byAddress: map[uint64][]int{}}
	l.indexes[family] = x
	for _, t := range l.threads() {
		for i := range min(len(t.Frames), maxFrames) {
			if !t.Frames[i].User {
				continue
			}
			if c := l.p.newCandidate(t, i, family); c != nil {
				x.add(c)
			}
		}
	}
	return x
}

func (x *index) add(c *candidate) {
	n := len(x.frames)
	x.frames = append(x.frames, c)
	for i, v := range c.locks {
		if !c.sites.effects[i].does.MaySets() {
			continue
		}
		list := &x.anywhere
		if v.known || v.single {
			of := x.byAddress[v.address]
			if !slices.Contains(of, n) {
				x.byAddress[v.address] = append(of, n)
			}
			continue
		}
		if !slices.Contains(*list, n) {
			*list = append(*list, n)
		}
	}
}

// framesFor lists the frames that may have a lock, by their order.
func (x *index) framesFor(lock Lock) []int {
	list := x.byAddress[lock.Address]
	if lock.Address == 0 || len(x.anywhere) == 0 {
		return list
	}
	list = slices.Concat(list, x.anywhere)
	slices.Sort(list)
	return slices.Compact(list)
}

// find looks for the threads that have a lock.
func (l *Look) find(lock Lock) []Holder {
	x := l.indexOf(lock.Family)
	var out []Holder
	for _, n := range x.framesFor(lock) {
		h, ok := x.frames[n].holds(lock)
		switch {
		case !ok:
		case lock.Family == rtl.FamilyStatic && h.Certainty == Possible: // it is behind the initialization
		case len(out) == 0 || out[len(out)-1].Thread != h.Thread:
			out = append(out, h)
		case out[len(out)-1].Certainty != Certain && h.Certainty != Possible:
			out[len(out)-1] = h // a frame further out
		}
	}
	slices.SortStableFunc(out, func(a, b Holder) int { return cmp.Compare(a.Certainty, b.Certainty) })
	return out
}
