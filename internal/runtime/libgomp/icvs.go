package libgomp

import (
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// icv is an internal control variable with the function that reads it.
type icv = rtl.ICVReading[*settings]

// icvs returns the variables of OpenMP 5.2 in alphabetical order, followed by those of other versions. The
// scopes are those in which this runtime keeps the variables.
var icvs = sync.OnceValue(func() rtl.ICVTable[*settings] {
	return rtl.ICVTable[*settings]{
		regionICV("active-levels-var", "ts.active_level",
			func(_ *settings, r *region) int64 { return int64(r.active) }),
		spaceValue("affinity-format-var", (*settings).affinityFormat).AsText(),
		taskValue("bind-var", (*settings).bindVar),
		globalICV("cancel-var", "gomp_cancel_var", 1, rtl.BoolText, func(g *globals) layout.Global { return g.Cancel }),
		globalICV("debug-var", "gomp_debug_var", 1, rtl.EnabledText, func(g *globals) layout.Global { return g.Debug }),
		threadValue("def-allocator-var", (*settings).defAllocator),
		rtl.MissingICV[*settings]("def-sched-var", "the runtime has no variable for it: an unspecified schedule is "+
			"static, fixed by the compiler"),
		taskICV("default-device-var", "icv.default_device_var", nil,
			func(l *Layout) layout.Field { return l.Task.DefaultDevice }),
		rtl.MissingICV[*settings]("device-num-var", "the host's number is the number of devices, which offloading "+
			"plugins know"),
		globalICV("display-affinity-var", "gomp_display_affinity_var", 1, rtl.BoolText,
			func(g *globals) layout.Global { return g.DisplayAffinity }),
		taskICV("dyn-var", "icv.dyn_var", rtl.BoolText, func(l *Layout) layout.Field { return l.Task.Dyn }),
		taskValue("explicit-task-var", (*settings).explicitVar),
		taskValue("final-task-var", (*settings).finalVar),
		regionICV("league-size-var", "num_teams",
			func(st *settings, r *region) int64 { return int64(max(1, st.records.leagueSize(r))) }),
		regionICV("levels-var", "ts.level", func(_ *settings, r *region) int64 { return int64(r.level()) }),
		taskValue("max-active-levels-var", (*settings).maxActiveLevels),
		globalICV("max-task-priority-var", "gomp_max_task_priority_var", 4, nil,
			func(g *globals) layout.Global { return g.MaxTaskPriority }),
		globalICV("nteams-var", "gomp_num_teams_var", 4, nil, func(g *globals) layout.Global { return g.NumTeams }),
		taskValue("nthreads-var", (*settings).nthreadsVar),
		rtl.MissingICV[*settings]("num-devices-var", "offloading plugins know it"),
		globalICV("num-procs-var", "gomp_available_cpus", 4, nil,
			func(g *globals) layout.Global { return g.AvailableCPUs }),
		threadValue("place-assignment-var", (*settings).placeAssignment),
		threadValue("place-partition-var", (*settings).placePartition),
		taskValue("run-sched-var", (*settings).runSched).AsText(),
		rtl.MissingICV[*settings]("stacksize-var", "the runtime keeps it only in the attributes for new threads"),
		globalICV("target-offload-var", "gomp_target_offload_var", 4, offloadText,
			func(g *globals) layout.Global { return g.TargetOffload }),
		parallelValue("team-num-var", (*settings).teamNum),
		regionICV("team-size-var", "nthreads", func(_ *settings, r *region) int64 { return int64(r.numThreads()) }),
		globalICV("teams-thread-limit-var", "gomp_teams_thread_limit_var", 4, nil,
			func(g *globals) layout.Global { return g.TeamsThreadLimit }),
		taskValue("thread-limit-var", (*settings).threadLimit),
		threadValue("thread-num-var", (*settings).threadNum),
		rtl.MissingICV[*settings]("tool-libraries-var", "the runtime has no interface for tools"),
		rtl.MissingICV[*settings]("tool-var", "the runtime has no interface for tools"),
		rtl.MissingICV[*settings]("tool-verbose-init-var", "the runtime has no interface for tools"),
		spaceValue("wait-policy-var", (*settings).waitPolicy),
		rtl.MissingICV[*settings]("available-devices-var", "offloading plugins know it"),
		taskValue("implicit-task-var", (*settings).implicitVar),
		taskValue("nest-var", (*settings).nestVar),
	}
})

// ICVs lists the internal control variables.
func (st *settings) ICVs() []handles.ICV { return icvs().ICVs() }

// ICV reads one variable.
func (st *settings) ICV(id int, s handles.Subject) (handles.ICVValue, error) {
	return icvs().Value(st, id, s)
}

// spaceValue returns a variable of the address space.
func spaceValue(name string, get func(*settings) (handles.ICVValue, error)) icv {
	return icv{ICV: handles.ICV{Name: name, Scope: handles.ScopeAddressSpace},
		Read: func(st *settings, _ handles.Subject) (handles.ICVValue, error) {
			return get(st)
		}}
}

// threadValue returns a variable of a thread.
func threadValue(name string, get func(*settings, *thread) (handles.ICVValue, error)) icv {
	of := handles.ICV{Name: name, Scope: handles.ScopeThread}
	return icv{ICV: of, Read: func(st *settings, s handles.Subject) (handles.ICVValue,
		error) {
		_, th, err := st.threads.regionOf(s.Thread)
		if err != nil {
			return handles.ICVValue{}, err
		}
		return get(st, th)
	}}
}

// parallelValue returns a variable of a region.
func parallelValue(name string, get func(*settings, *region) (handles.ICVValue, error)) icv {
	return icv{ICV: handles.ICV{Name: name, Scope: handles.ScopeParallel},
		Read: func(st *settings, s handles.Subject) (handles.ICVValue, error) {
			r, err := st.threads.findRegion(s.Parallel)
			if err != nil {
				return handles.ICVValue{}, err
			}
			return get(st, r)
		}}
}

// taskValue returns a variable of a task. While the threads have not used the runtime, there is no initial task,
// but its variables can be read: they do not belong to a task.
func taskValue(name string, get func(*settings, found) (handles.ICVValue, error)) icv {
	of := handles.ICV{Name: name, Scope: handles.ScopeTask}
	return icv{ICV: of, Read: func(st *settings, s handles.Subject) (handles.ICVValue,
		error) {
		if s.Task.IsZero() {
			return get(st, found{region: &region{}})
		}
		fd, err := st.tasks.lookup(s.Task)
		if err != nil {
			return handles.ICVValue{}, err
		}
		return get(st, fd)
	}}
}

// globalICV returns a variable that is one of the runtime's integers, of size bytes. text formats it; nil means
// decimal.
func globalICV(name, source string, size uint64, text func(int64) string, where func(*globals) layout.Global) icv {
	return spaceValue(name, func(st *settings) (handles.ICVValue, error) {
		v, err := st.setting(where(&st.l.Globals), size)
		return rtl.IntegerICV(v, text, source), err
	})
}

// setting reads a global variable. For a variable that was not found, the error is callbacks.Unavailable.
func (rt *base) setting(g layout.Global, size uint64) (int64, error) {
	if err := g.Err(); err != nil {
		return 0, fmt.Errorf("%w: %w", err, callbacks.Unavailable)
	}
	return layout.ReadGlobal(rt.mem, g, size)
}

// taskICV returns a variable that is an integer in a task's control variables.
func taskICV(name, source string, text func(int64) string, where func(*Layout) layout.Field) icv {
	return taskValue(name, func(st *settings, fd found) (handles.ICVValue, error) {
		v, err := st.taskInt(fd, where(st.l))
		return rtl.IntegerICV(v, text, source), err
	})
}

// taskInt reads a control variable of a task. An initial task that has not set any of its variables uses those
// of gomp_global_icv.
func (rt *base) taskInt(fd found, f layout.Field) (int64, error) {
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
	first := rt.l.Task.Nthreads // a gomp_task_icv starts with this field
	if err := first.Err(); err != nil {
		return 0, err
	}
	return layout.ReadGlobal(rt.mem, layout.Global{Address: g.Address.Add(f.Offset - first.Offset)}, f.Size)
}

// regionICV returns a variable that is derived from the region.
func regionICV(name, source string, get func(*settings, *region) int64) icv {
	return parallelValue(name, func(st *settings, r *region) (handles.ICVValue, error) {
		return rtl.IntegerICV(get(st, r), nil, source), nil
	})
}
