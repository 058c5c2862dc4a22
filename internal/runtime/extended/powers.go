package extended

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

var (
	_ rtl.ProgressReader     = (*Process)(nil)
	_ rtl.LossReader         = (*Process)(nil)
	_ rtl.TakenTaskReader    = (*Process)(nil)
	_ rtl.LinkedReader       = (*Process)(nil)
	_ rtl.DamageReader       = (*Process)(nil)
	_ rtl.AbortMessageReader = (*Process)(nil)
	_ rtl.LoopReader         = (*Process)(nil)
)

// Progress returns counters that change when the thread makes progress: barriers, tasks, loops.
func (p *Process) Progress(h handles.Thread) ([]rtl.Counter, error) {
	return ask(p, "the thread's progress", h, func() ([]rtl.Counter, error) {
		if r, ok := p.rt.(rtl.ProgressReader); ok {
			return r.Progress(h)
		}
		return nil, fmt.Errorf("%s: counters of threads are not read: %w", p.rt.Identity().Name, callbacks.Unsupported)
	})
}

// LostThreads finds threads that the runtime counts on but that the process lacks. evidence returns the evidence
// of a thread.
func (p *Process) LostThreads(evidence func(handles.Thread) *handles.Evidence) rtl.Loss {
	if r, ok := p.rt.(rtl.LossReader); ok {
		return r.LostThreads(evidence)
	}
	return rtl.Loss{}
}

// TakenTasks returns the tasks of a region that threads are just taking from a list, or putting into one. evidence
// returns the evidence of a thread.
func (p *Process) TakenTasks(
	region handles.Parallel, evidence func(handles.Thread) *handles.Evidence,
) []handles.Task {
	if r, ok := p.rt.(rtl.TakenTaskReader); ok {
		return r.TakenTasks(region, evidence)
	}
	return nil
}

// LinkedFunctions returns the functions of the runtime that were found by their code in an executable without symbols.
func (p *Process) LinkedFunctions() []rtl.Symbol {
	if r, ok := p.rt.(rtl.LinkedReader); ok {
		return r.LinkedFunctions()
	}
	return nil
}

// Damage describes the runtime's own fields that contradict one another.
func (p *Process) Damage() []string {
	if r, ok := p.rt.(rtl.DamageReader); ok {
		return r.Damage()
	}
	return nil
}

// AbortMessage finds the message with which the runtime ended the program; or "".
func (p *Process) AbortMessage(stack []byte) string {
	if r, ok := p.rt.(rtl.AbortMessageReader); ok {
		return r.AbortMessage(stack)
	}
	return ""
}

// Loop describes the worksharing loop that a thread is in, by the runtime's fields and by the thread's code,
// which may be nil. It returns callbacks.Unavailable if the thread is in no loop, or its loop is unknown.
func (p *Process) Loop(h handles.Thread, code *rtl.LoopCode) (rtl.LoopInfo, error) {
	return ask(p, "the thread's loop", h, func() (rtl.LoopInfo, error) {
		if r, ok := p.rt.(rtl.LoopReader); ok {
			return r.Loop(h, code)
		}
		return rtl.LoopInfo{}, fmt.Errorf("%s: loops are not read: %w", p.rt.Identity().Name, callbacks.Unsupported)
	})
}
