package ompd

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// This file implements the routines of the 2013 draft of OMPD that the standard dropped: lists of everything,
// and one function for each control variable. Routines with a new name in the standard are not repeated here:
//
//	ompd_get_innermost_parallel_region, ompd_get_top_parallel_region  CurrentParallel
//	ompd_get_top_task_region                                          CurrentTask
//	ompd_get_ancestor_task_handle                                     GeneratingTask, SchedulingTask
//	ompd_get_osthread                                                 ThreadID

const (
	// maxTeam bounds the walk over a team: Linux has no more threads (PID_MAX_LIMIT).
	maxTeam = 1 << 22
	// maxErrors is the number of unreadable members that end a list: the rest is probably unreadable for the
	// same reason.
	maxErrors = 16
)

// AllThreads is ompd_get_threads (2013 draft, section 8.2.1): it returns all threads that the runtime knows, and
// the joined errors of unreadable threads.
func (p *Process) AllThreads() ([]handles.Thread, error) {
	return query(p, "ompd_get_threads", p, func(handles.Runtime, *Process) ([]handles.Thread,
		error) {
		return collect(p.Threads())
	})
}

// ThreadsInParallel is ompd_get_thread_in_parallel of 2013 (section 8.2.1): it returns all threads of the
// region's team, by thread number.
func (p *Process) ThreadsInParallel(h handles.Parallel) ([]handles.Thread, error) {
	return query(p, "ompd_get_thread_in_parallel", h, func(rt handles.Runtime, h handles.Parallel) ([]handles.Thread,
		error) {
		return collect(members(rt, h, rt.ThreadInParallel))
	})
}

// ImplicitTasks is ompd_get_implicit_task_in_parallel (2013 draft, section 8.2.3): it returns the implicit tasks
// of a region, by thread number.
func (p *Process) ImplicitTasks(h handles.Parallel) ([]handles.Task, error) {
	return query(p, "ompd_get_implicit_task_in_parallel", h, func(rt handles.Runtime,
		h handles.Parallel) ([]handles.Task,
		error) {
		return collect(members(rt, h, rt.TaskInParallel))
	})
}

// members yields the result of get for every thread number of the region.
func members[T any](rt handles.Runtime, h handles.Parallel, get func(handles.Parallel, int) (T, error)) iter.Seq2[T,
	error] {
	return func(yield func(T, error) bool) {
		info, err := rt.Parallel(h)
		if err == nil && info.TeamSize > maxTeam {
			err = fmt.Errorf("team of %d threads, more than the bound of %d: %w", info.TeamSize, maxTeam,
				callbacks.StaleHandle)
		}
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for n := range info.TeamSize {
			if !yield(get(h, n)) {
				return
			}
		}
	}
}

// collect gathers a list and, joined, the errors in it, up to maxErrors.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var list []T
	var errs []error
	for v, err := range seq {
		if err == nil {
			list = append(list, v)
		} else if errs = append(errs, err); len(errs) == maxErrors {
			break
		}
	}
	return list, errors.Join(errs...)
}

// NumProcs is ompd_get_num_procs (2013 draft, section 8.3): it returns the number of processors that the program
// could use, num-procs-var.
func (p *Process) NumProcs() (int64, error) {
	return query(p, "ompd_get_num_procs", p, func(rt handles.Runtime, _ *Process) (int64, error) {
		v, err := namedICV(rt, "num-procs-var", func(s handles.Scope) (handles.Subject, error) {
			return handles.Subject{Scope: s},
				nil
		})
		return v.Int, err
	})
}

// ThreadLimit is ompd_get_thread_limit (2013 draft, section 8.3): it returns the maximum number of threads of a
// task's contention group, thread-limit-var.
func (p *Process) ThreadLimit(h handles.Task) (int64, error) {
	return p.intOf("ompd_get_thread_limit", h, "thread-limit-var")
}

// NumThreads is ompd_get_num_threads (2013 draft, section 8.4.1): it returns the size of the region's team.
func (p *Process) NumThreads(h handles.Parallel) (int, error) {
	return ofParallel(p, "ompd_get_num_threads", h, func(i handles.ParallelInfo) int { return i.TeamSize })
}

// Level is ompd_get_level (2013 draft, section 8.4.1): it returns the nesting depth of a region, 0 for the
// implicit outermost one.
func (p *Process) Level(h handles.Parallel) (int, error) {
	return ofParallel(p, "ompd_get_level", h, func(i handles.ParallelInfo) int { return i.Level })
}

