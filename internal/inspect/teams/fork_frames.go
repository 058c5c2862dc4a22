package teams

import (
	"slices"
	"sort"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// forkPoint returns the index of the frame of p's stack that forked region v. The frame is not user code if the
// fork was the last call of an outlined function that the runtime had called.
func (u *UserModel) forkPoint(p *Thread, v *Region) (int, bool) {
	f, ok := u.findFork(p, v)
	return f.caller, ok
}

// findFork returns the fork of region v on p's stack.
//
// It matches the regions of p with its stack from the outside in: the outlined function of an active region is one that
// the runtime called through a pointer (calledFunctions). A serialized region may have no such function.
func (u *UserModel) findFork(p *Thread, v *Region) (fork, bool) {
	st := p.Stack()
	at := p.RegionIndex(v.Handle)
	if at < 0 || u.isLeft(p, at) {
		return fork{}, false
	}
	if v.Info.Function.IsNull() {
		i, ok := u.forkByCount(p, at)
		return fork{at, i, i}, ok
	}
	first := len(p.Chain) - 1
	if own := u.regions.ownRegion(p, p.Chain); own > at {
		first = own - 1
	}
	// A fork further in is found where the function of v itself tail-called the fork of
	// that region.
	f, next, ok := findRegionFork(u.matchForks(p, first), at, len(st.Frames)-1)
	switch {
	case ok:
		return f, true
	case at > 0:
		return fork{}, false
	}
	if f, ok := u.forkOfRemoved(p); ok {
		return f, true
	}
	i, ok := u.lastFork(st, next)
	return fork{at, i, i}, ok
}

// forkOfRemoved returns the fork of p's innermost region, whose function has returned, if the function of the region
// around it forked it by a tail call: the frames before the runtime's call of that function are the runtime's.
func (u *UserModel) forkOfRemoved(p *Thread) (fork, bool) {
	called, top := u.calledFunctions(p), p.Stack().RuntimeFrames()
	if len(called) == 0 || len(called[0].removed) == 0 || called[0].frame >= top || len(p.Chain) < 2 {
		return fork{}, false
	}
	around := u.regions.Get(p.Runtime, p.Chain[1])
	return fork{0, called[0].frame, top}, around.Info.Function.Offset == called[0].entry
}

// forkByCount returns the frame that forked the region at index at of p's chain, a region without a known
// function, as while its team is being formed. It matches regions and forking calls one by one if there are as
// many of the one as of the other.
func (u *UserModel) forkByCount(p *Thread, at int) (int, bool) {
	own := u.regions.ownRegion(p, p.Chain)
	if own < 0 {
		own = len(p.Chain) - 1 // the outermost region has no fork
	}
	st := p.Stack()
	calls := u.forkCalls(p)
	if len(calls) == own+1 && calls[0] == st.RuntimeFrames() { // it is forming one more team, or ending one
		calls = calls[1:]
	}
	if at >= own || len(calls) != own {
		return 0, false
	}
	return calls[at], true
}

// lastFork returns the call that forked a region with an outlined function that has no frame: the function has
// returned and the thread waits at the region's end, or it ended in a tail call. It searches frames up to index
// last.
func (u *UserModel) lastFork(st *stacks.Stack, last int) (int, bool) {
	top := st.RuntimeFrames()
	for i := max(top, 1); i <= last; i++ {
		if st.Kinds[i] != stacks.KindUser || st.Kinds[i-1] != stacks.KindRuntime {
			continue
		}
		name := u.runtimeCall(st, i)
		if kind, _ := rtl.ForkCallOf(name); kind == rtl.ForkMakes || name == "" && i == top {
			return i, true
		}
	}
	return 0, false
}

// runtimeCall returns the name of the runtime's function that frame i called, or that the function which it called
// tail-called; "" if unknown.
func (u *UserModel) runtimeCall(st *stacks.Stack, i int) string {
	if u.code.CallsProgram(st.Frames[i].PC) {
		if c, ok := u.flows.TailCall(st, i); ok {
			return c.Name
		}
	}
	return u.code.CallTarget(st.Frames[i].PC)
}

// regionCache has facts about the regions around a thread. Each is found once, however deep the regions are
// nested, and however many threads and tasks refer to them.
type regionCache struct {
	index         map[handles.Parallel]int // index in the thread's chain; nil for a short one
	ownRegions    []int                    // results of ownRegion, by index in the chain
	forkCalls     []int                    // result of forkCalls
	forkCallsRead bool
	forks         map[int][]fork   // results of matchForks, by first
	called        []calledFunction // result of calledFunctions
	calledRead    bool
	hidden        bool           // the stack may lack an unknown function
	outlined      []picture.Code // result of outlinedCode
	outlinedRead  bool
	outerFrames   map[handles.Parallel][]picture.Frame // results of outerFrames
	forked, left  int                                  // the regions that the thread has forked, and those it has left
	leftRead      bool
}

const (
	noRegion = -1
	notAsked = -2
)

// regionCache returns the facts about the regions around n.
func (n *Thread) regionCache() *regionCache {
	if n.regions == nil {
		n.regions = &regionCache{
			ownRegions: make([]int, len(n.Chain)), forks: map[int][]fork{},
			outerFrames: map[handles.Parallel][]picture.Frame{},
		}
		for i := range n.regions.ownRegions {
			n.regions.ownRegions[i] = notAsked
		}
		if len(n.Chain) > shortChain {
			n.regions.index = make(map[handles.Parallel]int, len(n.Chain))
			for i, h := range n.Chain {
				n.regions.index[h] = i
			}
		}
	}
	return n.regions
}

// shortChain is the number of regions up to which a linear search is fastest.
const shortChain = 8

// RegionIndex returns the index of region h in n's chain, -1 if n is not in it.
func (n *Thread) RegionIndex(h handles.Parallel) int {
	if len(n.Chain) <= shortChain {
		return slices.Index(n.Chain, h)
	}
	if i, ok := n.regionCache().index[h]; ok {
		return i
	}
	return noRegion
}

// ownRegion returns the index in chain of the region in which the stack of n starts: the innermost one in which n
// is not thread 0. It returns noRegion for a thread with a stack that starts in serial code.
func (t *RegionTable) ownRegion(n *Thread, chain []handles.Parallel) int {
	if len(chain) == 0 {
		return noRegion
	}
	from := n.RegionIndex(chain[0])
	if from < 0 || !sameChain(n.Chain[from:], chain) {
		return slices.IndexFunc(chain, func(h handles.Parallel) bool { return t.isMember(n, h) })
	}
	own := n.regionCache().ownRegions
	end := from
	for end < len(own) && own[end] == notAsked && !t.isMember(n, n.Chain[end]) {
		end++
	}
	found := noRegion
	switch {
	case end == len(own):
	case own[end] == notAsked:
		found = end
		own[end] = end
	default:
		found = own[end]
	}
	for i := from; i < end; i++ {
		own[i] = found
	}
	if found < 0 {
		return noRegion
	}
	return found - from
}

// sameChain reports whether two chains are equal. It compares those that share their memory by address.
func sameChain(a, b []handles.Parallel) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// isMember reports whether n has a number above 0 in region h of its chain.
func (t *RegionTable) isMember(n *Thread, h handles.Parallel) bool {
	num, ok := t.ThreadNum(n, h)
	return ok && num > 0
}

// fork is a call on a thread's stack that forked a region.
type fork struct {
	region int // index of the region in the thread's chain
	outer  int // the first frame that is not of the region: the runtime's, or caller
	caller int // frame that forked it
}

// matchForks matches the regions of p with its stack, from index first of its chain inwards (see findFork).
func (u *UserModel) matchForks(p *Thread, first int) []fork {
	a := p.regionCache()
	if fs, ok := a.forks[first]; ok {
		return fs
	}
	st := p.Stack()
	called := u.calledFunctions(p)
	next := len(called) - 1
	var fs []fork
	missing := map[uint64]bool{} // functions that are not called further in
	for i := first; i >= 0; i-- {
		fn := u.regions.Get(p.Runtime, p.Chain[i]).Info.Function
		if fn.IsNull() || missing[fn.Offset] {
			continue
		}
		at := next
		for at >= 0 && called[at].entry != fn.Offset {
			at--
		}
		if at < 0 {
			missing[fn.Offset] = true
			continue
		}
		caller := called[at].frame
		for caller < len(st.Kinds) && st.Kinds[caller] == stacks.KindRuntime {
			caller++
		}
		fs = append(fs, fork{i, called[at].frame + 1, caller})
		next = at - 1
	}
	a.forks[first] = fs
	return fs
}

// findRegionFork searches the forks of a thread, outermost first, for the region at index at, or for the next one
// further in. If it finds no fork, next is the frame of the innermost enclosing region's function.
func findRegionFork(fs []fork, at, last int) (f fork, next int, ok bool) {
	i := sort.Search(len(fs), func(i int) bool { return fs[i].region <= at })
	if i > 0 {
		last = fs[i-1].outer - 2
	}
	if i == len(fs) {
		return fork{}, last, false
	}
	return fs[i], last, true
}

// forkCalls returns the frames of p's stack that called a forking function of the runtime, innermost first.
func (u *UserModel) forkCalls(p *Thread) []int {
	a := p.regionCache()
	if a.forkCallsRead {
		return a.forkCalls
	}
	a.forkCallsRead = true
	st := p.Stack()
	for i := 1; i < len(st.Kinds); i++ {
		if st.Kinds[i] != stacks.KindUser || st.Kinds[i-1] != stacks.KindRuntime {
			continue
		}
		if kind, _ := rtl.ForkCallOf(u.runtimeCall(st, i)); kind == rtl.ForkMakes {
			a.forkCalls = append(a.forkCalls, i)
		}
	}
	return a.forkCalls
}

// outlinedCode returns the functions of p's regions by the frames of its stack, innermost first. It returns nil if
// their number differs from that of p's regions before index end.
func (u *UserModel) outlinedCode(p *Thread, end int) []picture.Code {
	a := p.regionCache()
	if a.outlinedRead {
		return a.outlined
	}
	a.outlinedRead = true
	fs := u.mergeOutlined(u.userFrames(p.Stack(), 0))
	for i, f := range fs {
		if f.Construct != symbolize.ConstructParallel {
			continue
		}
		c := picture.Code{Name: f.Function, Address: f.Entry}
		if i+1 < len(fs) {
			c.File, c.Line, c.LineFrom = fs[i+1].File, fs[i+1].Line, "call site"
		}
		a.outlined = append(a.outlined, c)
	}
	levels := 0
	for _, h := range p.Chain[:end] {
		if h.Level > 0 {
			levels++
		}
	}
	if len(a.outlined) != levels {
		a.outlined = nil
	}
	return a.outlined
}

// outerFrames returns the frames of p outside of region v, which it forked: they continue the stacks of v's members.
func (u *UserModel) outerFrames(p *Thread, v *Region, f fork) []picture.Frame {
	outer := p.regionCache().outerFrames
	if fs, ok := outer[v.Handle]; ok {
		return fs
	}
	fs := u.modelFrames(p, f.outer)
	if len(fs) > 0 {
		fs[0].LWP = p.LWP
	}
	outer[v.Handle] = fs
	return fs
}
