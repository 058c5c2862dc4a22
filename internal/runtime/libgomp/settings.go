package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// controls returns pairs of an environment variable and the internal control variable that it sets.
func controls() [][2]string {
	return [][2]string{
		{"OMP_AFFINITY_FORMAT", "affinity-format-var"}, {"OMP_ALLOCATOR", "def-allocator-var"},
		{"OMP_CANCELLATION", "cancel-var"},
		{"OMP_DEFAULT_DEVICE", "default-device-var"}, {"OMP_DISPLAY_AFFINITY", "display-affinity-var"},
		{"OMP_DYNAMIC", "dyn-var"},
		{"OMP_MAX_ACTIVE_LEVELS", "max-active-levels-var"}, {"OMP_MAX_TASK_PRIORITY", "max-task-priority-var"},
		{"OMP_NUM_TEAMS", "nteams-var"}, {"OMP_NUM_THREADS", "nthreads-var"}, {"OMP_PROC_BIND", "bind-var"},
		{"OMP_SCHEDULE", "run-sched-var"},
		{"OMP_TARGET_OFFLOAD", "target-offload-var"}, {"OMP_TEAMS_THREAD_LIMIT", "teams-thread-limit-var"},
		{"OMP_THREAD_LIMIT", "thread-limit-var"}, {"OMP_WAIT_POLICY", "wait-policy-var"},
	}
}

// ControlVars returns the effective control variables: those of the address space, and those of the initial task
// of the program's first thread. It omits variables that cannot be read. If none can be read, it returns an
// error with the reason.
func (st *settings) ControlVars() ([]handles.ControlVar, error) {
	subject, why := st.initialSubject()
	return icvs().ControlVars(st, subject, controls(), why)
}

// initialSubject returns the program's first root thread, with its implicit region and task.
func (st *settings) initialSubject() (handles.Subject, error) {
	for _, th := range st.threads.world().threads {
		if th.err != nil || th.idle != "" || !th.root() {
			continue
		}
		r := st.threads.world().regions[regionKey{th.addr.Offset, 0}]
		return handles.Subject{Thread: st.threadHandle(th), Parallel: st.parallelHandle(r),
			Task: st.threads.implicitHandle(r, 0)}, nil
	}
	return handles.Subject{}, fmt.Errorf("no initial thread has used the runtime: %w", callbacks.Unavailable)
}

// ToolData implements ompd_get_tool_data. The runtime has no interface for tools.
func (st *settings) ToolData(handles.Subject) (uint64, error) {
	return 0, fmt.Errorf("this runtime has no interface for tools, and keeps no data for them: %w",
		callbacks.Unsupported)
}
