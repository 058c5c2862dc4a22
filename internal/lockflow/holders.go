package lockflow

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Certainty is the degree of certainty that a thread holds a lock.
type Certainty uint8

// The certainties, the highest first.
const (
	// Certain: on all paths to its current place, the thread took the lock and did not release it.
	Certain Certainty = iota
	// Likely: the same, unless unknown code released the lock or memory has changed.
	Likely
	// Possible: on some paths.
	Possible
)

// Lock identifies a lock by its family and the address of the program's variable; 0 if the family has a single
// lock.
type Lock struct {
	Family  string
	Address uint64
}

// AnyAddress is the address of a lock in an unknown variable. Each call that acquires a lock of its family may have
// acquired it.
const AnyAddress = ^uint64(0)

// Holder is a thread that holds a lock, or may hold it, according to its code.
type Holder struct {
	Thread    *Thread
	Frame     int // of the function that took the lock
	Certainty Certainty
	Taken     []flow.CallSite // the calls that may have taken it

	// Released is set if it has released the lock, unless the memory that contains the lock's address has changed
	// since.
	Released bool

	// Presumed is set for a possible holder that has the lock if the variables that its branches read have not changed
	// since.
	Presumed bool

	// ReleasedOnReturn is set for a possible holder if each path from the calls in Taken to a return of their function
	// releases the lock, by the form of its address. So a thread that has returned from there does not have it.
	ReleasedOnReturn bool
}

// Look answers questions about the threads of one stop. It is for one goroutine at a time.
type Look struct {
	p       *Program
	threads func() []*Thread
	indexes map[string]*index
	held    map[Lock][]Holder
	open    map[string]*releases // by family

	acquiring map[string]map[uint64][]*Thread // by family and lock
}

// NewLook returns a Look at the threads that the function lists. The function is called at most once per family
// of locks.
func NewLook(p *Program, threads func() []*Thread) *Look {
	return &Look{p: p, threads: threads, indexes: map[string]*index{}, held: map[Lock][]Holder{},
		open: map[string]*releases{}, acquiring: map[string]map[uint64][]*Thread{}}
}

// Holders lists the threads that hold a lock, or may hold it, the most certain first. All callers get the same
// list.
func (l *Look) Holders(lock Lock) []Holder {
	out, ok := l.held[lock]
	if !ok {
		out = l.find(lock)
		l.held[lock] = out
	}
	return out
}

// index contains the frames that may hold locks of one family.
type index struct {
	frames    []*candidate
	byAddress map[uint64][]int // by the address of the lock that their calls take; 0 for the single lock
	anywhere  []int            // frames with a call that takes an unknown lock
}

// candidate is a frame that may have passed a call that takes a lock of a family.
type candidate struct {
	thread  *Thread
	frame   int
	family  string
	f       *function
	sites   *familySites
	point   *point
	at      flow.Point
	locks   []value      // of the effects in sites, in order
	now     []value      // of the effects of the unfinished call, with current values
	first   int          // index of the first of these effects in sites
	through map[int]site // resolved calls through pointers, by index
	key     string       // identifies the resolved calls
	callee  *candidate   // the frame of the unfinished call; nil if it is not in the program
}

// value is the address of the lock of an effect.
type value struct {
	address     uint64
	sure, known bool
	single      bool
}

// indexOf collects the frames that may hold locks of a family.
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

// framesFor lists the frames that may hold a lock, in order.
func (x *index) framesFor(lock Lock) []int {
	if lock.Address == AnyAddress {
		list := make([]int, len(x.frames))
		for i := range list {
			list[i] = i
		}
		return list
	}
	list := x.byAddress[lock.Address]
	if lock.Address == 0 || len(x.anywhere) == 0 {
		return list
	}
	list = slices.Concat(list, x.anywhere)
	slices.Sort(list)
	return slices.Compact(list)
}

// find returns the threads that hold or may hold a lock.
func (l *Look) find(lock Lock) []Holder {
	x := l.indexOf(lock.Family)
	var out []Holder
	for _, n := range x.framesFor(lock) {
		h, ok := x.frames[n].holds(lock)
		switch {
		case !ok:
		case lock.Family == rtl.FamilyStatic && h.Certainty == Possible: // it has passed the initialization
		case len(out) == 0 || out[len(out)-1].Thread != h.Thread:
			out = append(out, h)
		case out[len(out)-1].Certainty != Certain && h.Certainty != Possible:
			out[len(out)-1] = h // a caller's frame
		}
	}
	released := func(h Holder) bool { return h.Released }
	if kept := slices.DeleteFunc(slices.Clone(out), released); len(kept) > 0 {
		out = kept
	}
	slices.SortStableFunc(out, func(a, b Holder) int { return cmp.Compare(a.Certainty, b.Certainty) })
	return out
}
