package libomp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// controls are the environment variables and the internal control variable that
// each one sets.
var controls = [][2]string{
	{"OMP_AFFINITY_FORMAT", "affinity-format-var"}, {"OMP_ALLOCATOR", "def-allocator-var"}, {"OMP_CANCELLATION", "cancel-var"},
	{"OMP_DEBUG", "debug-var"}, {"OMP_DEFAULT_DEVICE", "default-device-var"}, {"OMP_DISPLAY_AFFINITY", "display-affinity-var"},
	{"OMP_DYNAMIC", "dyn-var"}, {"OMP_MAX_ACTIVE_LEVELS", "max-active-levels-var"}, {"OMP_MAX_TASK_PRIORITY", "max-task-priority-var"},
	{"OMP_NUM_TEAMS", "nteams-var"}, {"OMP_NUM_THREADS", "nthreads-var"}, {"OMP_PROC_BIND", "bind-var"},
	{"OMP_SCHEDULE", "run-sched-var"}, {"OMP_STACKSIZE", "stacksize-var"},
	{"OMP_TARGET_OFFLOAD", "target-offload-var"}, {"OMP_TEAMS_THREAD_LIMIT", "teams-thread-limit-var"},
	{"OMP_THREAD_LIMIT", "thread-limit-var"}, {"OMP_TOOL", "tool-var"}, {"OMP_TOOL_LIBRARIES", "tool-libraries-var"},
	{"OMP_TOOL_VERBOSE_INIT", "tool-verbose-init-var"}, {"OMP_WAIT_POLICY", "wait-policy-var"}, {"KMP_BLOCKTIME", "kmp-blocktime-var"},
}

// ControlVars are the control variables as they are in force: those of the
// address space, and those of the initial task of the program's first thread.
// Variables that cannot be read are left out; if none can, the error says why.
func (rt *runtime) ControlVars() ([]rtl.ControlVar, error) {
	subject, why := rt.initial()
	var vars []rtl.ControlVar
	for _, c := range controls {
		for _, v := range icvs {
			if v.Name != c[1] {
				continue
			}
			value, err := v.read(rt, rtl.Subject{Scope: v.Scope, Thread: subject.Thread, Parallel: subject.Parallel, Task: subject.Task})
			if err == nil {
				text := value.Text
				if c[0] == "OMP_STACKSIZE" {
					text += "B" // without a unit it means KiB there
				}
				vars = append(vars, rtl.ControlVar{Name: c[0], Value: text, Source: value.Source})
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

// initial is the first thread of the program, its implicit region and task.
func (rt *runtime) initial() (rtl.Subject, error) {
	if len(rt.slots) == 0 || rt.slots[0].IsNull() {
		return rtl.Subject{}, fmt.Errorf("the initial thread has ended: %w", callbacks.Unavailable)
	}
	s := rtl.Subject{Thread: handles.Thread{Stamp: rt.stamp, Info: rt.slots[0]}}
	gs, err := rt.regionsOf(s.Thread)
	if err != nil {
		return s, err
	}
	s.Parallel = rt.parallelHandle(gs[len(gs)-1])
	s.Task = rt.implicitHandle(gs[len(gs)-1], 0)
	return s, nil
}

// EnvBlock is the text that the runtime itself keeps for
// ompd_get_display_control_vars, line by line. It is written before the
// environment is read, and has the defaults that the runtime was built with.
func (rt *runtime) EnvBlock() ([]string, error) {
	g := &rt.l.Globals
	block, err := layout.ReadGlobal(rt.mem, g.OmpdEnvBlock, 8)
	if err != nil {
		return nil, err
	}
	if block == 0 {
		return nil, fmt.Errorf("ompd_env_block is null: %w", callbacks.Unavailable)
	}
	text, err := layout.ReadString(rt.mem, callbacks.At(uint64(block)), maxText)
	if err != nil {
		return nil, fmt.Errorf("ompd_env_block: %w", err)
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n"), nil
}

// ToolData is ompd_get_tool_data.
func (rt *runtime) ToolData(s rtl.Subject) (uint64, error) {
	if !rt.id.Tracking {
		return 0, fmt.Errorf("no tool is active in the program: %w", callbacks.Unavailable)
	}
	switch s.Scope {
	case rtl.ScopeThread:
		th, err := rt.byHandle(s.Thread)
		if err != nil {
			return 0, err
		}
		r := layout.Read(rt.mem, th.addr, rt.l.Thread.OmptThreadData)
		return r.Uint(rt.l.Thread.OmptThreadData), r.Err()
	case rtl.ScopeParallel:
		gs, err := rt.find(s.Parallel)
		if err != nil {
			return 0, err
		}
		return rt.parallelData(gs[0])
	case rtl.ScopeTask, rtl.ScopeImplicitTask:
		fd, err := rt.lookup(s.Task)
		if err != nil {
			return 0, err
		}
		return rt.taskData(fd)
	}
	return 0, fmt.Errorf("tool data of scope %v: %w", s.Scope, callbacks.BadInput)
}

func (rt *runtime) parallelData(g region) (uint64, error) {
	if !g.innermost() {
		r, err := rt.lightweight(g)
		if err != nil {
			return 0, err
		}
		return r.Uint(rt.l.Lwt.OmptParallelData), r.Err()
	}
	f := rt.l.Team.OmptParallelData
	r := layout.Read(rt.mem, g.team.addr, f)
	return r.Uint(f), r.Err()
}

func (rt *runtime) taskData(fd found) (uint64, error) {
	if g := fd.regions[0]; !fd.explicit && !g.innermost() {
		r, err := rt.lightweight(g)
		if err != nil {
			return 0, err
		}
		return r.Uint(rt.l.Lwt.OmptTaskData), r.Err()
	}
	return fd.rec.Uint(rt.l.Taskdata.OmptTaskData), fd.rec.Err()
}