// ActiveLevel is ompd_get_active_level (2013 draft, section 8.4.1): it returns the number of regions with more
// than one thread, from this region outward.
func (p *Process) ActiveLevel(h handles.Parallel) (int, error) {
	return ofParallel(p, "ompd_get_active_level", h, func(i handles.ParallelInfo) int { return i.ActiveLevel })
}

// ParallelID is ompd_get_parallel_id (2013 draft, section 8.4.2): it returns a name of the region that is
// constant for the region's life.
func (p *Process) ParallelID(h handles.Parallel) (string, error) {
	return ofParallel(p, "ompd_get_parallel_id", h, func(handles.ParallelInfo) string { return h.String() })
}

// ParallelFunction is ompd_get_parallel_function (2013 draft, section 8.4.2): it returns the entry of the
// region's outlined function. If the runtime does not store it, the error is callbacks.Unavailable.
func (p *Process) ParallelFunction(h handles.Parallel) (callbacks.Address, error) {
	return query(p, "ompd_get_parallel_function", h, func(rt handles.Runtime, h handles.Parallel) (callbacks.Address,
		error) {
		info, err := rt.Parallel(h)
		if err == nil && info.Function.IsNull() {
			err = fmt.Errorf("the runtime keeps no function for this region: %w", callbacks.Unavailable)
		}
		return info.Function, err
	})
}

func ofParallel[R any](p *Process, routine string, h handles.Parallel, get func(handles.ParallelInfo) R) (R, error) {
	return query(p, routine, h, func(rt handles.Runtime, h handles.Parallel) (R, error) {
		info, err := rt.Parallel(h)
		return get(info), err
	})
}

// MaxThreads is ompd_get_max_threads (2013 draft, section 8.6.1): it returns the team size of the next region
// that the task starts, the first element of nthreads-var.
func (p *Process) MaxThreads(h handles.Task) (int64, error) {
	return p.intOf("ompd_get_max_threads", h, "nthreads-var")
}

// ThreadNum is ompd_get_thread_num (2013 draft, section 8.6.1): it returns the number of the thread that
// executes the task, in the team of the task's region.
func (p *Process) ThreadNum(h handles.Task) (int, error) {
	return query(p, "ompd_get_thread_num", h, threadNum)
}

func threadNum(rt handles.Runtime, h handles.Task) (int, error) {
	info, err := rt.Task(h)
	switch {
	case err != nil:
		return -1, err
	case info.ThreadNum >= 0:
		return info.ThreadNum, nil
	case info.Thread.IsZero():
		return -1, fmt.Errorf("no thread executes the task: %w", callbacks.Unavailable)
	}
	region, err := rt.TaskParallel(h)
	if err != nil {
		return -1, err
	}
	n := 0
	for t, err := range members(rt, region, rt.ThreadInParallel) {
		if err == nil && t == info.Thread {
			return n, nil
		}
		n++
	}
	return -1, fmt.Errorf("%v is not in the team of %v: %w", info.Thread, region, callbacks.Unavailable)
}

// InParallel is ompd_in_parallel (2013 draft, section 8.6.1): it reports whether the task is inside a region
// with more than one thread.
func (p *Process) InParallel(h handles.Task) (bool, error) {
	return query(p, "ompd_in_parallel", h, func(rt handles.Runtime, h handles.Task) (bool, error) {
		region, err := rt.TaskParallel(h)
		if err != nil {
			return false, err
		}
		info, err := rt.Parallel(region)
		return info.ActiveLevel > 0, err
	})
}

// InFinal is ompd_in_final (2013 draft, section 8.6.1): it reports whether the task is final.
func (p *Process) InFinal(h handles.Task) (bool, error) {
	v, err := p.intOf("ompd_in_final", h, "final-task-var")
	return v != 0, err
}

// Dynamic is ompd_get_dynamic (2013 draft, section 8.6.1): it reports whether the runtime may adjust the team
// size, dyn-var.
func (p *Process) Dynamic(h handles.Task) (bool, error) {
	v, err := p.intOf("ompd_get_dynamic", h, "dyn-var")
	return v != 0, err
}

// Nested is ompd_get_nested (2013 draft, section 8.6.1): it reports whether nested regions may be active. Since
// OpenMP 5.0 that means that max-active-levels-var is more than 1.
func (p *Process) Nested(h handles.Task) (bool, error) {
	v, err := p.intOf("ompd_get_nested", h, "max-active-levels-var")
	return v > 1, err
}

