package ompd

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

var _ rtl.ProgressReader = (*Process)(nil)

// Progress gives counters that change when the thread gets on: barriers, tasks,
// loops. OMPD has no such routine; callbacks.Unsupported on a runtime whose reader
// lacks it.
func (b beyond) Progress(h handles.Thread) ([]rtl.Counter, error) {
	return query(b.p, "the thread's progress", h, func(rt rtl.Runtime, h handles.Thread) ([]rtl.Counter, error) {
		if r, ok := rt.(rtl.ProgressReader); ok {
			return r.Progress(h)
		}
		return nil, fmt.Errorf("%s: counters of threads are not read: %w", rt.Identity().Name, callbacks.Unsupported)
	})
}

var _ rtl.LossReader = (*Process)(nil)

// LostThreads tells of the threads that the runtime counts on and the process does
// not have; none on a runtime whose reader does not tell. OMPD has no such routine.
func (b beyond) LostThreads(of func(handles.Thread) *rtl.Evidence) rtl.Loss {
	if r, ok := b.p.rt.(rtl.LossReader); ok {
		return r.LostThreads(of)
	}
	return rtl.Loss{}
}

var _ rtl.LinkedReader = (*Process)(nil)

// LinkedFunctions are the functions of a runtime that were found by their code in an executable
// without symbols; none of one that has symbols. OMPD has no such routine.
func (b beyond) LinkedFunctions() []rtl.Symbol {
	if r, ok := b.p.rt.(rtl.LinkedReader); ok {
		return r.LinkedFunctions()
	}
	return nil
}

var _ rtl.DamageReader = (*Process)(nil)

// Damage says which of the runtime's own fields contradict one another; none on a runtime
// whose reader does not tell. OMPD has no such routine.
func (b beyond) Damage() []string {
	if r, ok := b.p.rt.(rtl.DamageReader); ok {
		return r.Damage()
	}
	return nil
}

var _ rtl.AbortMessageReader = (*Process)(nil)

// AbortMessage finds what the runtime said when it ended the program; empty on a
// runtime whose reader does not know. OMPD has no such routine.
func (b beyond) AbortMessage(stack []byte) string {
	if r, ok := b.p.rt.(rtl.AbortMessageReader); ok {
		return r.AbortMessage(stack)
	}
	return ""
}

var _ rtl.LoopReader = (*Process)(nil)

// Loop tells of the worksharing loop that a thread is in, by what the runtime keeps
// and by what the thread's code shows, which may be nil; callbacks.Unavailable if it
// is in none of which something is known, callbacks.Unsupported on a runtime whose
// reader lacks it. OMPD has no such routine.
func (b beyond) Loop(h handles.Thread, code *rtl.LoopCode) (rtl.LoopInfo, error) {
	return query(b.p, "the thread's loop", h, func(rt rtl.Runtime, h handles.Thread) (rtl.LoopInfo, error) {
		if r, ok := rt.(rtl.LoopReader); ok {
			return r.Loop(h, code)
		}
		return rtl.LoopInfo{}, fmt.Errorf("%s: loops are not read: %w", rt.Identity().Name, callbacks.Unsupported)
	})
}
