package libomp

import (
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp/locate"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// icv is an internal control variable with the function that reads it.
type icv = rtl.ICVReading[*settings]

// icvs returns the variables of OpenMP 5.2 in alphabetical order, followed by those of other versions and of
// this runtime. The scopes are those in which this runtime keeps the variables.
var icvs = sync.OnceValue(func() rtl.ICVTable[*settings] {
	return rtl.ICVTable[*settings]{
		regionICV("active-levels-var", func(_ *settings, gs []region) (int64, string) {
			return int64(gs[0].activeLevel()), "t_active_level"
		}),
		stringICV("affinity-format-var", "__kmp_affinity_format",
			func(rt *base) layout.Global { return rt.l.Globals.AffinityFormat }),
		taskValue("bind-var", (*settings).bindVar),
		globalICV("cancel-var", "__kmp_omp_cancellation", 4, rtl.BoolText,
			func(rt *base) layout.Global { return rt.l.Globals.OmpCancellation }),
		globalICV("debug-var", "ompd_state", 8, rtl.EnabledText,
			func(rt *base) layout.Global { return rt.l.Globals.OmpdState }),
		threadValue("def-allocator-var", (*settings).defAllocator),
		rtl.MissingICV[*settings]("def-sched-var", "the runtime has no variable for it: an unspecified schedule is "+
			"static, fixed when the runtime was built"),
		taskICV("default-device-var", "td_icvs.default_device", nil,
			func(l *locate.Layout) layout.Field { return l.Taskdata.IcvDefaultDevice }),
		rtl.MissingICV[*settings]("device-num-var", "kept by the offloading library (libomptarget), not by this "+
			"runtime"),
		globalICV("display-affinity-var", "__kmp_display_affinity", 4, rtl.BoolText,
			func(rt *base) layout.Global { return rt.vars().DisplayAffinity }),
		taskICV("dyn-var", "td_icvs.dynamic", rtl.BoolText,
			func(l *locate.Layout) layout.Field { return l.Taskdata.IcvDynamic }),
		taskICV("explicit-task-var", "td_flags.tasktype", rtl.BoolText,
			func(l *locate.Layout) layout.Field { return l.Taskdata.FlagTasktype }),
		taskICV("final-task-var", "td_flags.final", rtl.BoolText,
			func(l *locate.Layout) layout.Field { return l.Taskdata.FlagFinal }),
		regionICV("league-size-var", func(_ *settings, gs []region) (int64, string) {
			return int64(max(1, gs[0].league)), "th_teams_size.nteams"
		}),
		regionICV("levels-var", func(_ *settings, gs []region) (int64, string) {
			return int64(gs[0].level),
				"t_level"
		}),
		taskICV("max-active-levels-var", "td_icvs.max_active_levels", nil,
			func(l *locate.Layout) layout.Field { return l.Taskdata.IcvMaxActiveLevels }),
		globalICV("max-task-priority-var", "__kmp_max_task_priority", 4, nil,
			func(rt *base) layout.Global { return rt.l.Globals.MaxTaskPriority }),
		globalICV("nteams-var", "__kmp_nteams", 4, nil, func(rt *base) layout.Global { return rt.l.Globals.Nteams }),
		taskValue("nthreads-var", (*settings).nthreadsVar),
		rtl.MissingICV[*settings]("num-devices-var", "kept by the offloading library (libomptarget), not by this "+
			"runtime"),
		globalICV("num-procs-var", "__kmp_avail_proc", 4, nil,
			func(rt *base) layout.Global { return rt.l.Globals.AvailProc }),
		threadValue("place-assignment-var", (*settings).placeAssignment),
		threadValue("place-partition-var", (*settings).placePartition),
		taskValue("run-sched-var", (*settings).runSched).AsText(),
		globalICV("stacksize-var", "__kmp_stksize", 8, nil,
			func(rt *base) layout.Global { return rt.l.Globals.Stksize }),
		globalICV("target-offload-var", "__kmp_target_offload", 4, offloadText,
			func(rt *base) layout.Global { return rt.l.Globals.TargetOffload }),
		regionICV("team-num-var", func(_ *settings, gs []region) (int64, string) {
			return int64(gs[0].teamNum),
				"t_master_tid"
		}),
		regionICV("team-size-var", func(_ *settings, gs []region) (int64, string) {
			return int64(gs[0].numThreads()),
				"t_nproc"
		}),
		globalICV("teams-thread-limit-var", "__kmp_teams_thread_limit", 4, nil,
			func(rt *base) layout.Global { return rt.l.Globals.TeamsThreadLimit }),
		taskValue("thread-limit-var", (*settings).threadLimit),
		threadValue("thread-num-var", (*settings).threadNum),
		stringICV("tool-libraries-var", "__kmp_tool_libraries",
			func(rt *base) layout.Global { return rt.vars().ToolLibraries }),
		globalICV("tool-var", "__kmp_tool", 4, rtl.EnabledText, func(rt *base) layout.Global { return rt.vars().Tool }),
		stringICV("tool-verbose-init-var", "__kmp_tool_verbose_init",
			func(rt *base) layout.Global { return rt.vars().ToolVerboseInit }),
		globalICV("wait-policy-var", "__kmp_library", 4, policyText,
			func(rt *base) layout.Global { return rt.l.Globals.Library }),
		rtl.MissingICV[*settings]("available-devices-var", "kept by the offloading library (libomptarget), not by "+
			"this runtime"),
		taskValue("implicit-task-var", (*settings).implicitVar),
		taskValue("kmp-blocktime-var", (*settings).blocktime),
	}
})

// ICVs lists the internal control variables.
func (se *settings) ICVs() []handles.ICV { return icvs().ICVs() }

// ICV reads one variable.
func (se *settings) ICV(id int, s handles.Subject) (handles.ICVValue, error) {
	return icvs().Value(se, id, s)
}

// spaceValue returns a variable of the address space.
func spaceValue(name string, get func(*settings) (handles.ICVValue, error)) icv {
	return icv{ICV: handles.ICV{Name: name, Scope: handles.ScopeAddressSpace},
		Read: func(se *settings, _ handles.Subject) (handles.ICVValue, error) {
			return get(se)
		}}
}

// threadValue returns a variable of a thread, in its regions.
func threadValue(name string, get func(*settings, *thread, []region) (handles.ICVValue, error)) icv {
	return icv{ICV: handles.ICV{Name: name, Scope: handles.ScopeThread}, Read: func(se *settings,
		s handles.Subject) (handles.ICVValue,
		error) {
		th, err := se.threads.byHandle(s.Thread)
		if err != nil {
			return handles.ICVValue{}, err
		}
		gs, err := se.regions.regionsOf(th)
		if err != nil {
			return handles.ICVValue{}, err
		}
		return get(se, th, gs)
	}}
}

// parallelValue returns a variable of a region.
func parallelValue(name string, get func(*settings, []region) (handles.ICVValue, error)) icv {
	return icv{ICV: handles.ICV{Name: name, Scope: handles.ScopeParallel},
		Read: func(se *settings, s handles.Subject) (handles.ICVValue, error) {
			gs, err := se.regions.findRegions(s.Parallel)
			if err != nil {
				return handles.ICVValue{}, err
			}
			return get(se, gs)
		}}
}

// taskValue returns a variable of a task.
func taskValue(name string, get func(*settings, found) (handles.ICVValue, error)) icv {
	return icv{ICV: handles.ICV{Name: name, Scope: handles.ScopeTask}, Read: func(se *settings,
		s handles.Subject) (handles.ICVValue,
		error) {
		fd, err := se.tasks.lookup(s.Task)
		if err != nil {
			return handles.ICVValue{}, err
		}
		return get(se, fd)
	}}
}

// globalICV returns a variable that is one of the runtime's integers, of size bytes. text formats it; nil means
// decimal.
func globalICV(name, source string, size uint64, text func(int64) string, where func(*base) layout.Global) icv {
	return spaceValue(name, func(se *settings) (handles.ICVValue, error) {
		v, err := layout.ReadGlobal(se.mem, where(se.base), size)
		return rtl.IntegerICV(v, text, source), err
	})
}

// maxText bounds the strings that the runtime keeps from environment variables, in bytes.
const maxText = 64 << 10

// stringICV returns a variable that is one of the runtime's strings. A null pointer is read as the empty string.
func stringICV(name, source string, where func(*base) layout.Global) icv {
	return spaceValue(name, func(se *settings) (handles.ICVValue, error) {
		p, err := layout.ReadGlobal(se.mem, where(se.base), 8)
		v := handles.ICVValue{Whole: true, Source: source}
		if err == nil && p != 0 {
			v.Text, err = layout.ReadString(se.mem, callbacks.Addr(uint64(p)), maxText)
		}
		return v, err
	}).AsText()
}

// taskICV returns a variable that is an integer field of a task.
func taskICV(name, source string, text func(int64) string, where func(*locate.Layout) layout.Field) icv {
	return taskValue(name, func(se *settings, fd found) (handles.ICVValue, error) {
		r := fd.rec()
		v := r.Int(where(se.l))
		return rtl.IntegerICV(v, text, source), r.Err()
	})
}

// regionICV returns a variable that is derived from the region.
func regionICV(name string, get func(*settings, []region) (int64, string)) icv {
	return parallelValue(name, func(se *settings, gs []region) (handles.ICVValue, error) {
		v, source := get(se, gs)
		return rtl.IntegerICV(v, nil, source), nil
	})
}
