package libgomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// controls are the environment variables and the internal control variable that
// each one sets.
func controls() [][2]string {
	return [][2]string{
		{"OMP_AFFINITY_FORMAT", "affinity-format-var"}, {"OMP_ALLOCATOR", "def-allocator-var"}, {"OMP_CANCELLATION", "cancel-var"},
		{"OMP_DEFAULT_DEVICE", "default-device-var"}, {"OMP_DISPLAY_AFFINITY", "display-affinity-var"}, {"OMP_DYNAMIC", "dyn-var"},
		{"OMP_MAX_ACTIVE_LEVELS", "max-active-levels-var"}, {"OMP_MAX_TASK_PRIORITY", "max-task-priority-var"},
		{"OMP_NUM_TEAMS", "nteams-var"}, {"OMP_NUM_THREADS", "nthreads-var"}, {"OMP_PROC_BIND", "bind-var"}, {"OMP_SCHEDULE", "run-sched-var"},
		{"OMP_TARGET_OFFLOAD", "target-offload-var"}, {"OMP_TEAMS_THREAD_LIMIT", "teams-thread-limit-var"},
		{"OMP_THREAD_LIMIT", "thread-limit-var"}, {"OMP_WAIT_POLICY", "wait-policy-var"},
	}
}

// ControlVars are the control variables as they are in force: those of the
// address space, and those of the initial task of the program's first thread.
// Variables that cannot be read are left out; if none can, the error says why.
func (rt *runtime) ControlVars() ([]rtl.ControlVar, error) {
	subject, why := rt.initial()
	all := icvs()
	var vars []rtl.ControlVar
	for _, c := range controls() {
		for _, v := range all {
			if v.Name != c[1] {
				continue
			}
			subject.Scope = v.Scope
			value, err := rt.initialValue(v, subject)
			if err == nil {
				vars = append(vars, rtl.ControlVar{Name: c[0], Value: value.Text, Source: value.Source})
				continue
			}
			why = errors.Join(why, fmt.Errorf("%s: %w", c[0], err))
		}
	}
	if len(vars) == 0 {
		return nil, why
	}
	return vars, nil
}

// initialValue is the value of a variable for a subject. A program whose threads
// have not used the runtime has no initial task yet, but has its variables.
func (rt *runtime) initialValue(v icv, s rtl.Subject) (rtl.ICVValue, error) {
	if v.task != nil && s.Task.IsZero() {
		return v.task(rt, found{region: &region{}})
	}
	return v.read(rt, s)
}

// initial is the first thread of the program that is a root, its implicit region
// and task.
func (rt *runtime) initial() (rtl.Subject, error) {
	for _, th := range rt.world().threads {
		if th.err != nil || th.idle != "" || !th.root() {
			continue
		}
		r := rt.world().regions[regionKey{th.addr.Offset, 0}]
		return rtl.Subject{Thread: rt.threadHandle(th), Parallel: rt.parallelHandle(r), Task: rt.implicitHandle(r, 0)}, nil
	}
	return rtl.Subject{}, fmt.Errorf("no initial thread has used the runtime: %w", callbacks.Unavailable)
}

// ToolData is ompd_get_tool_data. The runtime has no interface for tools.
func (rt *runtime) ToolData(rtl.Subject) (uint64, error) {
	return 0, fmt.Errorf("this runtime has no interface for tools, and keeps no data for them: %w", callbacks.Unsupported)
}
