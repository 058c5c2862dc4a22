package inspect

import (
	"slices"
	"sort"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ancestry is what is found out of the regions around a thread: each once, however
// deep they are nested and however many threads and tasks are asked about.
type ancestry struct {
	at       map[handles.Parallel]int             // index in the thread's chain; nil for a short one
	own      []int                                // by index in the chain: see ownRegion; notAsked where nobody did
	calls    []int                                // see forkCalls
	counted  bool                                 // calls were
	forks    map[int][]fork                       // by the index that the search began at: see matchForks
	outlined []picture.Code                       // see outlinedCode
	named    bool                                 // outlined were
	outer    map[handles.Parallel][]picture.Frame // see outerFrames
}

const (
	noRegion = -1
	notAsked = -2
)

// ancestry returns what is known of the regions around n.
func (n *native) ancestry() *ancestry {
	if n.around == nil {
		n.around = &ancestry{
			own: make([]int, len(n.chain)), forks: map[int][]fork{}, outer: map[handles.Parallel][]picture.Frame{},
		}
		for i := range n.around.own {
			n.around.own[i] = notAsked
		}
		if len(n.chain) > shortChain {
			n.around.at = make(map[handles.Parallel]int, len(n.chain))
			for i, h := range n.chain {
				n.around.at[h] = i
			}
		}
	}
	return n.around
}

// shortChain is how many regions are found sooner by looking at each.
const shortChain = 8

// indexOf is the index of region h in n's chain; noRegion if n is not in it.
func (n *native) indexOf(h handles.Parallel) int {
	if len(n.chain) <= shortChain {
		return slices.Index(n.chain, h)
	}
	if i, ok := n.ancestry().at[h]; ok {
		return i
	}
	return noRegion
}

// ownRegion returns the index in chain of the region in which the stack of n
// begins: the innermost one of which n is not thread 0. It is noRegion for a thread
// whose stack begins in serial code.
func (t *regionTable) ownRegion(n *native, chain []handles.Parallel) int {
	if len(chain) == 0 {
		return noRegion
	}
	from := n.indexOf(chain[0])
	if from < 0 || !sameChain(n.chain[from:], chain) {
		return slices.IndexFunc(chain, func(h handles.Parallel) bool { return t.isMember(n, h) })
	}
	own := n.ancestry().own
	end := from
	for end < len(own) && own[end] == notAsked && !t.isMember(n, n.chain[end]) {
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

// sameChain reports whether two chains are equal; those that share their memory are
// not compared.
func sameChain(a, b []handles.Parallel) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// isMember reports whether n has a number above 0 in region h of its chain.
func (t *regionTable) isMember(n *native, h handles.Parallel) bool {
	num, ok := t.threadNumAt(n, h)
	return ok && num > 0
}

// fork is a call on a thread's stack that forked a region.
type fork struct {
	region   int // index of the region in the thread's chain
	outlined int // frame of the region's function
	caller   int // frame that forked it
}

// matchForks matches the regions of p with its stack, from index first of its chain
// inwards, as forkPoint says.
func (u *userModel) matchForks(p *native, first int) []fork {
	a := p.ancestry()
	if fs, ok := a.forks[first]; ok {
		return fs
	}
	st := p.Stack()
	next := len(st.Frames) - 1
	var fs []fork
	missing := map[uint64]bool{} // functions that have no frame further in
	for i := first; i >= 0; i-- {
		fn := u.regions.get(p.rt, p.chain[i]).info.Function
		if fn.IsNull() || missing[fn.Offset] {
			continue
		}
		outlined, caller, ok := u.findFork(st, next, fn.Offset)
		if !ok {
			missing[fn.Offset] = true
			continue
		}
		fs = append(fs, fork{i, outlined, caller})
		next = outlined
	}
	a.forks[first] = fs
	return fs
}

// forkOf finds among the forks of a thread, outer ones first, that of the region at
// index at, or of the next one further in. Without one, last is the frame of the
// innermost function of a region around.
func forkOf(fs []fork, at, last int) (f fork, next int, ok bool) {
	i := sort.Search(len(fs), func(i int) bool { return fs[i].region <= at })
	if i > 0 {
		last = fs[i-1].outlined
	}
	if i == len(fs) {
		return fork{}, last, false
	}
	return fs[i], last, true
}

// forkCalls are the frames of p's stack that called a function which executes a
// region, innermost first.
func (u *userModel) forkCalls(p *native) []int {
	a := p.ancestry()
	if a.counted {
		return a.calls
	}
	a.counted = true
	st := p.Stack()
	for i := 1; i < len(st.Kinds); i++ {
		if st.Kinds[i] != stacks.KindUser || st.Kinds[i-1] != stacks.KindRuntime {
			continue
		}
		if kind, _ := rtl.ForkCallOf(u.code.CallTarget(st.Frames[i].PC)); kind == rtl.ForkMakes {
			a.calls = append(a.calls, i)
		}
	}
	return a.calls
}

// outlinedCode are the functions of regions that p executes by the frames of its
// stack, innermost first; none if they are not as many as its regions are up to the
// first end.
func (u *userModel) outlinedCode(p *native, end int) []picture.Code {
	a := p.ancestry()
	if a.named {
		return a.outlined
	}
	a.named = true
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
	for _, h := range p.chain[:end] {
		if h.Level > 0 {
			levels++
		}
	}
	if len(a.outlined) != levels {
		a.outlined = nil
	}
	return a.outlined
}

// outerFrames are the frames of p from frame number user on, which forked v: those
// that the stacks of v's members are continued by.
func (u *userModel) outerFrames(p *native, v *regionView, user int) []picture.Frame {
	outer := p.ancestry().outer
	if fs, ok := outer[v.h]; ok {
		return fs
	}
	forks := u.forks(p)
	forks[user] = v
	fs := u.modelFrames(p, user, forks)
	if len(fs) > 0 {
		fs[0].LWP = p.LWP
	}
	outer[v.h] = fs
	return fs
}
