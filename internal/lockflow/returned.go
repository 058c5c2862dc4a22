package lockflow

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// maxReturning bounds the size in bytes of a function whose results are computed. Unoptimized functions that
// find a member or an element of a container have some dozens of bytes.
const maxReturning = 256

// returns caches the results of function calls. The results of mutually recursive functions (the strongly
// connected components of the call graph of small functions) are always unknown, in any order of questions: the
// values of one function are incomplete when another needs them.
type returns struct {
	known map[uint64]flow.Result // by entry
	open  map[uint64]*following  // in incomplete components
	stack []uint64               // the same, in the order of visits
	work  []*following           // functions being solved, the innermost last
}

// following is a function being solved, as a vertex of Tarjan's algorithm.
type following struct {
	index, low int // position in the order of visits; lowest position reached
	circle     bool
}

func newReturns() returns {
	return returns{known: map[uint64]flow.Result{}, open: map[uint64]*following{}}
}

// callResult returns the result of a call of a function of the program. It is unknown for mutually recursive
// functions.
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
	f.flow.Follow()
	if _, known := r.known[entry]; !known && r.open[entry] == nil {
		r.known[entry] = flow.Result{}
		r.known[entry] = f.flow.Returned()
	}
	return r.known[entry]
}

// isSmall reports whether a function of the program starts at entry and is small enough for callResult.
func isSmall(p *Program, entry uint64) bool {
	if p.classAt(entry) != User {
		return false
	}
	low, high, ok := p.cfg.Code.Bounds(entry)
	return ok && low == entry && high-low <= maxReturning
}

// solving is called before the values of the function at entry are followed. The function that it returns is
// called afterwards. It completes the component if this function was its first. Larger functions are ignored,
// since no caller needs their results.
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

// meets reports whether the function at entry is in an incomplete component. If so, it adds the function being
// solved to that component.
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

// complete completes a component. v is its first visited function.
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
