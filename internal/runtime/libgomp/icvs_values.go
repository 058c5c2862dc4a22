package libgomp

import (
	"fmt"
	"math"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

const (
	// maxList bounds lists with one value for each nesting level. They come from an environment variable, which
	// is not longer than a few MiB.
	maxList = 1 << 16
	// maxText bounds the strings that the runtime keeps from environment variables, in bytes.
	maxText = 64 << 10
)

// offloadText names values of enum gomp_target_offload_t.
func offloadText(v int64) string { return rtl.NameOf(v, "default", "mandatory", "disabled") }

// Values of enum gomp_schedule_type.
const (
	schedAuto      = 4
	schedMonotonic = 1 << 31 // a flag
)

// runSched returns the schedule of loops with schedule(runtime), in the format of OMP_SCHEDULE.
func (st *settings) runSched(fd found) (handles.ICVValue, error) {
	f := &st.l.Task
	kind, err := st.taskInt(fd, f.RunSched)
	if err != nil {
		return handles.ICVValue{}, err
	}
	chunk, err := st.taskInt(fd, f.RunSchedChunk)
	text := ""
	if kind&schedMonotonic != 0 {
		text = "monotonic:"
	}
	plain := kind & (schedMonotonic - 1)
	text += rtl.NameOf(plain, "runtime", "static", "dynamic", "guided", "auto")
	if chunk > 0 && plain != schedAuto {
		text += "," + strconv.FormatInt(chunk, 10)
	}
	return handles.ICVValue{Int: kind, Text: text, Source: "icv.run_sched_var"}, err
}

// threadLimit returns the value of omp_get_thread_limit.
func (st *settings) threadLimit(fd found) (handles.ICVValue, error) {
	v, err := st.taskInt(fd, st.l.Task.ThreadLimit)
	if v = int64(uint32(v)); v > math.MaxInt32 {
		v = math.MaxInt32
	}
	return rtl.IntegerICV(v, nil, "icv.thread_limit_var"), err
}

// maxActiveLevels returns the value of omp_get_max_active_levels. Before GCC 11 all tasks share one.
func (st *settings) maxActiveLevels(fd found) (handles.ICVValue, error) {
	f := st.l.Task.MaxActiveLevels
	if !f.IsKnown() {
		v, err := st.setting(st.l.Globals.MaxActiveLevels, 4)
		return rtl.IntegerICV(v, nil, "gomp_max_active_levels_var"), err
	}
	v, err := st.taskInt(fd, f)
	return rtl.IntegerICV(int64(uint8(v)), nil, "icv.max_active_levels_var"), err
}

// nestVar returns the value of omp_get_nested, which has a variable of its own before GCC 11.
func (st *settings) nestVar(fd found) (handles.ICVValue, error) {
	f := st.l.Task.Nest
	if !f.IsKnown() {
		return handles.ICVValue{}, fmt.Errorf("max-active-levels-var took its place: %w", callbacks.Unavailable)
	}
	v, err := st.taskInt(fd, f)
	return rtl.IntegerICV(v, rtl.BoolText, "icv.nest_var"), err
}

func (st *settings) explicitVar(fd found) (handles.ICVValue, error) {
	v := int64(0)
	if fd.task != nil && fd.explicit() {
		v = 1
	}
	return rtl.IntegerICV(v, rtl.BoolText, "kind"), nil
}

func (st *settings) implicitVar(fd found) (handles.ICVValue, error) {
	v := int64(1)
	if fd.task != nil && fd.explicit() {
		v = 0
	}
	return rtl.IntegerICV(v, rtl.BoolText, "kind"), nil
}

func (st *settings) finalVar(fd found) (handles.ICVValue, error) {
	if fd.task == nil {
		return rtl.IntegerICV(0, rtl.BoolText, "task"), nil
	}
	v := fd.rec.Int(st.l.Task.FinalTask)
	return rtl.IntegerICV(v, rtl.BoolText, "final_task"), fd.rec.Err()
}

// readDeeper reads the elements after that of the given level, in a list with one integer for each level. known
// reports whether the runtime's variables for the list were found.
func (rt *base) readDeeper(values, length layout.Global, size uint64, level int) (vs []int64, known bool, err error) {
	if !values.IsKnown() || !length.IsKnown() {
		return nil, false, nil
	}
	array, err := layout.ReadGlobal(rt.mem, values, 8)
	if err != nil || array == 0 {
		return nil, err == nil, err
	}
	n, err := layout.ReadGlobal(rt.mem, length, 8)
	if err != nil {
		return nil, false, err
	}
	if n < 0 || n > maxList {
		return nil, false, fmt.Errorf("list of %d elements: %w", n, callbacks.Incomplete)
	}
	for i := int64(level) + 1; i < n; i++ {
		v, err := layout.ReadUint(rt.mem, callbacks.Addr(uint64(array)).Add(uint64(i)*size), size)
		if err != nil {
			return vs, false, err
		}
		vs = append(vs, int64(v))
	}
	return vs, true, nil
}

// nthreadsVar returns the numbers of threads for the next level and deeper ones. The task has the first number,
// a list of the runtime the others.
func (st *settings) nthreadsVar(fd found) (handles.ICVValue, error) {
	first, err := st.taskInt(fd, st.l.Task.Nthreads)
	if err != nil {
		return handles.ICVValue{}, err
	}
	g := &st.l.Globals
	rest, known, err := st.readDeeper(g.NthreadsList, g.NthreadsListLen, 8, fd.region.level())
	source := "icv.nthreads_var"
	if known {
		source += ", gomp_nthreads_var_list"
	}
	return rtl.ListICV(first, rest, true, nil, source), err
}

// bindVar returns the binding policy for the next level and deeper levels.
func (st *settings) bindVar(fd found) (handles.ICVValue, error) {
	first, err := st.taskInt(fd, st.l.Task.Bind)
	if err != nil {
		return handles.ICVValue{}, err
	}
	g := &st.l.Globals
	rest, known, err := st.readDeeper(g.BindList, g.BindListLen, 1, fd.region.level())
	source := "icv.bind_var"
	if known {
		source += ", gomp_bind_var_list"
	}
	return rtl.ListICV(first, rest, true, rtl.ProcBindText, source), err
}

// threadNum returns the value of omp_get_thread_num.
func (st *settings) threadNum(th *thread) (handles.ICVValue, error) {
	return rtl.IntegerICV(int64(th.id), nil, "ts.team_id"), nil
}

// teamNum returns the value of omp_get_team_num.
func (st *settings) teamNum(r *region) (handles.ICVValue, error) {
	p := r.primaryThread()
	if p == nil {
		return handles.ICVValue{}, fmt.Errorf("the primary thread is unknown: %w", callbacks.Unavailable)
	}
	f := st.l.Thread.TeamNum
	if !f.IsKnown() {
		return handles.ICVValue{}, fmt.Errorf("%w: %w", f.Err(), callbacks.Unavailable)
	}
	return rtl.IntegerICV(int64(p.rec.Uint(f)), nil, "team_num"), p.rec.Err()
}

// defAllocator returns the value of omp_get_default_allocator: that of the thread or, if unset, that of the
// program.
func (st *settings) defAllocator(th *thread) (handles.ICVValue, error) {
	f := st.l.Thread.DefAllocator
	if !f.IsKnown() {
		return handles.ICVValue{}, fmt.Errorf("%w: %w", f.Err(), callbacks.Unavailable)
	}
	if v := th.rec.Int(f); v != 0 || th.rec.Err() != nil {
		return rtl.IntegerICV(v, rtl.AllocatorText, "ts.def_allocator"), th.rec.Err()
	}
	v, err := st.setting(st.l.Globals.DefAllocator, 8)
	return rtl.IntegerICV(v, rtl.AllocatorText, "gomp_def_allocator"), err
}

// placeAssignment returns the value of omp_get_place_num. The runtime counts from 1.
func (st *settings) placeAssignment(th *thread) (handles.ICVValue, error) {
	v := th.rec.Int(st.l.Thread.Place)
	if th.rec.Err() == nil && v <= 0 {
		return handles.ICVValue{}, fmt.Errorf("the thread is bound to no place: %w", callbacks.Unavailable)
	}
	return rtl.IntegerICV(v-1, nil, "place"), th.rec.Err()
}

// placePartition returns the range of places that the thread may use.
func (st *settings) placePartition(th *thread) (handles.ICVValue, error) {
	f := &st.l.Thread
	first, n := th.rec.Int(f.PlacePartitionOff), th.rec.Int(f.PlacePartitionLen)
	if th.rec.Err() == nil && (n <= 0 || th.rec.Int(f.Place) <= 0) {
		return handles.ICVValue{}, fmt.Errorf("the thread has no partition: %w", callbacks.Unavailable)
	}
	return handles.ICVValue{
		Int: first, Text: fmt.Sprintf("%d-%d", first, first+n-1), Whole: n == 1,
		Source: "ts.place_partition_off, ts.place_partition_len",
	}, th.rec.Err()
}

// affinityFormat returns the value of omp_get_affinity_format.
func (st *settings) affinityFormat() (handles.ICVValue, error) {
	p, err := st.setting(st.l.Globals.AffinityFormat, 8)
	v := handles.ICVValue{Whole: true, Source: "gomp_affinity_format_var"}
	if err == nil && p != 0 {
		v.Text, err = layout.ReadString(st.mem, callbacks.Addr(uint64(p)), maxText)
	}
	return v, err
}

// activeSpins is the least number of spins of a waiting loop that counts as active waiting. The runtime uses
// 300,000 if no policy is set, and 30 thousand million for the active policy.
const activeSpins = 1 << 30

// waitPolicy infers the policy from the number of spins of a waiting thread before it sleeps.
func (st *settings) waitPolicy() (handles.ICVValue, error) {
	v, err := st.setting(st.l.Globals.SpinCount, 8)
	policy := int64(1)
	if uint64(v) >= activeSpins {
		policy = 0
	}
	return rtl.IntegerICV(policy, func(v int64) string { return rtl.NameOf(v, "active", "passive") },
		"gomp_spin_count_var"), err
}
