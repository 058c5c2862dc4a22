package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// icv is an internal control variable and how it is read. Exactly one of the
// functions is set, that of the variable's scope; none for a variable that this
// runtime does not keep where it can be read.
type icv struct {
	rtl.ICV
	missing string // why it cannot be read

	space    func(*runtime) (rtl.ICVValue, error)
	thread   func(*runtime, *thread, []region) (rtl.ICVValue, error)
	parallel func(*runtime, []region) (rtl.ICVValue, error)
	task     func(*runtime, found) (rtl.ICVValue, error)
}

// icvs are the variables of OpenMP 5.2 in alphabetical order, and behind them
// those of other versions and of this runtime. Scopes are those in which this
// runtime keeps them.
var icvs = []icv{
	regionICV("active-levels-var", func(_ *runtime, gs []region) (int64, string) {
		return int64(gs[0].activeLevel()), "t_active_level"
	}),
	stringICV("affinity-format-var", "__kmp_affinity_format", func(g *globals) layout.Global { return g.AffinityFormat }),
	{ICV: rtl.ICV{Name: "bind-var", Scope: rtl.ScopeTask}, task: (*runtime).bindVar},
	globalICV("cancel-var", "__kmp_omp_cancellation", 4, rtl.BoolText, func(g *globals) layout.Global { return g.OmpCancellation }),
	globalICV("debug-var", "ompd_state", 8, rtl.EnabledText, func(g *globals) layout.Global { return g.OmpdState }),
	{ICV: rtl.ICV{Name: "def-allocator-var", Scope: rtl.ScopeThread}, thread: (*runtime).defAllocator},
	missingICV("def-sched-var", "the runtime has no variable for it: an unspecified schedule is static, fixed when the runtime was built"),
	taskICV("default-device-var", "td_icvs.default_device", nil, func(l *Layout) layout.Field { return l.Taskdata.IcvDefaultDevice }),
	missingICV("device-num-var", "kept by the offloading library (libomptarget), not by this runtime"),
	globalICV("display-affinity-var", "__kmp_display_affinity", 4, rtl.BoolText, func(g *globals) layout.Global { return g.DisplayAffinity }),
	taskICV("dyn-var", "td_icvs.dynamic", rtl.BoolText, func(l *Layout) layout.Field { return l.Taskdata.IcvDynamic }),
	taskICV("explicit-task-var", "td_flags.tasktype", rtl.BoolText, func(l *Layout) layout.Field { return l.Taskdata.FlagTasktype }),
	taskICV("final-task-var", "td_flags.final", rtl.BoolText, func(l *Layout) layout.Field { return l.Taskdata.FlagFinal }),
	regionICV("league-size-var", func(_ *runtime, gs []region) (int64, string) {
		return int64(max(1, gs[0].league)), "th_teams_size.nteams"
	}),
	regionICV("levels-var", func(_ *runtime, gs []region) (int64, string) { return int64(gs[0].level), "t_level" }),
	taskICV("max-active-levels-var", "td_icvs.max_active_levels", nil, func(l *Layout) layout.Field { return l.Taskdata.IcvMaxActiveLevels }),
	globalICV("max-task-priority-var", "__kmp_max_task_priority", 4, nil, func(g *globals) layout.Global { return g.MaxTaskPriority }),
	globalICV("nteams-var", "__kmp_nteams", 4, nil, func(g *globals) layout.Global { return g.Nteams }),
	{ICV: rtl.ICV{Name: "nthreads-var", Scope: rtl.ScopeTask}, task: (*runtime).nthreadsVar},
	missingICV("num-devices-var", "kept by the offloading library (libomptarget), not by this runtime"),
	globalICV("num-procs-var", "__kmp_avail_proc", 4, nil, func(g *globals) layout.Global { return g.AvailProc }),
	{ICV: rtl.ICV{Name: "place-assignment-var", Scope: rtl.ScopeThread}, thread: (*runtime).placeAssignment},
	{ICV: rtl.ICV{Name: "place-partition-var", Scope: rtl.ScopeThread}, thread: (*runtime).placePartition},
	{ICV: rtl.ICV{Name: "run-sched-var", Scope: rtl.ScopeTask, Text: true}, task: (*runtime).runSched},
	globalICV("stacksize-var", "__kmp_stksize", 8, nil, func(g *globals) layout.Global { return g.Stksize }),
	globalICV("target-offload-var", "__kmp_target_offload", 4, offloadText, func(g *globals) layout.Global { return g.TargetOffload }),
	regionICV("team-num-var", func(_ *runtime, gs []region) (int64, string) { return int64(gs[0].teamNum), "t_master_tid" }),
	regionICV("team-size-var", func(_ *runtime, gs []region) (int64, string) { return int64(gs[0].size()), "t_nproc" }),
	globalICV("teams-thread-limit-var", "__kmp_teams_thread_limit", 4, nil, func(g *globals) layout.Global { return g.TeamsThreadLimit }),
	{ICV: rtl.ICV{Name: "thread-limit-var", Scope: rtl.ScopeTask}, task: (*runtime).threadLimit},
	{ICV: rtl.ICV{Name: "thread-num-var", Scope: rtl.ScopeThread}, thread: (*runtime).threadNum},
	stringICV("tool-libraries-var", "__kmp_tool_libraries", func(g *globals) layout.Global { return g.ToolLibraries }),
	globalICV("tool-var", "__kmp_tool", 4, rtl.EnabledText, func(g *globals) layout.Global { return g.Tool }),
	stringICV("tool-verbose-init-var", "__kmp_tool_verbose_init", func(g *globals) layout.Global { return g.ToolVerboseInit }),
	globalICV("wait-policy-var", "__kmp_library", 4, policyText, func(g *globals) layout.Global { return g.Library }),
	missingICV("available-devices-var", "kept by the offloading library (libomptarget), not by this runtime"),
	{ICV: rtl.ICV{Name: "implicit-task-var", Scope: rtl.ScopeTask}, task: (*runtime).implicitVar},
	{ICV: rtl.ICV{Name: "kmp-blocktime-var", Scope: rtl.ScopeTask}, task: (*runtime).blocktime},
}

