package waits

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// The n-th barrier of one member of a team completes together with the n-th barrier of each other member. So the
// members hang at barriers that may be far from the first place at which their paths differed. The code of the region
// has the possible sequences of barriers. The sequences of two members that end at their barriers have the same length:
// the first pair of different barriers in them is the cause.

// Bounds on the search for the cause.
const (
	maxCallDepth    = 32      // calls from the region to a barrier
	maxMeetings     = 512     // barriers of a region, each counted once per chain of calls
	maxPairs        = 1 << 16 // pairs of barriers
	maxShiftCauses  = 2       // reported places
	startOfRegion   = 0       // the meeting before the first barrier
	endOfRegion     = 1       // the meeting after the last barrier
	anyThreadNumber = -1
)

// callStep is a call in a function.
type callStep struct {
	entry uint64
	site  int
}

// meeting is a barrier with the calls that lead to it from the code of the region, outermost first.
type meeting []callStep

// barrierPaths contains the sequences of barriers that members of a team can pass in a region.
type barrierPaths struct {
	c        *constructs
	region   uint64
	leads    map[uint64]bool // functions that call a barrier, or functions that do
	meetings []meeting
	ids      map[string]int
	views    map[int]*barrierView
	failed   bool // the code cannot be followed
}

// barrierView contains the paths of the thread with one number in its team.
type barrierView struct {
	*barrierPaths
	number int
	passes map[uint64]bool // functions that can return without a barrier
	next   map[int][]int
}

