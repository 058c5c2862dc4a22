package ompd

import (
	"fmt"
	"iter"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// The fake runtime is at one stop of one program: an initial thread a with a worker b in a region of two, an
// idle thread c, and an explicit task that b executes.
var (
	stamp = handles.Stamp{Space: 3, Epoch: 7}

	threadA = handles.Thread{Stamp: stamp, Info: callbacks.Addr(0xa0)}
	threadB = handles.Thread{Stamp: stamp, Info: callbacks.Addr(0xb0)}
	threadC = handles.Thread{Stamp: stamp, Info: callbacks.Addr(0xc0)}

	region0 = handles.Parallel{Stamp: stamp, Team: callbacks.Addr(0x1000)}
	region1 = handles.Parallel{Stamp: stamp, Team: callbacks.Addr(0x2000), Level: 1}

	initial   = handles.Task{Stamp: stamp, Data: callbacks.Addr(0x100)}
	implicitA = handles.Task{Stamp: stamp, Data: callbacks.Addr(0x200), Level: 1}
	implicitB = handles.Task{Stamp: stamp, Data: callbacks.Addr(0x300), Level: 1}
	explicit  = handles.Task{Stamp: stamp, Data: callbacks.Addr(0x400), Level: 1}
	// unreadable is in the runtime's lists, but its memory is missing.
	unreadable = handles.Thread{Stamp: stamp, Info: callbacks.Addr(0xbad0)}
)

// fakeICVs covers every scope and kind of variable.
var fakeICVs = []handles.ICV{
	{Name: "num-procs-var", Scope: handles.ScopeAddressSpace},
	{Name: "nthreads-var", Scope: handles.ScopeTask},
	{Name: "thread-limit-var", Scope: handles.ScopeTask},
	{Name: "dyn-var", Scope: handles.ScopeThread},
	{Name: "max-active-levels-var", Scope: handles.ScopeTask},
	{Name: "run-sched-var", Scope: handles.ScopeTask, Text: true},
	{Name: "bind-var", Scope: handles.ScopeTask},
	{Name: "final-task-var", Scope: handles.ScopeTask},
	{Name: "levels-var", Scope: handles.ScopeParallel},
}

var fakeValues = map[string]handles.ICVValue{
	"num-procs-var":         {Int: 2, Text: "2", Whole: true},
	"nthreads-var":          {Int: 3, Text: "3,2"},
	"thread-limit-var":      {Int: 99, Text: "99", Whole: true},
	"dyn-var":               {Int: 1, Text: "true", Whole: true},
	"max-active-levels-var": {Int: 4, Text: "4", Whole: true},
	"run-sched-var":         {Text: "monotonic:dynamic,8"},
	"bind-var":              {Int: 4, Text: "spread", Whole: true},
	"final-task-var":        {Int: 1, Text: "true", Whole: true},
	"levels-var":            {Int: 1, Text: "1", Whole: true},
}

type fakeRuntime struct {
	broken      bool // lists an unreadable thread
	tracking    bool
	untrackable bool
}

var _ handles.Runtime = (*fakeRuntime)(nil)

func (f *fakeRuntime) Identity() handles.Identity {
	return handles.Identity{Family: "fake", Name: "fake runtime", OMPVersion: 201611, Trackable: !f.untrackable,
		Tracking: f.tracking}
}
func (f *fakeRuntime) Stamp() handles.Stamp { return stamp }
func (f *fakeRuntime) Owns(pc uint64) bool  { return pc == 0x42 }

func (f *fakeRuntime) Threads() iter.Seq2[handles.Thread, error] {
	return func(yield func(handles.Thread, error) bool) {
		if f.broken && !yield(unreadable, nil) {
			return
		}
		for _, h := range []handles.Thread{threadA, threadB, threadC} {
			if !yield(h, nil) {
				return
			}
		}
	}
}

func (f *fakeRuntime) Thread(h handles.Thread) (handles.ThreadInfo, error) {
	if h == unreadable {
		return handles.ThreadInfo{}, &callbacks.FaultError{Address: h.Info, Err: callbacks.ErrNotCaptured}
	}
	return handles.ThreadInfo{Pthread: callbacks.Pthread(h.Info.Offset * 16)}, nil
}

func (f *fakeRuntime) CurrentParallel(h handles.Thread) (handles.Parallel, error) {
	if h == threadC {
		return handles.Parallel{}, fmt.Errorf("idle thread: %w", callbacks.Unavailable)
	}
	return region1, nil
}

func (f *fakeRuntime) CurrentTask(h handles.Thread) (handles.Task, error) {
	switch h {
	case threadA:
		return implicitA, nil
	case threadB:
		return explicit, nil
	}
	return handles.Task{}, fmt.Errorf("idle thread: %w", callbacks.Unavailable)
}

func (f *fakeRuntime) State(h handles.Thread, ev *handles.Evidence) (handles.ThreadState, error) {
	if ev == nil && !f.tracking {
		return handles.ThreadState{State: handles.StateUndefined}, nil
	}
	return handles.ThreadState{State: handles.StateWaitLock, WaitID: 0x77, Tracked: f.tracking}, nil
}

func (f *fakeRuntime) Parallel(h handles.Parallel) (handles.ParallelInfo, error) {
	if h == region0 {
		return handles.ParallelInfo{TeamSize: 1}, nil
	}
	return handles.ParallelInfo{Level: 1, ActiveLevel: 1, TeamSize: 2, Function: callbacks.Addr(0x401000)}, nil
}

func (f *fakeRuntime) EnclosingParallel(h handles.Parallel) (handles.Parallel, error) {
	if h == region0 {
		return handles.Parallel{}, fmt.Errorf("level 0: %w", callbacks.Unavailable)
	}
	return region0, nil
}

func (f *fakeRuntime) ThreadInParallel(h handles.Parallel, n int) (handles.Thread, error) {
	return member(h, n, threadA, threadA, threadB)
}

func (f *fakeRuntime) TaskInParallel(h handles.Parallel, n int) (handles.Task, error) {
	return member(h, n, initial, implicitA, implicitB)
}

// member returns member n of the region; the first element of all is region 0's.
func member[H any](h handles.Parallel, n int, all ...H) (H, error) {
	in := all[1:]
	if h == region0 {
		in = all[:1]
	}
	if n < 0 || n >= len(in) {
		var none H
		return none, fmt.Errorf("thread number %d of %d: %w", n, len(in), callbacks.BadInput)
	}
	return in[n], nil
}

func (f *fakeRuntime) ExplicitTasks(handles.Parallel) iter.Seq2[handles.Task, error] {
	return func(yield func(handles.Task, error) bool) { yield(explicit, nil) }
}

func (f *fakeRuntime) Task(h handles.Task) (handles.TaskInfo, error) {
	switch h {
	case initial:
		return handles.TaskInfo{Kind: picture.TaskInitial, ThreadNum: 0}, nil
	case explicit:
		return handles.TaskInfo{Kind: picture.TaskExplicit, Function: callbacks.Addr(0x402000), Thread: threadB,
			ThreadNum: -1,
			Frame:     handles.TaskFrame{Exit: callbacks.Addr(0x7f00)}}, nil
	}
	return handles.TaskInfo{Kind: picture.TaskImplicit, Function: callbacks.Addr(0x401000), ThreadNum: 1}, nil
}

func (f *fakeRuntime) GeneratingTask(h handles.Task) (handles.Task, error) {
	if h == initial {
		return handles.Task{}, fmt.Errorf("initial task: %w", callbacks.Unavailable)
	}
	return initial, nil
}

func (f *fakeRuntime) SchedulingTask(handles.Task) (handles.Task, error) { return implicitB, nil }

func (f *fakeRuntime) TaskParallel(h handles.Task) (handles.Parallel, error) {
	if h == initial {
		return region0, nil
	}
	return region1, nil
}

func (f *fakeRuntime) WaitsFor(handles.Task) ([]handles.Task, error) {
	return []handles.Task{implicitB}, nil
}
func (f *fakeRuntime) ICVs() []handles.ICV { return fakeICVs }

func (f *fakeRuntime) ICV(id int, s handles.Subject) (handles.ICVValue, error) {
	if v := fakeICVs[id-1]; v.Scope != s.Scope {
		return handles.ICVValue{}, fmt.Errorf("asked for %s with scope %v", v.Name, s.Scope)
	}
	return fakeValues[fakeICVs[id-1].Name], nil
}

func (f *fakeRuntime) ControlVars() ([]handles.ControlVar, error) {
	return []handles.ControlVar{{Name: "OMP_NUM_THREADS", Value: "3,2"}, {Name: "OMP_DYNAMIC", Value: "true"}}, nil
}

func (f *fakeRuntime) ToolData(s handles.Subject) (uint64, error) { return 0x1234, nil }

// fakeTarget has threads a, b, c and one that is not an OpenMP thread.
type fakeTarget struct {
	callbacks.Target // nil: its memory and symbols are never used
	noPthreads       bool
}

func (f fakeTarget) ThreadIDs(kind callbacks.IDKind) ([]callbacks.ThreadID, error) {
	var ids []callbacks.ThreadID
	for i, info := range []uint64{0xa0, 0xb0, 0xc0, 0xd0} {
		if kind == callbacks.ThreadIDLWP {
			ids = append(ids, callbacks.LWP(uint64(101+i)))
		} else {
			ids = append(ids, callbacks.Pthread(info*16))
		}
	}
	if kind == callbacks.ThreadIDPthread && f.noPthreads {
		return nil, callbacks.ErrUnsupportedKind
	}
	return ids, nil
}

func fake() *Process { return NewProcess(&fakeRuntime{}, fakeTarget{}) }

// wantRC fails the test unless err has return code rc.
func wantRC(t *testing.T, err error, rc callbacks.RC) {
	t.Helper()
	if got := RCOf(err); got != rc {
		t.Errorf("%v: return code %v, want %v", err, got, rc)
	}
}

// want fails the test unless got is w and there is no error.
func want[T comparable](t *testing.T, got T, err error, w T) {
	t.Helper()
	if err != nil || got != w {
		t.Errorf("got %v, %v; want %v", got, err, w)
	}
}
