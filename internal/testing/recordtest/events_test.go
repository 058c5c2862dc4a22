package recordtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/legacy"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// lines returns the events of a thread as trace prints them, with their names in a document.
func lines(r recording, g ring, names legacy.Document) (out []string) {
	all := slices.Concat(g.main, g.rare)
	slices.SortStableFunc(all, func(a, b trace.Event) int { return int(int64(a.Time - b.Time)) })
	words := r.Words(nil)
	for i := range all {
		e := &all[i]
		if e.Code == trace.NewThread {
			continue
		}
		name := names.Name(legacy.Event{Code: uint8(e.Code), Kind: e.Kind, Endpoint: uint8(e.Endpoint)})
		out = append(out, strings.TrimPrefix(name, "ompt_event_")+": "+words.Phrase(e))
	}
	return out
}

// events2013 are the events of testdata/events2013.c in the words of the draft of 2013 (A.2) and in those of trace.
// Numbers are those of the program: region 4711, locks from 0x1000 on.
const events2013 = `
thread_create: begins as a thread
parallel_create: forks parallel region 0x1267 for 0 threads
implicit_task_create: is thread 0 of 0 in region 0x1267
loop_begin: begins a loop
loop_end: ends a loop
section_begin: begins sections
section_end: ends sections
single_in_block_begin: begins a single construct, as its executor
single_in_block_end: ends a single construct, as its executor
single_others_begin: begins a single construct of another thread
single_others_end: ends a single construct of another thread
master_begin: begins a masked construct
master_end: ends a masked construct
barrier_begin: comes to a barrier
wait_barrier_begin: waits at a barrier
wait_barrier_end: has waited at a barrier
wait_barrier_begin: waits at a barrier
wait_barrier_end: has waited at a barrier
barrier_end: leaves a barrier
taskwait_begin: comes to a taskwait
wait_taskwait_begin: waits at a taskwait
wait_taskwait_end: has waited at a taskwait
taskwait_end: leaves a taskwait
taskgroup_begin: comes to a taskgroup
wait_taskgroup_begin: waits at a taskgroup
wait_taskgroup_end: has waited at a taskgroup
taskgroup_end: leaves a taskgroup
task_create: creates task 0.3
task_create: creates task 0.4
task_switch: task 0.2 is suspended, goes on with task 0.3
task_exit: task 0.3 completes
task_switch: goes on with task 0.4
task_exit: task 0.4 completes
task_switch: goes on with task 0.2
init_lock: makes lock 0x1000
wait_lock: asks for lock 0x1000
acquired_lock: acquires lock 0x1000
release_lock: releases lock 0x1000
destroy_lock: destroys lock 0x1000
init_nest_lock: makes nestable lock 0x2000
wait_nest_lock: asks for nestable lock 0x2000
acquired_nest_lock_first: acquires nestable lock 0x2000
acquired_nest_lock_next: acquires once more nestable lock 0x2000
release_nest_lock_prev: releases once nestable lock 0x2000
release_nest_lock_last: releases nestable lock 0x2000
destroy_nest_lock: destroys nestable lock 0x2000
wait_critical: asks for critical 0x3000
acquired_critical: acquires critical 0x3000
release_critical: releases critical 0x3000
wait_atomic: asks for atomic 0x4000
acquired_atomic: acquires atomic 0x4000
release_atomic: releases atomic 0x4000
wait_ordered: asks for ordered 0x5000
acquired_ordered: acquires ordered 0x5000
release_ordered: releases ordered 0x5000
flush: flushes memory
control: calls omp_control_tool(77, 5)
wait_barrier_begin: waits at a barrier
wait_barrier_end: has waited at a barrier
implicit_task_exit: ends its implicit task
parallel_exit: joins region 0x1267
idle_begin: starts to idle
idle_end: stops idling
thread_exit: ends
runtime_shutdown: the runtime shuts down
`

