package libgomp

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
	thread   func(*runtime, *thread) (rtl.ICVValue, error)
	parallel func(*runtime, *region) (rtl.ICVValue, error)
	task     func(*runtime, found) (rtl.ICVValue, error)
}

// icvs lists the variables of OpenMP 5.2 in alphabetical order, and behind them
// those of other versions. Scopes are those in which this runtime keeps them.
func icvs() []icv {
	return []icv{
		regionICV("active-levels-var", "ts.active_level", func(_ *runtime, r *region) int64 { return int64(r.active) }),
		{ICV: rtl.ICV{Name: "affinity-format-var", Scope: rtl.ScopeAddressSpace, Text: true}, space: (*runtime).affinityFormat},
		{ICV: rtl.ICV{Name: "bind-var", Scope: rtl.ScopeTask}, task: (*runtime).bindVar},
		globalICV("cancel-var", "gomp_cancel_var", 1, rtl.BoolText, func(g *globals) layout.Global { return g.Cancel }),
		globalICV("debug-var", "gomp_debug_var", 1, rtl.EnabledText, func(g *globals) layout.Global { return g.Debug }),
		{ICV: rtl.ICV{Name: "def-allocator-var", Scope: rtl.ScopeThread}, thread: (*runtime).defAllocator},
		missingICV("def-sched-var", "the runtime has no variable for it: an unspecified schedule is static, fixed by the compiler"),
		taskICV("default-device-var", "icv.default_device_var", nil, func(l *Layout) layout.Field { return l.Task.DefaultDevice }),
		missingICV("device-num-var", "the host's number is the number of devices, which offloading plugins know"),
		globalICV("display-affinity-var", "gomp_display_affinity_var", 1, rtl.BoolText, func(g *globals) layout.Global { return g.DisplayAffinity }),
		taskICV("dyn-var", "icv.dyn_var", rtl.BoolText, func(l *Layout) layout.Field { return l.Task.Dyn }),
		{ICV: rtl.ICV{Name: "explicit-task-var", Scope: rtl.ScopeTask}, task: (*runtime).explicitVar},
		{ICV: rtl.ICV{Name: "final-task-var", Scope: rtl.ScopeTask}, task: (*runtime).finalVar},
		regionICV("league-size-var", "num_teams", func(rt *runtime, r *region) int64 { return int64(max(1, rt.league(r))) }),
		regionICV("levels-var", "ts.level", func(_ *runtime, r *region) int64 { return int64(r.level()) }),
		{ICV: rtl.ICV{Name: "max-active-levels-var", Scope: rtl.ScopeTask}, task: (*runtime).maxActiveLevels},
		globalICV("max-task-priority-var", "gomp_max_task_priority_var", 4, nil, func(g *globals) layout.Global { return g.MaxTaskPriority }),
		globalICV("nteams-var", "gomp_num_teams_var", 4, nil, func(g *globals) layout.Global { return g.NumTeams }),
		{ICV: rtl.ICV{Name: "nthreads-var", Scope: rtl.ScopeTask}, task: (*runtime).nthreadsVar},
		missingICV("num-devices-var", "offloading plugins know it"),
		globalICV("num-procs-var", "gomp_available_cpus", 4, nil, func(g *globals) layout.Global { return g.AvailableCPUs }),
		{ICV: rtl.ICV{Name: "place-assignment-var", Scope: rtl.ScopeThread}, thread: (*runtime).placeAssignment},
		{ICV: rtl.ICV{Name: "place-partition-var", Scope: rtl.ScopeThread}, thread: (*runtime).placePartition},
		{ICV: rtl.ICV{Name: "run-sched-var", Scope: rtl.ScopeTask, Text: true}, task: (*runtime).runSched},
		missingICV("stacksize-var", "the runtime keeps it only in the attributes for new threads"),
		globalICV("target-offload-var", "gomp_target_offload_var", 4, offloadText, func(g *globals) layout.Global { return g.TargetOffload }),
		{ICV: rtl.ICV{Name: "team-num-var", Scope: rtl.ScopeParallel}, parallel: (*runtime).teamNum},
		regionICV("team-size-var", "nthreads", func(_ *runtime, r *region) int64 { return int64(r.size()) }),
		globalICV("teams-thread-limit-var", "gomp_teams_thread_limit_var", 4, nil, func(g *globals) layout.Global { return g.TeamsThreadLimit }),
		{ICV: rtl.ICV{Name: "thread-limit-var", Scope: rtl.ScopeTask}, task: (*runtime).threadLimit},
		{ICV: rtl.ICV{Name: "thread-num-var", Scope: rtl.ScopeThread}, thread: (*runtime).threadNum},
		missingICV("tool-libraries-var", "the runtime has no interface for tools"),
		missingICV("tool-var", "the runtime has no interface for tools"),
		missingICV("tool-verbose-init-var", "the runtime has no interface for tools"),
		{ICV: rtl.ICV{Name: "wait-policy-var", Scope: rtl.ScopeAddressSpace}, space: (*runtime).waitPolicy},
		missingICV("available-devices-var", "offloading plugins know it"),
		{ICV: rtl.ICV{Name: "implicit-task-var", Scope: rtl.ScopeTask}, task: (*runtime).implicitVar},
		{ICV: rtl.ICV{Name: "nest-var", Scope: rtl.ScopeTask}, task: (*runtime).nestVar},
	}
}