func (c *constructs) newBarrierPaths(region uint64) *barrierPaths {
	p := &barrierPaths{c: c, region: region, leads: map[uint64]bool{}, ids: map[string]int{},
		views: map[int]*barrierView{}, meetings: make([]meeting, 2)}
	reachable := c.reachableFunctions(region)
	p.failed = len(reachable) >= maxCalled
	for _, f := range reachable {
		code := c.flows.FunctionAt(f)
		if code == nil || code.JumpsByPointer() {
			p.failed = true
			return p
		}
		for _, s := range code.Sites() {
			switch entry := c.flows.Program.Entry(s); {
			case rtl.OfTeamBarrier(s.Name):
				p.leads[f] = true
			case rtl.OfUnequalBarriers(s.Name),
				s.Name == "" && entry == 0, // a call through a pointer
				s.Return == 0 && s.Name == "" && !c.flows.Program.BeginsFunction(entry): // a jump into a function
				p.failed = true
				return p
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, f := range reachable {
			if !p.leads[f] && slices.ContainsFunc(c.flows.FunctionAt(f).Sites(), p.leadsToBarrier) {
				p.leads[f], changed = true, true
			}
		}
	}
	for f := range p.leads {
		p.failed = p.failed || c.flows.FunctionAt(f).Indirect
	}
	return p
}

func (p *barrierPaths) leadsToBarrier(s flow.CallSite) bool { return p.leads[p.c.calleeEntry(s)] }

func (p *barrierPaths) code(entry uint64) *flow.Function { return p.c.flows.FunctionAt(entry) }

func (p *barrierPaths) site(s callStep) flow.CallSite { return p.code(s.entry).Sites()[s.site] }

// view returns the paths of the thread with a number.
func (p *barrierPaths) view(number int) *barrierView {
	if p.views[number] == nil {
		p.views[number] = &barrierView{p, number, map[uint64]bool{}, map[int][]int{}}
	}
	return p.views[number]
}

// result returns the result of a call that depends on the thread's number alone.
func (v *barrierView) result(s flow.CallSite) (uint64, bool) {
	if v.number == anyThreadNumber {
		return 0, false
	}
	return rtl.ResultByNumber(s.Name, uint64(v.number))
}

// paths returns the paths through a function up to the next barrier.
func (v *barrierView) paths(entry uint64) flow.Paths {
	code := v.code(entry)
	stops := make([]bool, len(code.Sites()))
	for i, s := range code.Sites() {
		stops[i] = rtl.OfTeamBarrier(s.Name) || v.leadsToBarrier(s) && !v.canPass(v.c.calleeEntry(s))
	}
	return flow.Paths{Stops: stops}.Returning(code, v.result)
}

// canPass reports whether a function can return without a barrier.
func (v *barrierView) canPass(entry uint64) bool {
	out, known := v.passes[entry]
	if !known {
		v.passes[entry] = true // it ends the recursion, which expand finds
		_, out = flow.AheadOfEntry(v.code(entry)).Reach(v.paths(entry))
		v.passes[entry] = out
	}
	return out
}

// expand adds the next barriers after a point of a function, and reports whether the function may return before them.
func (v *barrierView) expand(calls meeting, entry uint64, at flow.Ahead, out map[int]bool) bool {
	inside := slices.ContainsFunc(calls, func(s callStep) bool { return s.entry == entry })
	if inside || len(calls) >= maxCallDepth || v.failed {
		v.failed = true
		return false
	}
	sites, returns := at.Reach(v.paths(entry))
	for i, s := range v.code(entry).Sites() {
		if !sites[i] {
			continue
		}
		inner := append(slices.Clone(calls), callStep{entry, i})
		if rtl.OfTeamBarrier(s.Name) {
			out[v.identify(inner)] = true
		} else if v.leadsToBarrier(s) {
			callee := v.c.calleeEntry(s)
			v.expand(inner, callee, flow.AheadOfEntry(v.code(callee)), out)
		}
	}
	return returns
}

// identify returns the number of a meeting.
func (p *barrierPaths) identify(m meeting) int {
	key := fmt.Sprint(m)
	id, known := p.ids[key]
	if !known {
		id = len(p.meetings)
		p.ids[key], p.meetings = id, append(p.meetings, m)
		p.failed = p.failed || id >= maxMeetings
	}
	return id
}

// followers returns the barriers that may follow one.
func (v *barrierView) followers(id int) []int {
	if out, known := v.next[id]; known || id == endOfRegion || v.failed {
		return out
	}
	found := map[int]bool{}
	returns := true
	if id == startOfRegion {
		returns = v.expand(nil, v.region, flow.AheadOfEntry(v.code(v.region)), found)
	}
	m := v.meetings[id]
	for i := len(m) - 1; i >= 0 && returns; i-- {
		s := v.site(m[i])
		if s.Return == 0 {
			continue // a tail call
		}
		at, ok := flow.AheadOf(v.code(m[i].entry), flow.Point{PC: s.Return})
		if !ok {
			v.failed = true
			return nil
		}
		returns = v.expand(m[:i], m[i].entry, at, found)
	}
	if returns {
		found[endOfRegion] = true
	}
	out := make([]int, 0, len(found))
	for n := range found {
		out = append(out, n)
	}
	slices.Sort(out)
	v.next[id] = out
	return out
}

// positions returns the meetings that a thread may wait at.
func (p *barrierPaths) positions(st *stacks.Stack, w *picture.Wait) map[int]bool {
	if w.EndOfRegion {
		return map[int]bool{endOfRegion: true}
	}
	var visible meeting
	for i := st.RuntimeFrames(); i < len(st.Frames) && st.Kinds[i] == stacks.KindUser; i++ {
		f := st.Frames[i]
		entry := p.c.code.FunctionEntry(f)
		code := p.code(entry)
		if code == nil {
			return nil
		}
		s, ok := code.SiteAt(flow.Point{PC: f.PC, Exact: f.Exact})
		if !ok {
			return nil
		}
		visible = append(visible, callStep{entry, s.Index})
		if entry == p.region {
			break
		}
	}
	slices.Reverse(visible)
	out := map[int]bool{}
	for id, m := range p.meetings {
		shown := slices.DeleteFunc(slices.Clone(m), func(s callStep) bool { return p.site(s).Return == 0 })
		if id > endOfRegion && slices.Equal(shown, visible) {
			out[id] = true
		}
	}
	return out
}

// divergence is a pair of different barriers that two threads can come to after the same barriers.
type divergence struct{ last, first, second int }

// divergences returns the pairs of barriers at which the paths of two threads to their current barriers may have
// differed first.
func (p *barrierPaths) divergences(a, b *barrierView, atA, atB func() map[int]bool) []divergence {
	type pair struct {
		a, b     int
		diverged bool
	}
	known := map[pair][]pair{} // predecessors
	work := []pair{{}}
	known[work[0]] = nil
	causes := map[pair][]divergence{}
	for len(work) > 0 && !p.failed {
		at := work[0]
		work = work[1:]
		for _, x := range a.followers(at.a) {
			for _, y := range b.followers(at.b) {
				to := pair{x, y, at.diverged || x != y}
				if _, seen := known[to]; !seen {
					work = append(work, to)
				}
				known[to] = append(known[to], at)
				if d := (divergence{at.a, x, y}); to.diverged && !at.diverged && !slices.Contains(causes[to], d) {
					causes[to] = append(causes[to], d)
				}
			}
		}
		p.failed = p.failed || len(known) > maxPairs
	}
	if p.failed {
		return nil
	}
	var out []divergence
	seen := map[pair]bool{}
	for x := range atA() {
		for y := range atB() {
			if at := (pair{x, y, true}); known[at] != nil {
				work, seen[at] = append(work, at), true
			}
		}
	}
	for len(work) > 0 {
		at := work[0]
		work = work[1:]
		out = append(out, causes[at]...)
		for _, from := range known[at] {
			if from.diverged && !seen[from] {
				seen[from] = true
				work = append(work, from)
			}
		}
	}
	return out
}

// shiftCauses returns the places at which the paths of two members of a team to their current barriers may have
// differed first: barriers in constructs for some threads, else branches with a barrier on one side. It returns no
// place if more than maxShiftCauses are possible.
func (c *constructs) shiftCauses(region uint64, one, other shifted) []picture.Misplaced {
	p := c.newBarrierPaths(region)
	if p.failed {
		return nil
	}
	ds := p.divergences(p.view(one.number), p.view(other.number),
		func() map[int]bool { return p.positions(one.stack, one.wait) },
		func() map[int]bool { return p.positions(other.stack, other.wait) })
	var inConstructs, atBranches []picture.Misplaced
	unknown := false
	for _, d := range ds {
		in := p.constructOf(d)
		if in != nil {
			inConstructs = addMisplaced(inConstructs, *in)
			continue
		}
		at := p.branchesOf(d)
		unknown = unknown || len(at) == 0
		for _, m := range at {
			atBranches = addMisplaced(atBranches, m)
		}
	}
	out := inConstructs
	if len(out) == 0 && !unknown {
		out = atBranches
	}
	if len(out) > maxShiftCauses {
		return nil
	}
	return out
}

// shifted is a thread that waits at a barrier.
type shifted struct {
	number int // in its team
	stack  *stacks.Stack
	wait   *picture.Wait
}

// addMisplaced adds m to list unless it contains one with the same lines.
func addMisplaced(list []picture.Misplaced, m picture.Misplaced) []picture.Misplaced {
	place := func(f *picture.Frame) string {
		if f == nil {
			return ""
		}
		return fmt.Sprint(f.Function, f.File, f.Line)
	}
	key := func(m picture.Misplaced) string {
		if m.Construct.Name == picture.ConstructBranch {
			return place(m.Construct.Frame)
		}
		return m.Construct.Name + place(m.Construct.Frame) + place(m.Construct.Call)
	}
	if slices.ContainsFunc(list, func(o picture.Misplaced) bool { return key(o) == key(m) }) {
		return list
	}
	return append(list, m)
}

// common returns the number of calls that two meetings start with.
func common(a, b meeting) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// constructOf returns the barrier of a divergence that is in a construct which may contain no barrier.
func (p *barrierPaths) constructOf(d divergence) *picture.Misplaced {
	a, b := p.meetings[d.first], p.meetings[d.second]
	from := common(a, b)
	for _, m := range []meeting{a, b} {
		for i := min(from, len(m)); i < len(m); i++ {
			mod := p.c.code.ModuleOf(m[i].entry)
			if in := p.c.constructAtSite(p.code(m[i].entry), p.site(m[i]), mod); in != nil {
				return &picture.Misplaced{Construct: *in, Frame: p.barrierFrame(m)}
			}
		}
	}
	return nil
}

func (p *barrierPaths) barrierFrame(m meeting) *picture.Frame {
	last := m[len(m)-1]
	return &p.c.siteFrames(p.site(last), p.c.code.ModuleOf(last.entry))[0]
}

// branchesOf returns the branches that decide between the barriers of a divergence.
func (p *barrierPaths) branchesOf(d divergence) []picture.Misplaced {
	last, a, b := p.meetings[d.last], p.meetings[d.first], p.meetings[d.second]
	stay := max(p.returnLevel(last, a), p.returnLevel(last, b)) // further returns come after the branch
	var out []picture.Misplaced
	for _, m := range []meeting{a, b} {
		if p.returnLevel(last, m) < stay {
			continue
		}
		for level := max(stay, common(a, b)); level < len(m); level++ {
			var from meeting
			if level == stay {
				from = last
			}
			if found := p.partingsIn(from, m, level); len(found) > 0 {
				out = append(out, found...)
				break
			}
		}
	}
	return out
}

// returnLevel returns the number of calls that are unfinished all the way from one meeting to the next.
func (p *barrierPaths) returnLevel(last, next meeting) int {
	for level := min(common(last, next), len(last)-1, len(next)-1); level >= 0; level-- {
		at, ok := p.aheadOf(last, next[level].entry, level)
		if !ok {
			continue
		}
		entry := next[level].entry
		if sites, _ := at.Reach(p.view(anyThreadNumber).paths(entry)); sites[next[level].site] {
			return level
		}
	}
	return 0
}

// aheadOf returns the code of a function after its call in meeting last, or after its entry if last has no such call.
func (p *barrierPaths) aheadOf(last meeting, entry uint64, level int) (flow.Ahead, bool) {
	if level >= len(last) {
		return flow.AheadOfEntry(p.code(entry)), true
	}
	s := p.site(last[level])
	if s.Return == 0 {
		return flow.Ahead{}, false
	}
	return flow.AheadOf(p.code(entry), flow.Point{PC: s.Return})
}

// partingsIn returns the branches that decide whether the function at a level of meeting next makes its call.
func (p *barrierPaths) partingsIn(last, next meeting, level int) []picture.Misplaced {
	entry := next[level].entry
	at, ok := p.aheadOf(last, entry, level)
	if !ok {
		return nil
	}
	var out []picture.Misplaced
	mod := p.c.code.ModuleOf(entry)
	for _, pc := range at.Partings(p.view(anyThreadNumber).paths(entry), next[level].site) {
		f := p.c.siteFrames(flow.CallSite{PC: pc}, mod)[0]
		call := p.c.siteFrames(p.site(next[level]), mod)[0]
		out = append(out, picture.Misplaced{
			Construct: picture.Construct{Name: picture.ConstructBranch, Frame: &f, Call: &call, Uncertain: true},
			Frame:     p.barrierFrame(next),
		})
	}
	return out
}
