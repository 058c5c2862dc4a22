package libomp

import (
	"fmt"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// maxList bounds lists with one value for each nesting level. They come from an environment variable, which is
// not longer than a few MiB.
const maxList = 1 << 16

// offloadText names values of kmp_target_offload_kind_t.
func offloadText(v int64) string { return rtl.NameOf(v, "disabled", "default", "mandatory") }

// policyText names values of enum library_type: turnaround is an active policy, throughput a passive one.
func policyText(v int64) string { return rtl.NameOf(v, "none", "serial", "active", "passive") }

// bindText names values of kmp_proc_bind_t.
func bindText(v int64) string {
	return rtl.NameOf(v, "false", "true", "primary", "close", "spread", "intel", "default")
}

// infiniteBlocktime is KMP_MAX_BLOCKTIME: a waiting thread never sleeps.
const infiniteBlocktime = 1<<31 - 1

// blocktime returns the time for which a waiting thread of the task spins before it sleeps.
func (se *settings) blocktime(fd found) (handles.ICVValue, error) {
	r := fd.rec()
	v := r.Int(se.l.Taskdata.IcvBlocktime)
	// Since LLVM 19 the field is in microseconds. Before that, it is in milliseconds.
	unit := "ms"
	if se.l.Taskdata.IcvTaskThreadLimit.IsKnown() {
		unit = "us"
	}
	text := strconv.FormatInt(v, 10) + unit
	if v == infiniteBlocktime {
		text = "infinite"
	}
	return handles.ICVValue{Int: v, Text: text, Whole: true, Source: "td_icvs.blocktime"}, r.Err()
}

// readDeeper reads the elements after that of the given level, in a list with one 4-byte integer for each level.
func (rt *base) readDeeper(a callbacks.Address, values, used layout.Field, level int) ([]int64, error) {
	r := layout.Read(rt.mem, a, values, used)
	array, n := r.Address(values), r.Int(used)
	if err := r.Err(); err != nil {
		return nil, err
	}
	if n > maxList {
		return nil, fmt.Errorf("list of %d elements: %w", n, callbacks.Incomplete)
	}
	first := int64(level) + 1
	if array.IsNull() || first >= n {
		return nil, nil
	}
	var vs []int64
	words := make([]byte, 4*(n-first))
	if err := rt.mem.ReadMemory(array.Add(uint64(4*first)), words); err != nil {
		return nil, err
	}
	for ; len(words) > 0; words = words[4:] {
		vs = append(vs, int64(int32(callbacks.Word(words[:4]))))
	}
	return vs, nil
}

// nthreadsVar returns the numbers of threads for the next level and deeper ones. The task has the first number,
// a list of the runtime the others.
func (se *settings) nthreadsVar(fd found) (handles.ICVValue, error) {
	r := fd.rec()
	first := r.Int(se.l.Taskdata.IcvNproc)
	if err := r.Err(); err != nil {
		return handles.ICVValue{}, err
	}
	g := fd.regions[0]
	// Since LLVM 19 the team points to its list. Before that, there is one list for all teams.
	a, from := g.team.nestedNth, "t_nested_nth"
	if a.IsNull() {
		a, from = se.vars().NestedNth.Address, "__kmp_nested_nth"
	}
	if a.IsNull() {
		return rtl.ListICV(first, nil, false, nil, "td_icvs.nproc; deeper levels unknown: __kmp_nested_nth was not "+
			"found"), nil
	}
	rest, err := se.readDeeper(a, se.l.NestedNth.Nth, se.l.NestedNth.Used, g.level)
	if err != nil {
		return rtl.ListICV(first, nil, false, nil, fmt.Sprintf("td_icvs.nproc; deeper levels unknown: %s: %v", from,
			err)), nil
	}
	return rtl.ListICV(first, rest, true, nil, "td_icvs.nproc, "+from), nil
}

// bindVar returns the binding policy for the next level and deeper levels.
func (se *settings) bindVar(fd found) (handles.ICVValue, error) {
	r := fd.rec()
	first := r.Int(se.l.Taskdata.IcvProcBind)
	if err := r.Err(); err != nil {
		return handles.ICVValue{}, err
	}
	g := se.vars().NestedProcBind
	if !g.IsKnown() {
		return rtl.ListICV(first, nil, false, bindText, "td_icvs.proc_bind; deeper levels unknown: "+
			"__kmp_nested_proc_bind was not found"), nil
	}
	rest, err := se.readDeeper(g.Address, se.l.NestedBind.BindTypes, se.l.NestedBind.Used, fd.regions[0].level)
	if err != nil {
		return rtl.ListICV(first, nil, false, bindText, fmt.Sprintf("td_icvs.proc_bind; deeper levels unknown: %v",
			err)), nil
	}
	return rtl.ListICV(first, rest, true, bindText, "td_icvs.proc_bind, __kmp_nested_proc_bind"), nil
}

// Bits of enum sched_type that modify a schedule.
const (
	schedMonotonic    = 1 << 29
	schedNonmonotonic = 1 << 30
)

// runSched returns the schedule of loops with schedule(runtime), in the format of OMP_SCHEDULE.
func (se *settings) runSched(fd found) (handles.ICVValue, error) {
	f, r := &se.l.Taskdata, fd.rec()
	kind, chunk := r.Int(f.IcvSchedType), r.Int(f.IcvSchedChunk)
	return handles.ICVValue{Int: kind, Text: formatSchedule(kind, chunk), Source: "td_icvs.sched"}, r.Err()
}

// formatSchedule formats an enum sched_type with its chunk size, which is below 1 if unset.
func formatSchedule(kind, chunk int64) string {
	text := ""
	switch {
	case kind&schedMonotonic != 0:
		text = "monotonic:"
	case kind&schedNonmonotonic != 0:
		text = "nonmonotonic:"
	}
	kind &^= schedMonotonic | schedNonmonotonic
	switch kind {
	case 33, 34, 40, 41, 45: // chunked, plain, greedy, balanced
		text += "static"
	case 35:
		text += "dynamic"
	case 36, 42, 43, 46: // by iterations, analytical, simd
		text += "guided"
	case 38:
		text += "auto"
	case 39:
		text += "trapezoidal"
	case 44:
		text += "static_steal"
	default:
		text += fmt.Sprintf("kind %d", kind)
	}
	if plain := kind == 34 || kind == 38 || kind == 40 || kind == 41; chunk > 0 && !plain {
		text += "," + strconv.FormatInt(chunk, 10)
	}
	return text
}

// threadLimit returns the value of omp_get_thread_limit.
func (se *settings) threadLimit(fd found) (handles.ICVValue, error) {
	f, r := &se.l.Taskdata, fd.rec()
	if f.IcvTaskThreadLimit.IsKnown() {
		if v := r.Int(f.IcvTaskThreadLimit); v > 0 {
			return rtl.IntegerICV(v, nil, "td_icvs.task_thread_limit"), r.Err()
		}
	}
	v := r.Int(f.IcvThreadLimit)
	return rtl.IntegerICV(v, nil, "td_icvs.thread_limit"), r.Err()
}

func (se *settings) implicitVar(fd found) (handles.ICVValue, error) {
	v := int64(0)
	if !fd.explicit {
		v = 1
	}
	return rtl.IntegerICV(v, rtl.BoolText, "td_flags.tasktype"), nil
}

// threadNum returns the value of omp_get_thread_num.
func (se *settings) threadNum(th *thread, gs []region) (handles.ICVValue, error) {
	if len(gs) == 0 {
		return handles.ICVValue{}, fmt.Errorf("the thread is idle: %w", callbacks.Unavailable)
	}
	return rtl.IntegerICV(int64(th.tid), nil, "ds_tid"), nil
}

func (se *settings) defAllocator(th *thread, _ []region) (handles.ICVValue, error) {
	r := layout.ReadSize(se.mem, th.addr, se.l.Thread.Size.Size)
	v := r.Int(se.l.Thread.DefAllocator)
	return rtl.IntegerICV(v, rtl.AllocatorText, "th_def_allocator"), r.Err()
}

// placeAssignment returns the value of omp_get_place_num. A value below 0 means that the thread is unbound.
func (se *settings) placeAssignment(th *thread, _ []region) (handles.ICVValue, error) {
	r := layout.ReadSize(se.mem, th.addr, se.l.Thread.Size.Size)
	v := r.Int(se.l.Thread.CurrentPlace)
	if r.Err() == nil && v < 0 {
		return handles.ICVValue{}, fmt.Errorf("the thread is bound to no place (th_current_place is %d): %w", v,
			callbacks.Unavailable)
	}
	return rtl.IntegerICV(v, nil, "th_current_place"), r.Err()
}

// placePartition returns the range of places that the thread may use. The range may wrap around from the last
// place to the first.
func (se *settings) placePartition(th *thread, _ []region) (handles.ICVValue, error) {
	r := layout.ReadSize(se.mem, th.addr, se.l.Thread.Size.Size)
	first, last := r.Int(se.l.Thread.FirstPlace), r.Int(se.l.Thread.LastPlace)
	if r.Err() == nil && (first < 0 || last < 0) {
		return handles.ICVValue{}, fmt.Errorf("the thread has no partition (th_first_place is %d): %w", first,
			callbacks.Unavailable)
	}
	return handles.ICVValue{
		Int: first, Text: fmt.Sprintf("%d-%d", first, last), Whole: first == last,
		Source: "th_first_place, th_last_place",
	}, r.Err()
}
