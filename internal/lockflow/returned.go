package lockflow

import (
	"github.com/ompd-inspect/ompd-inspect/internal/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/symbolic"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// maxReturning bounds a function, in bytes, of which it is found out what it returns: those that
// find an element of a container, or a member, have some dozens, unoptimized.
const maxReturning = 256

// returned is what a call of a function of the program leaves behind, as far as it is known: not of
// functions that call each other in a circle.
func returned(p *Program, t symbolic.Target) flow.Result {
	if c := rtl.LoopCallOf(t.Name); c.Writes != 0 {
		return flow.Result{Writes: c.Writes}
	}
	entry := p.Entry(flow.CallSite{Target: t})
	if entry == 0 {
		return flow.Result{}
	}
	r, known := p.returns[entry]
	if known {
		return r
	}
	p.returns[entry] = flow.Result{}
	if p.classAt(entry) != User {
		return flow.Result{}
	}
	low, high, ok := p.cfg.Code.Bounds(entry)
	if !ok || low != entry || high-low > maxReturning {
		return flow.Result{}
	}
	if f := p.functionAt(entry); f != nil {
		p.returns[entry] = f.flow.Returned()
	}
	return p.returns[entry]
}
