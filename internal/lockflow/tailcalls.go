package lockflow

import (
	"encoding/binary"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// maxTailCalls bounds the tail calls followed from one call.
const maxTailCalls = 8

// TailCall is a tail call of a function outside the program. Its caller has no frame any more; the frame is that
// of the caller's caller.
type TailCall struct {
	Name string // of the called function
	args []*symbolic.Expr
	call flow.CallSite
	at   flow.Point
	f    *flow.Function
}

// Arg returns integer argument n of the call, if the frame shows it.
func (c TailCall) Arg(n int) (uint64, bool) {
	if n >= len(c.args) || c.args[n] == nil {
		return 0, false
	}
	v, _, ok := c.f.Value(c.call, c.args[n], c.at)
	return v, ok
}

// TailCall follows the call in frame i, of a function of the program or through a pointer, to the function
// outside the program that it ends in. It fails if a function on the way has more than one tail call.
func (p *Program) TailCall(t *Thread, i int) (TailCall, bool) {
	f := p.functionAt(t.Frames[i].lookup())
	if f == nil {
		return TailCall{}, false
	}
	at := p.PointOf(t, i)
	call, ok := f.flow.SiteAt(at)
	if !ok {
		return TailCall{}, false
	}
	out := TailCall{args: call.Args, call: call, at: at, f: f.flow}
	s := p.sitesOf(f)[call.Index]
	if s.kind == calleeUnknown && s.To != nil {
		if s, ok = p.pointsTo(f, call, at); !ok {
			return TailCall{}, false
		}
	}
	for range maxTailCalls {
		if s.kind != calleeFollowed {
			out.Name = s.Name
			return out, s.Name != ""
		}
		next, ok := p.onlyTailCall(s.entry)
		if !ok {
			break
		}
		s, out.args = next, passedArguments(next.Args, out.args)
	}
	return TailCall{}, false
}

// onlyTailCall returns the tail call of the function at entry if it has exactly one.
func (p *Program) onlyTailCall(entry uint64) (site, bool) {
	g := p.functionAt(entry)
	if g == nil || g.flow.Indirect {
		return site{}, false
	}
	var out []site
	for _, s := range p.sitesOf(g) {
		if s.Return == 0 {
			out = append(out, s)
		}
	}
	if len(out) != 1 {
		return site{}, false
	}
	return out[0], true
}

// passedArguments rewrites the arguments of a call in terms of the arguments of its function; nil for arguments
// that depend on other values.
func passedArguments(args, given []*symbolic.Expr) []*symbolic.Expr {
	known := func(e *symbolic.Expr) bool {
		for _, l := range e.Leaves() {
			if l.Kind == symbolic.KindArg && (l.Val >= uint64(len(given)) || given[l.Val] == nil) {
				return false
			}
		}
		return e.OfArgs()
	}
	out := make([]*symbolic.Expr, len(args))
	for n, e := range args {
		if e != nil && known(e) {
			out[n] = e.WithArgs(given)
		}
	}
	return out
}

// RemovedFrame is a function without a frame, since its last call was a tail call.
type RemovedFrame struct {
	Entry uint64
	After uint64 // address after the jump; 0 if the function may have ended in one of several
	// Jumps are the addresses after each of several jumps.
	Jumps []uint64
	// callee is the entry of the function that the jump leads to, in one chain.
	callee uint64
}

func (r RemovedFrame) isUnknown() bool { return r.Entry == 0 }

// RemovedFrames returns the functions between a call of the function at entry and a frame of the function around
// callee, outermost first: each ended in a tail call of the next. It contains only functions of the program. If there
// are several chains, it contains the functions on which all agree, at the start and at the end. leads reports whether
// a chain of tail calls is known to its end; without one, the call may not lead to callee.
func (p *Program) RemovedFrames(entry, callee uint64) (frames []RemovedFrame, leads bool) {
	out := p.removedFrames(entry, callee)
	return out.frames, out.leads
}

// TailWays returns the ways by which tail calls may have led from the function at entry, through functions of the
// program only, to a frame of the function around callee. complete is false if there may be others.
func (p *Program) TailWays(entry, callee uint64) (ways []TailWay, complete bool) {
	out := p.removedFrames(entry, callee)
	return out.ways, out.complete
}

// TailWay is a chain of functions of the program, outermost first, that ended in tail calls.
type TailWay struct {
	Frames []RemovedFrame
	Name   string // of the function outside the program that the last of them called; "" if unknown
}

// isSame reports whether two ways have the same jumps.
func (w *TailWay) isSame(other *TailWay) bool {
	return w.Name == other.Name && slices.EqualFunc(w.Frames, other.Frames, func(a, b RemovedFrame) bool {
		return a.Entry == b.Entry && a.After == b.After
	})
}

// maxTailWays bounds the ways that are told apart.
const maxTailWays = 32

// removedFrames finds the chains of tail calls between two functions once.
func (p *Program) removedFrames(entry, callee uint64) (out removedFrames) {
	low, ok := p.entryOf(callee)
	if around, known := p.entryOf(entry); !ok || known && around == low {
		return removedFrames{}
	}
	key := [2]uint64{entry, low}
	out, known := p.removed[key]
	if !known {
		s := chainSearch{p: p, low: low, visits: maxChainFunctions}
		s.follow(entry, nil)
		out.frames = commonFrames(s.chains)
		out.leads = slices.ContainsFunc(s.chains, func(chain []RemovedFrame) bool {
			return len(chain) > 0 && !slices.ContainsFunc(chain, RemovedFrame.isUnknown)
		})
		out.ways, out.complete = p.tailWays(s.chains)
		p.removed[key] = out
	}
	return out
}

// removedFrames contains the results of RemovedFrames and TailWays.
type removedFrames struct {
	frames   []RemovedFrame
	leads    bool
	ways     []TailWay
	complete bool
}

// tailWays returns the different chains that are known.
func (p *Program) tailWays(chains [][]RemovedFrame) (ways []TailWay, complete bool) {
	complete = len(chains) > 0
	for _, chain := range chains {
		if len(chain) == 0 || slices.ContainsFunc(chain, RemovedFrame.isUnknown) || len(ways) == maxTailWays {
			complete = false
			continue
		}
		to, _ := p.cfg.Code.Resolve(chain[len(chain)-1].callee)
		w := TailWay{chain, to.Name}
		if !slices.ContainsFunc(ways, func(known TailWay) bool { return known.isSame(&w) }) {
			ways = append(ways, w)
		}
	}
	return ways, complete
}

// Bounds of the search for chains of tail calls: the visited functions, and the chains.
const (
	maxChainFunctions = 64
	maxChains         = 1024
)

// chainSearch finds the chains of tail calls that lead to a function.
type chainSearch struct {
	p      *Program
	low    uint64 // the entry of that function
	visits int    // remaining number of functions to visit
	chains [][]RemovedFrame
}

// unknownFrames stands for the rest of a chain that cannot be followed.
var unknownFrames = RemovedFrame{}

// follow adds the chains that start with path and the function at entry.
func (s *chainSearch) follow(entry uint64, path []RemovedFrame) {
	s.visits--
	if s.visits < 0 || len(path) >= maxTailCalls {
		s.add(path, unknownFrames)
		return
	}
	f := s.p.functionAt(entry)
	here := RemovedFrame{Entry: entry}
	if f == nil {
		s.add(path, here, unknownFrames)
		return
	}
	jumps, complete := f.flow.JumpsOut()
	if !complete {
		s.add(path, here, unknownFrames)
	}
	for _, j := range jumps {
		to := s.p.jumpTarget(j.Target)
		low, ok := s.p.entryOf(to)
		here.After, here.callee = j.After, to
		switch {
		case to != j.Target.Entry && arch.StartsBinding(s.p.cfg.Arch, s.p.cfg.Mem, to): // it was never taken
		case !ok || low != to && low != entry:
			s.add(path, here, unknownFrames)
		case low == s.low:
			s.add(path, here)
		case low == entry: // inside of the function
		case slices.ContainsFunc(path, func(r RemovedFrame) bool { return r.Entry == low }): // rounds do not count
		case s.p.cfg.Code.Class(to) == User && !s.p.isNamed(to):
			s.add(path, here, unknownFrames)
		default:
			s.follow(to, append(slices.Clip(path), here))
		}
	}
}

// add adds a chain. If there are too many, they do not agree.
func (s *chainSearch) add(path []RemovedFrame, rest ...RemovedFrame) {
	switch {
	case len(s.chains) > maxChains:
		return
	case len(s.chains) == maxChains:
		path, rest = nil, []RemovedFrame{unknownFrames}
	}
	chain := slices.DeleteFunc(slices.Concat(path, rest), func(r RemovedFrame) bool {
		return !r.isUnknown() && s.p.cfg.Code.Class(r.Entry) != User
	})
	s.chains = append(s.chains, chain)
}

// commonFrames returns the frames on which all chains agree, at the start and at the end.
func commonFrames(chains [][]RemovedFrame) []RemovedFrame {
	if len(chains) == 0 {
		return nil
	}
	shortest := slices.MinFunc(chains, func(a, b []RemovedFrame) int { return len(a) - len(b) })
	agree := func(at func(chain []RemovedFrame) RemovedFrame) (RemovedFrame, bool) {
		first := at(chains[0])
		for _, c := range chains {
			r := at(c)
			if r.Entry != first.Entry || r.isUnknown() {
				return RemovedFrame{}, false
			}
			if r.After != first.After && len(first.Jumps) < maxChains {
				first.Jumps = append(first.Jumps, r.After)
			}
		}
		if len(first.Jumps) > 0 {
			first.Jumps, first.After = append(first.Jumps, first.After), 0
			slices.Sort(first.Jumps)
			first.Jumps = slices.Compact(first.Jumps)
		}
		return first, true
	}
	var out, end []RemovedFrame
	for len(out) < len(shortest) {
		r, ok := agree(func(c []RemovedFrame) RemovedFrame { return c[len(out)] })
		if !ok {
			break
		}
		out = append(out, r)
	}
	for len(out)+len(end) < len(shortest) {
		r, ok := agree(func(c []RemovedFrame) RemovedFrame { return c[len(c)-1-len(end)] })
		if !ok {
			break
		}
		end = append(end, r)
	}
	slices.Reverse(end)
	return append(out, end...)
}

// jumpTarget returns the address to which a jump leads, also through the procedure linkage table; 0 if unknown.
func (p *Program) jumpTarget(t symbolic.Target) uint64 {
	slot := t.Slot
	if slot == 0 {
		stub, ok := arch.PLTSlot(p.cfg.Arch, p.cfg.Mem, t.Entry)
		if t.Name != "" || !ok {
			return t.Entry
		}
		slot = stub
	}
	to, _ := p.AddressIn(slot)
	return to
}

// AddressIn reads the pointer at an address.
func (p *Program) AddressIn(slot uint64) (uint64, bool) {
	var b [8]byte
	err := p.cfg.Mem.ReadMemory(callbacks.Addr(slot), b[:])
	return binary.LittleEndian.Uint64(b[:]), err == nil
}

// isNamed reports whether a symbol names the function at entry. Without one it may be a part of another function.
func (p *Program) isNamed(entry uint64) bool {
	_, ok := p.cfg.Code.Resolve(entry)
	return ok
}