// record2013 runs testdata/events2013.c with arguments and returns what it recorded.
func record2013(t *testing.T, args ...string) (recording, ring) {
	t.Helper()
	exe := build(t, "gcc", "events2013.c", "-rdynamic")
	p := runArgs(t, omptest.Runtime{Name: "of 2013"}, append([]string{exe}, args...),
		"LD_PRELOAD="+omptest.Recorder(t), "OMPD_RECORDER=all")
	r := readRecording(t, p.Process.Pid)
	return r, r.ringOf(t, p.Process.Pid)
}

// TestEvents2013 requires each event of the draft of 2013 with the arguments that the runtime passed, and all names of
// the draft's table.
func TestEvents2013(t *testing.T) {
	r, g := record2013(t)
	got, want := lines(r, g, legacy.TR2013), strings.Split(strings.TrimSpace(events2013), "\n")
	diff(t, got, want)
	for _, name := range legacy.TR2013.Names() {
		short := strings.TrimPrefix(name, "ompt_event_") + ": "
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, short) }) {
			t.Errorf("%s is not printed", name)
		}
	}
	if g.State != 0x101 || len(g.Tasks) != 0 || len(g.Held) != 0 || len(g.Forked) != 0 {
		t.Errorf("at the end: state %#x, tasks %v, locks %v, regions %v", g.State, g.Tasks, g.Held, g.Forked)
	}
}

// TestEvents2013WithoutConstructs runs a runtime that reports only waits, or only constructs: no event is recorded as
// another one.
func TestEvents2013WithoutConstructs(t *testing.T) {
	for name, c := range map[string]struct {
		refused []string
		missing []string // names begin so
	}{
		"waits":      {[]string{"35", "36", "37", "38"}, []string{"barrier_", "taskwait_"}},
		"constructs": {[]string{"11", "12", "13", "14"}, []string{"wait_barrier_", "wait_taskwait_"}},
	} {
		r, g := record2013(t, c.refused...)
		want := slices.DeleteFunc(strings.Split(strings.TrimSpace(events2013), "\n"), func(line string) bool {
			return slices.ContainsFunc(c.missing, func(s string) bool { return strings.HasPrefix(line, s) })
		})
		diff(t, lines(r, g, legacy.TR2013), want)
		if !r.Records(trace.SyncRegion, trace.SyncRegionWait) {
			t.Errorf("%s: the recorded codes are %#x", name, r.Header.Events)
		}
	}
}

// TestNullArguments runs runtimes that pass NULL for each pointer (TestCollectorRequests: in Sun's API). The documents
// allow that for the suspended task of 2013, for invalid identifiers of 2016, for data at the end of regions, for
// arguments, messages and places in 5.1. The program is not disturbed, and has as many events.
func TestNullArguments(t *testing.T) {
	r, g := record2013(t, "null")
	want := strings.Count(strings.TrimSpace(events2013), "\n") + 1
	if got := lines(r, g, legacy.TR2013); len(got) != want {
		t.Errorf("2013: %d events, want %d:\n%s", len(got), want, strings.Join(got, "\n"))
	}
	exe := build(t, "gcc", "events51.c")
	for _, next := range []string{"", build(t, "gcc", "called.c", "-shared", "-fPIC")} {
		p := runArgs(t, omptest.Runtime{Name: "of 5.1"}, []string{exe, "null"}, "LD_PRELOAD="+omptest.Recorder(t),
			"OMPD_RECORDER=all", "OMPD_RECORDER_NEXT="+next)
		g := readRecording(t, p.Process.Pid).ringOf(t, p.Process.Pid)
		got := append(codes(g.main), codes(g.rare)...)
		slices.Sort(got)
		if got = slices.Compact(got); len(got) != 37-4-1 { // four have a later form; a barrier's wait is part of it
			t.Errorf("5.1, next tool %q: the events are %d", next, got)
		}
	}
}