// ICVs lists the internal control variables.
func (rt *runtime) ICVs() []rtl.ICV {
	var list []rtl.ICV
	for _, v := range icvs() {
		list = append(list, v.ICV)
	}
	return list
}

// ICV reads one variable.
func (rt *runtime) ICV(id int, s rtl.Subject) (rtl.ICVValue, error) {
	all := icvs()
	if id < 1 || id > len(all) {
		return rtl.ICVValue{}, fmt.Errorf("internal control variable number %d of %d: %w", id, len(all), callbacks.BadInput)
	}
	v := all[id-1]
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
		_, th, err := rt.regionOf(s.Thread)
		if err != nil {
			return rtl.ICVValue{}, err
		}
		return v.thread(rt, th)
	case v.parallel != nil:
		r, err := rt.find(s.Parallel)
		if err != nil {
			return rtl.ICVValue{}, err
		}
		return v.parallel(rt, r)
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
		v, err := rt.setting(where(&rt.l.Globals), size)
		return rtl.IntegerICV(v, text, source), err
	}}
}

// setting reads a global variable; one that was not found is callbacks.Unavailable
// too.
func (rt *runtime) setting(g layout.Global, size uint64) (int64, error) {
	if err := g.Err(); err != nil {
		return 0, fmt.Errorf("%w: %w", err, callbacks.Unavailable)
	}
	return layout.ReadGlobal(rt.mem, g, size)
}

// taskICV is a variable that is an integer in a task's control variables.
func taskICV(name, source string, text func(int64) string, where func(*Layout) layout.Field) icv {
	return icv{ICV: rtl.ICV{Name: name, Scope: rtl.ScopeTask}, task: func(rt *runtime, fd found) (rtl.ICVValue, error) {
		v, err := rt.taskInt(fd, where(rt.l))
		return rtl.IntegerICV(v, text, source), err
	}}
}

// taskInt reads a control variable of a task. An initial task that has set none
// has those of gomp_global_icv.
func (rt *runtime) taskInt(fd found, f layout.Field) (int64, error) {
	if fd.task != nil {
		return fd.rec.Int(f), fd.rec.Err()
	}
	if err := f.Err(); err != nil {
		return 0, err
	}
	g := rt.l.Globals.GlobalICV
	if err := g.Err(); err != nil {
		return 0, fmt.Errorf("%w: %w", err, callbacks.Unavailable)
	}
	first := rt.l.Task.Nthreads // a gomp_task_icv begins with it
	if err := first.Err(); err != nil {
		return 0, err
	}
	return layout.ReadGlobal(rt.mem, layout.Global{Address: g.Address.Add(f.Offset - first.Offset)}, f.Size)
}

// regionICV is a variable that follows from the region.
func regionICV(name, source string, get func(*runtime, *region) int64) icv {
	return icv{ICV: rtl.ICV{Name: name, Scope: rtl.ScopeParallel}, parallel: func(rt *runtime, r *region) (rtl.ICVValue, error) {
		return rtl.IntegerICV(get(rt, r), nil, source), nil
	}}
}