// MaxActiveLevels is ompd_get_max_active_levels (2013 draft, section 8.6.1).
func (p *Process) MaxActiveLevels(h handles.Task) (int64, error) {
	return p.intOf("ompd_get_max_active_levels", h, "max-active-levels-var")
}

// Schedule is a loop schedule (run-sched-var): the kind, such as "dynamic", and the chunk size, or 0.
type Schedule struct {
	Monotonic string // "monotonic", "nonmonotonic", or empty if unset
	Kind      string
	Chunk     int64
}

// Schedule is ompd_get_schedule (2013 draft, section 8.6.1): it returns the schedule of the task's loops with
// schedule(runtime).
func (p *Process) Schedule(h handles.Task) (Schedule, error) {
	return query(p, "ompd_get_schedule", h, func(rt handles.Runtime, h handles.Task) (Schedule, error) {
		v, err := icvOf(rt, h, "run-sched-var")
		if err != nil {
			return Schedule{}, err
		}
		return parseSchedule(v.Text)
	})
}

// parseSchedule reads [modifier:]kind[,chunk].
func parseSchedule(text string) (Schedule, error) {
	var s Schedule
	kind, chunk, hasChunk := strings.Cut(text, ",")
	if modifier, rest, ok := strings.Cut(kind, ":"); ok {
		s.Monotonic, kind = modifier, rest
	}
	s.Kind = kind
	if !hasChunk {
		return s, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(chunk), 10, 64)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: %w", text, err)
	}
	s.Chunk = n
	return s, nil
}

// ProcBind is ompd_get_proc_bind (2013 draft, section 8.6.1): it returns the binding of the threads of the
// task's next region to places, such as "spread", bind-var.
func (p *Process) ProcBind(h handles.Task) (string, error) {
	return query(p, "ompd_get_proc_bind", h, func(rt handles.Runtime, h handles.Task) (string, error) {
		v, err := icvOf(rt, h, "bind-var")
		return v.Text, err
	})
}

// DisplayControlVarsText is ompd_display_control_vars (2013 draft, section 8.10): it returns the control
// variables as lines NAME=value, each terminated by a newline.
func (p *Process) DisplayControlVarsText() (string, error) {
	return query(p, "ompd_display_control_vars", p, func(handles.Runtime, *Process) (string, error) {
		lines, err := p.DisplayControlVars()
		var text strings.Builder
		for _, l := range lines {
			text.WriteString(l + "\n")
		}
		return text.String(), err
	})
}

// intOf returns the variable name, as an integer, for a task.
func (p *Process) intOf(routine string, h handles.Task, name string) (int64, error) {
	return query(p, routine, h, func(rt handles.Runtime, h handles.Task) (int64, error) {
		v, err := icvOf(rt, h, name)
		return v.Int, err
	})
}

// icvOf reads the variable name for a task: for the task itself, or for its thread, region or address space, by
// the variable's scope.
func icvOf(rt handles.Runtime, h handles.Task, name string) (handles.ICVValue, error) {
	return namedICV(rt, name, func(scope handles.Scope) (handles.Subject, error) {
		s := handles.Subject{Scope: scope}
		var err error
		switch scope {
		case handles.ScopeThread:
			var info handles.TaskInfo
			info, err = rt.Task(h)
			if s.Thread = info.Thread; err == nil && s.Thread.IsZero() {
				err = fmt.Errorf("no thread executes the task: %w", callbacks.Unavailable)
			}
		case handles.ScopeParallel:
			s.Parallel, err = rt.TaskParallel(h)
		case handles.ScopeImplicitTask, handles.ScopeTask:
			s.Task = h
		}
		return s, err
	})
}

// namedICV reads the variable name for the subject that fits its scope.
func namedICV(rt handles.Runtime, name string, of func(handles.Scope) (handles.Subject, error)) (handles.ICVValue,
	error) {
	for i, v := range rt.ICVs() {
		if v.Name != name {
			continue
		}
		s, err := of(v.Scope)
		if err != nil {
			return handles.ICVValue{}, err
		}
		return rt.ICV(i+1, s)
	}
	return handles.ICVValue{}, fmt.Errorf("this runtime has no %s: %w", name, callbacks.Unsupported)
}
