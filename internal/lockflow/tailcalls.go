package lockflow

import (
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
