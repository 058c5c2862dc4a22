package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// controls lists pairs of an environment variable and the internal control variable that it sets.
var controls = [][2]string{
	{"OMP_AFFINITY_FORMAT", "affinity-format-var"}, {"OMP_ALLOCATOR", "def-allocator-var"},
	{"OMP_CANCELLATION", "cancel-var"},
	{"OMP_DEBUG", "debug-var"}, {"OMP_DEFAULT_DEVICE", "default-device-var"},
	{"OMP_DISPLAY_AFFINITY", "display-affinity-var"},
	{"OMP_DYNAMIC", "dyn-var"}, {"OMP_MAX_ACTIVE_LEVELS", "max-active-levels-var"},
	{"OMP_MAX_TASK_PRIORITY", "max-task-priority-var"},
	{"OMP_NUM_TEAMS", "nteams-var"}, {"OMP_NUM_THREADS", "nthreads-var"}, {"OMP_PROC_BIND", "bind-var"},
	{"OMP_SCHEDULE", "run-sched-var"}, {"OMP_STACKSIZE", "stacksize-var"},
	{"OMP_TARGET_OFFLOAD", "target-offload-var"}, {"OMP_TEAMS_THREAD_LIMIT", "teams-thread-limit-var"},
	{"OMP_THREAD_LIMIT", "thread-limit-var"}, {"OMP_TOOL", "tool-var"}, {"OMP_TOOL_LIBRARIES", "tool-libraries-var"},
	{"OMP_TOOL_VERBOSE_INIT", "tool-verbose-init-var"}, {"OMP_WAIT_POLICY", "wait-policy-var"},
	{"KMP_BLOCKTIME", "kmp-blocktime-var"},
}

// ControlVars returns the effective control variables: those of the address space, and those of the initial task
// of the program's first thread. It omits variables that cannot be read. If none can be read, it returns an
// error with the reason.
func (se *settings) ControlVars() ([]handles.ControlVar, error) {
	subject, why := se.initialSubject()
	vars, err := icvs().ControlVars(se, subject, controls, why)
	for i := range vars {
		if vars[i].Name == "OMP_STACKSIZE" {
			vars[i].Value += "B" // there, a number without a unit is in KiB
		}
	}
	return vars, err
}

// initialSubject returns the program's first thread, its implicit region and its implicit task.
func (se *settings) initialSubject() (handles.Subject, error) {
	if len(se.threads.slots) == 0 || se.threads.slots[0].IsNull() {
		return handles.Subject{}, fmt.Errorf("the initial thread has ended: %w", callbacks.Unavailable)
	}
	s := handles.Subject{Thread: handles.Thread{Stamp: se.stamp, Info: se.threads.slots[0]}}
	gs, err := se.regions.ofHandle(s.Thread)
	if err != nil {
		return s, err
	}
	s.Parallel = se.parallelHandle(gs[len(gs)-1])
	s.Task = se.regions.implicitHandle(gs[len(gs)-1], 0)
	return s, nil
}

// ToolData implements ompd_get_tool_data. Without a tool the runtime leaves the words of tasks uninitialized, so
// they are read only if there is a tool.
func (se *settings) ToolData(s handles.Subject) (uint64, error) {
	if !se.id.Tracking && !se.hasToolData() {
		return 0, fmt.Errorf("no tool is active in the program: %w", callbacks.Unavailable)
	}
	switch s.Scope {
	case handles.ScopeThread:
		th, err := se.threads.byHandle(s.Thread)
		if err != nil {
			return 0, err
		}
		r := layout.Read(se.mem, th.addr, se.l.Thread.OmptThreadData)
		return r.Uint(se.l.Thread.OmptThreadData), r.Err()
	case handles.ScopeParallel, handles.ScopeTeams, handles.ScopeTarget:
		gs, err := se.regions.findRegions(s.Parallel)
		if err != nil {
			return 0, err
		}
		return se.parallelData(gs[0])
	case handles.ScopeTask, handles.ScopeImplicitTask:
		fd, err := se.tasks.lookup(s.Task)
		if err != nil {
			return 0, err
		}
		return se.taskData(fd)
	}
	return 0, fmt.Errorf("tool data of scope %v: %w", s.Scope, callbacks.BadInput)
}

// hasToolData reports whether a tool has set the word of at least one thread. The runtime may lack the symbol
// that shows a tool. It initializes the words to 0 and does not write them itself.
func (se *settings) hasToolData() bool {
	for _, a := range se.threads.slots {
		if a.IsNull() {
			continue
		}
		r := layout.Read(se.mem, a, se.l.Thread.OmptThreadData)
		if v := r.Uint(se.l.Thread.OmptThreadData); r.Err() == nil && v != 0 {
			return true
		}
	}
	return false
}

func (se *settings) parallelData(g region) (uint64, error) {
	if !g.innermost() {
		r, err := se.lightweight(g)
		if err != nil {
			return 0, err
		}
		return r.Uint(se.l.Lwt.OmptParallelData), r.Err()
	}
	f := se.l.Team.OmptParallelData
	r := layout.Read(se.mem, g.team.addr, f)
	return r.Uint(f), r.Err()
}

func (se *settings) taskData(fd found) (uint64, error) {
	if g := fd.regions[0]; !fd.explicit && !g.innermost() {
		r, err := se.lightweight(g)
		if err != nil {
			return 0, err
		}
		return r.Uint(se.l.Lwt.OmptTaskData), r.Err()
	}
	r := fd.rec()
	return r.Uint(se.l.Taskdata.OmptTaskData), r.Err()
}
