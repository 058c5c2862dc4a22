package lockflow

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// maxReturning bounds a function, in bytes, of which it is found out what it returns: those that
// find an element of a container, or a member, have some dozens, unoptimized.
const maxReturning = 256

// returns keeps what calls of functions leave behind. Functions that call each other in a circle, the
// strongly connected components of the call graph as far as it is small, leave nothing behind that is
// known, whichever of them is asked for first: the values of one are not followed yet when another needs
// them.
type returns struct {
	known map[uint64]flow.Result // by entry
	open  map[uint64]*following  // of components that are not complete
	stack []uint64               // those, in the order in which they were met
	work  []*following           // those whose values are being followed, the innermost last
}

// following is a function whose values are followed, in Tarjan's algorithm.
type following struct {
	index, low int // in the order of meeting; the least index that is reached
	circle     bool
}

func newReturns() returns {
	return returns{known: map[uint64]flow.Result{}, open: map[uint64]*following{}}
}

// callResult is what a call of a function of the program leaves behind, as far as it is known: not of
// functions that call each other in a circle.
func callResult(p *Program, t symbolic.Target) flow.Result {
	if c := rtl.LoopCallOf(t.Name); c.Writes != 0 {
		return flow.Result{Writes: c.Writes}
	}
	entry := p.Entry(flow.CallSite{Target: t})
	if entry == 0 {
		return flow.Result{}
	}
	r := &p.returns
	if v, known := r.known[entry]; known {
		return v
	}
	if !isSmall(p, entry) || r.meets(entry) {
		return flow.Result{}
	}
	f := p.functionAt(entry)
	if f == nil {
		return flow.Result{}
	}
	f.flow.Sites()
	if _, known := r.known[entry]; !known && r.open[entry] == nil {
		r.known[entry] = flow.Result{}
		r.known[entry] = f.flow.Returned()
	}
	return r.known[entry]
}

// isSmall reports whether a function of the program begins at entry of which it is found out what it
// returns.
func isSmall(p *Program, entry uint64) bool {
	if p.classAt(entry) != User {
		return false
	}
	low, high, ok := p.cfg.Code.Bounds(entry)
	return ok && low == entry && high-low <= maxReturning
}

// solving begins with the values of the function at entry. What it returns ends with them: the function
// that was met first of a component completes it. Of a function that is not small no other needs them.
func solving(p *Program, entry uint64) (solved func()) {
	if !isSmall(p, entry) {
		return func() {}
	}
	r := &p.returns
	v := &following{index: len(r.stack), low: len(r.stack)}
	r.open[entry], r.stack, r.work = v, append(r.stack, entry), append(r.work, v)
	return func() {
		r.work = r.work[:len(r.work)-1]
		if len(r.work) > 0 {
			caller := r.work[len(r.work)-1]
			caller.low = min(caller.low, v.low)
		}
		if v.low == v.index {
			r.complete(v)
		}
	}
}

// meets reports whether the function at entry is of a component that is not complete: then the function
// whose values are followed now is, too.
func (r *returns) meets(entry uint64) bool {
	v := r.open[entry]
	if v == nil {
		return false
	}
	if len(r.work) > 0 {
		now := r.work[len(r.work)-1]
		now.low = min(now.low, v.index)
		now.circle = now.circle || now == v
	}
	return true
}

// complete ends with the functions of a component, of which v was met first.
func (r *returns) complete(v *following) {
	component := r.stack[v.index:]
	for _, entry := range component {
		if len(component) > 1 || v.circle {
			r.known[entry] = flow.Result{}
		}
		delete(r.open, entry)
	}
	r.stack = r.stack[:v.index]
}
