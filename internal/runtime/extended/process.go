// Package extended adds to the address spaces of package ompd the questions that OMPD has no routine for: the layout of
// the runtime's structures, the locks and barriers that threads wait for, their loops and counters, and damage to the
// runtime's memory.
package extended

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// Process is an address space with all questions that a reader of a runtime may answer. A question that this
// runtime's reader does not answer is callbacks.Unsupported, or has an empty answer.
type Process struct {
	*ompd.Process
	rt rtl.Runtime
}

var _ rtl.Runtime = (*Process)(nil)

// Open finds every OpenMP runtime in target t and returns an address space for each, with the errors of
// readers.Open.
func Open(t callbacks.Target, o readers.Options) ([]*Process, error) {
	opened, err := readers.Open(t, o)
	var ps []*Process
	for _, rt := range opened {
		ps = append(ps, &Process{ompd.NewProcess(rt, t), rt})
	}
	return ps, err
}

// Layout returns every field and global of the runtime with its offset or address, and the sources that gave it.
func (p *Process) Layout() layout.Report { return p.rt.Layout() }

// ask asks the runtime about thread h. An error names the question and the thread, as those of ompd's routines do.
func ask[R any](p *Process, question string, h handles.Thread, f func() (R, error)) (R, error) {
	var r R
	err := p.Check(h)
	if err == nil {
		r, err = f()
	}
	if err != nil {
		err = &ompd.Error{Routine: question, Handle: h, RC: ompd.RCOf(err), Err: err}
	}
	return r, err
}