// ICVs lists the internal control variables.
func (rt *runtime) ICVs() []rtl.ICV {
	var list []rtl.ICV
	for _, v := range icvs {
		list = append(list, v.ICV)
	}
	return list
}

// ICV reads one variable.
func (rt *runtime) ICV(id int, s rtl.Subject) (rtl.ICVValue, error) {
	if id < 1 || id > len(icvs) {
		return rtl.ICVValue{}, fmt.Errorf("internal control variable number %d of %d: %w", id, len(icvs), callbacks.BadInput)
	}
	v := icvs[id-1]
	if s.Scope != v.Scope {
		return rtl.ICVValue{}, fmt.Errorf("%s asked for scope %v, it has scope %v: %w", v.Name, s.Scope, v.Scope, callbacks.BadInput)
	}
	value, err := v.read(rt, s)
	if err != nil {
		return rtl.ICVValue{}, fmt.Errorf("%s: %w", v.Name, err)
	}
	return value, nil
}

func (v icv) read(rt *runtime, s rtl.Subject) (rtl.ICVValue, error) {
	switch {
	case v.space != nil:
		return v.space(rt)
	case v.thread != nil:
		th, err := rt.byHandle(s.Thread)
		if err != nil {
			return rtl.ICVValue{}, err
		}
		gs, err := rt.regions(th)
		if err != nil {
			return rtl.ICVValue{}, err
		}
		return v.thread(rt, th, gs)
	case v.parallel != nil:
		gs, err := rt.find(s.Parallel)
		if err != nil {
			return rtl.ICVValue{}, err
		}
		return v.parallel(rt, gs)
	case v.task != nil:
		fd, err := rt.lookup(s.Task)
		if err != nil {
			return rtl.ICVValue{}, err
		}
		return v.task(rt, fd)
	}
	return rtl.ICVValue{}, fmt.Errorf("%s: %w", v.missing, callbacks.Unavailable)
}

func missingICV(name, why string) icv {
	return icv{ICV: rtl.ICV{Name: name, Scope: rtl.ScopeAddressSpace}, missing: why}
}

// globalICV is a variable that is one of the runtime's integers of size bytes.
// text gives it the form that people write; nil is decimal.
func globalICV(name, source string, size uint64, text func(int64) string, where func(*globals) layout.Global) icv {
	return icv{ICV: rtl.ICV{Name: name, Scope: rtl.ScopeAddressSpace}, space: func(rt *runtime) (rtl.ICVValue, error) {
		v, err := layout.ReadGlobal(rt.mem, where(&rt.l.Globals), size)
		return rtl.IntegerICV(v, text, source), err
	}}
}

// maxText bounds the strings that the runtime keeps of environment variables.
const maxText = 64 << 10

// stringICV is a variable that is one of the runtime's strings; a null pointer is
// the empty string.
func stringICV(name, source string, where func(*globals) layout.Global) icv {
	return icv{ICV: rtl.ICV{Name: name, Scope: rtl.ScopeAddressSpace, Text: true}, space: func(rt *runtime) (rtl.ICVValue, error) {
		p, err := layout.ReadGlobal(rt.mem, where(&rt.l.Globals), 8)
		v := rtl.ICVValue{Whole: true, Source: source}
		if err == nil && p != 0 {
			v.Text, err = layout.ReadString(rt.mem, callbacks.At(uint64(p)), maxText)
		}
		return v, err
	}}
}

// taskICV is a variable that is an integer field of a task.
func taskICV(name, source string, text func(int64) string, where func(*Layout) layout.Field) icv {
	return icv{ICV: rtl.ICV{Name: name, Scope: rtl.ScopeTask}, task: func(rt *runtime, fd found) (rtl.ICVValue, error) {
		v := fd.rec.Int(where(rt.l))
		return rtl.IntegerICV(v, text, source), fd.rec.Err()
	}}
}

// regionICV is a variable that follows from the region.
func regionICV(name string, get func(*runtime, []region) (int64, string)) icv {
	return icv{ICV: rtl.ICV{Name: name, Scope: rtl.ScopeParallel}, parallel: func(rt *runtime, gs []region) (rtl.ICVValue, error) {
		v, source := get(rt, gs)
		return rtl.IntegerICV(v, nil, source), nil
	}}
}
