package accessor

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Difference is a number that a reader took from fields and that differs from the result of the
// runtime's own function.
type Difference struct {
	Call   string // "omp_get_team_size(1)"
	Result int    // the function's result
	Read   int    // the reader's number
	Source string // source of the reader's number; empty if unknown
}

// String returns both values.
func (d Difference) String() string {
	text := fmt.Sprintf("%s would return %d, read is %d", d.Call, d.Result, d.Read)
	if d.Source != "" {
		text += " (" + d.Source + ")"
	}
	return text
}

// Checked is the result of a comparison for one thread.
type Checked struct {
	Same    int // numbers on which both agree
	Differ  []Difference
	Unasked []error // functions that could not be run for this thread
}

// Check compares the reader's data of thread h, which has the given thread pointer, with the
// results of the runtime's own functions for that thread. A thread outside of regions is
// callbacks.Unavailable: its fields are stale.
func (c *Caller) Check(rt rtl.Runtime, h handles.Thread, threadPointer uint64) (Checked, error) {
	r, err := newReading(rt, h)
	if err != nil {
		return Checked{}, err
	}
	var out Checked
	for _, a := range c.Answers(threadPointer) {
		if a.Err != nil {
			out.Unasked = append(out.Unasked, a.Err)
			continue
		}
		v, source, ok := r.value(a)
		switch {
		case !ok:
		case v == a.Value:
			out.Same++
		default:
			out.Differ = append(out.Differ, Difference{Call: a.String(), Result: a.Value, Read: v, Source: source})
		}
	}
	return out, nil
}

// reading is a reader's data of one thread.
type reading struct {
	rt     rtl.Runtime
	num    int
	thread handles.Thread
	region handles.Parallel
	task   handles.Task
	noTask error
	levels map[int]handles.ParallelInfo
	level  int
	icvs   map[string]int // ICV → number
}

func newReading(rt rtl.Runtime, h handles.Thread) (*reading, error) {
	info, err := rt.Thread(h)
	if err != nil {
		return nil, err
	}
	r := &reading{rt: rt, num: info.ThreadNum, thread: h, levels: map[int]handles.ParallelInfo{},
		icvs: map[string]int{}}
	if r.region, err = rt.CurrentParallel(h); err != nil {
		return nil, err
	}
	r.task, r.noTask = rt.CurrentTask(h)
	for p, n := r.region, 0; n < maxLevels; n++ {
		info, err := rt.Parallel(p)
		if err != nil {
			break
		}
		if n == 0 {
			r.level = info.Level
		}
		r.levels[info.Level] = info
		if p, err = rt.EnclosingParallel(p); err != nil {
			break
		}
	}
	for i, v := range rt.ICVs() {
		r.icvs[v.Name] = i + 1
	}
	return r, nil
}

// value returns the reader's value for an answer; false if it is unknown.
func (r *reading) value(a Answer) (v int, source string, ok bool) {
	if a.Function.ICV != "" {
		return r.icv(a.Function.ICV)
	}
	top, ok := r.levels[r.level]
	switch a.Function.Name {
	case "omp_get_thread_num":
		return r.num, "", true
	case "omp_get_num_threads":
		return top.TeamSize, "", ok
	case "omp_get_level":
		return top.Level, "", ok
	case "omp_get_active_level":
		return top.ActiveLevel, "", ok
	case "omp_in_parallel":
		return min(top.ActiveLevel, 1), "", ok
	case "omp_get_team_size":
		at, ok := r.levels[a.Level]
		return at.TeamSize, "", ok
	case "omp_get_ancestor_thread_num":
		if a.Level == r.level {
			return r.num, "", true
		}
		inner, ok := r.levels[a.Level+1]
		return inner.PrimaryNum, "", ok && inner.PrimaryNum >= 0
	}
	return 0, "", false
}

// icv reads a control variable for the thread, its region or its task.
func (r *reading) icv(name string) (v int, source string, ok bool) {
	id := r.icvs[name]
	if id == 0 {
		return 0, "", false
	}
	s := handles.Subject{Scope: r.rt.ICVs()[id-1].Scope, Thread: r.thread, Parallel: r.region, Task: r.task}
	if r.noTask != nil && (s.Scope == handles.ScopeTask || s.Scope == handles.ScopeImplicitTask) {
		return 0, "", false
	}
	value, err := r.rt.ICV(id, s)
	return int(value.Int), value.Source, err == nil
}

// ThreadPointer returns the thread pointer of a native thread: from its registers, or on x86-64 its
// pthread_t, which is equal with the C libraries of Linux. It returns 0 if the target has neither.
func ThreadPointer(t callbacks.Target, lwp, pthread uint64) uint64 {
	if rr, ok := t.(callbacks.RegisterReader); ok && lwp != 0 {
		if regs, err := rr.Registers(callbacks.LWP(lwp)); err == nil && regs.ThreadPointer != 0 {
			return regs.ThreadPointer
		}
	}
	if arch.Of(t.Arch()).PthreadAtTP {
		return pthread
	}
	return 0
}
