package recordtest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/export"
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
task_switch: task 0.2 is suspended, continues with task 0.3
task_exit: task 0.3 completes
task_switch: continues with task 0.4
task_exit: task 0.4 completes
task_switch: continues with task 0.2
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
	requireNames(t, got, legacy.TR2013)
	if g.State != 0x101 || len(g.Tasks) != 0 || len(g.Held) != 0 || len(g.Forked) != 0 {
		t.Errorf("at the end: state %#x, tasks %v, locks %v, regions %v", g.State, g.Tasks, g.Held, g.Forked)
	}
}

// requireNames requires lines of all events of a document: those in package legacy, and those that name the test in
// docs/history/ompt-names.md.
func requireNames(t *testing.T, lines []string, d legacy.Document) {
	t.Helper()
	all := d.Names()
	for name, here := range names(t) {
		if here == t.Name() && name != "ompt_event_t" {
			all = append(all, name)
		}
	}
	for _, name := range all {
		short := strings.TrimPrefix(name, "ompt_event_") + ": "
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, short) }) {
			t.Errorf("%s is not printed", name)
		}
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
	exe := build(t, "gcc", "events2016.c", "-rdynamic")
	p := runArgs(t, omptest.Runtime{Name: "of 2016"}, []string{exe, "none"}, "LD_PRELOAD="+omptest.Recorder(t),
		"OMPD_RECORDER=all")
	r = readRecording(t, p.Process.Pid)
	want = strings.Count(strings.TrimSpace(events2016), "\n") + 1
	if got := lines(r, r.ringOf(t, p.Process.Pid), legacy.TR2016); len(got) != want {
		t.Errorf("2016: %d events, want %d:\n%s", len(got), want, strings.Join(got, "\n"))
	}
	exe = build(t, "gcc", "events51.c")
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

// details returns the lists and structures of each event that has some, as JSON.
func details(t *testing.T, r recording, events []trace.Event) (out []string) {
	t.Helper()
	for i := range events {
		b, err := json.Marshal(export.NewDetails(&events[i], r.Words(nil)))
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != "{}" {
			out = append(out, string(b))
		}
	}
	return out
}

// The events of testdata/events51.c in the names of OpenMP 5.1 and in the words of trace: those of the host, of devices
// in both forms, and of the end.
const (
	host51 = `thread_begin: begins as the initial thread
parallel_begin: forks parallel region 0.1 for 4 threads
implicit_task: is thread 0 of 4 in region 0.1
work: begins a loop of 100
dispatch: takes a chunk of a loop
work: ends a loop
masked: begins and ends a masked construct
task_create: creates task 0.3
dependences: task 0.3 depends on 3 addresses: 0x501 in, 0x502 out, 0x503 inout
dependences: task 0.3 depends on 1 address: 0x504 inout
task_dependence: task 0.3 must wait for task 0.2
task_schedule: task 0.2 is suspended, continues with task 0.3
task_schedule: task 0.3 completes, continues with task 0.2
sync_region: comes to an explicit barrier
reduction: begins a reduction
sync_region: leaves an explicit barrier
reduction: ends a reduction
lock_init: makes lock 0x1000
mutex_acquire: asks for lock 0x1000
mutex_acquired: acquires lock 0x1000
nest_lock: acquires once more nestable lock 0x2000
mutex_released: releases lock 0x1000
lock_destroy: destroys lock 0x1000
flush: flushes memory
cancel: cancels a construct
error: error: a message
control_tool: calls omp_control_tool(77, 5)
device_initialize: device 3 is there: a type
device_load: code is loaded on device 3, 64 bytes, from 0x902 of the host to 0x903, module 7, offset 16 of the file: image
`
	emi51 = `target_emi: begins a target region on device 3
target_data_op_emi: begins a copy to a device, 2563 bytes, from 0xa01 of device -1 to 0xa02 of device 3
target_submit_emi: begins the execution of a kernel
target_data_op_emi: ends a copy to a device, 2563 bytes, from 0xa01 of device -1 to 0xa02 of device 3
target_submit_emi: ends the execution of a kernel
target_map_emi: maps 2 variables: 0x601 on the device at 0x701, 2049 bytes to, 0x602 on the device at 0x702, ` +
		`2050 bytes to from delete
target_emi: ends a target region on device 3
`
	old51 = `target: begins a target region on device 3
target_data_op: begins a copy to a device, 2563 bytes, from 0xa01 of device -1 to 0xa02 of device 3
target_submit: begins the execution of a kernel
target_map: maps 2 variables: 0x601 on the device at 0x701, 2049 bytes to, 0x602 on the device at 0x702, ` +
		`2050 bytes to from delete
target: ends a target region on device 3
`
	end51 = `device_unload: code is unloaded from device 3
device_finalize: device 3 is given up
implicit_task: ends its implicit task
parallel_end: joins region 0.1
thread_end: ends`
)

// The lists and structures of those events: of frequent and of rare ones.
const (
	copy51 = `{"operation":{"source":"0xa01","source_device":-1,"destination":"0xa02","destination_device":3,` +
		`"bytes":2563,"id":"ID","target":"TARGET"}}`
	map51 = `{"mapped":[{"host":"0x601","device":"0x701","bytes":2049,"flags":1},` +
		`{"host":"0x602","device":"0x702","bytes":2050,"flags":19}]}`
	three51 = `{"dependences":[{"type":1,"address":"0x501"},{"type":2,"address":"0x502"},` +
		`{"type":3,"address":"0x503"}]}`
	one51  = `{"dependences":[{"type":3,"address":"0x504"}]}`
	load51 = `{"loaded":{"file":"image","offset":16,"bytes":64,"host":"0x902","device":"0x903","module":7}}`
)

// TestEvents51 requires each callback of OpenMP 5.1 with the arguments that the runtime passed, in text and in JSON.
func TestEvents51(t *testing.T) {
	exe := build(t, "gcc", "events51.c")
	ids := func(id, target string) string {
		return strings.NewReplacer("TARGET", target, "ID", id).Replace(copy51)
	}
	for form, want := range map[string]struct {
		events  string
		details []string
	}{
		"emi": {emi51, []string{ids("0.5", "0.4"), ids("0.6", "0.4"), map51}},
		"old": {old51, []string{ids("0xa", "0x9"), map51}},
	} {
		p := runArgs(t, omptest.Runtime{Name: "of 5.1"}, []string{exe, form}, "LD_PRELOAD="+omptest.Recorder(t),
			"OMPD_RECORDER=all")
		r := readRecording(t, p.Process.Pid)
		g := r.ringOf(t, p.Process.Pid)
		var got []string
		for _, line := range lines(r, g, legacy.OpenMP51) {
			got = append(got, strings.TrimPrefix(line, "ompt_callback_"))
		}
		diff(t, got, strings.Split(host51+want.events+end51, "\n"))
		diff(t, details(t, r, g.main), want.details)
		diff(t, details(t, r, g.rare), []string{three51, one51, load51})
	}
}

// events60 are the events of testdata/events60.c in the words of trace.
const events60 = `
begins as the initial thread
forks parallel region 0.1 for 4 threads
is thread 0 of 4 in region 0.1
begins a workdistribute construct of 100
ends a workdistribute construct
creates task 0.3
task 0.3 depends on 3 addresses: out of all memory, inout of all memory, 0x501 inoutset
begins and ends a copy, 2563 bytes, from 0xa01 of device -1 to 0xa02 of device 3
begins and ends a memset on a device, 2563 bytes, from 0xa01 of device -1 to 0xa02 of device 3
begins and ends a copy of a subvolume, 2563 bytes, from 0xa01 of device -1 to 0xa02 of device 3
begins and ends a copy, 2563 bytes, from 0xa01 of device -1 to 0xa02 of device 3
begins and ends a memset on a device, 2563 bytes, from 0xa01 of device -1 to 0xa02 of device 3
begins and ends a copy of a subvolume, 2563 bytes, from 0xa01 of device -1 to 0xa02 of device 3
maps 1 variable: 0x601 on the device at 0x701, 2049 bytes to shared
`

// TestEvents60 requires the values that OpenMP 6.0 has added to those of 5.2, with the arguments that the runtime
// passed. The address of a dependence on all memory is undefined (33.9) and not printed.
func TestEvents60(t *testing.T) {
	exe := build(t, "gcc", "events60.c")
	p := runArgs(t, omptest.Runtime{Name: "of 6.0"}, []string{exe}, "LD_PRELOAD="+omptest.Recorder(t),
		"OMPD_RECORDER=all")
	r := readRecording(t, p.Process.Pid)
	var got []string
	for _, line := range lines(r, r.ringOf(t, p.Process.Pid), legacy.OpenMP51) {
		_, phrase, _ := strings.Cut(line, ": ")
		got = append(got, phrase)
	}
	diff(t, got, strings.Split(strings.TrimSpace(events60), "\n"))
}

// events2016 are the events of testdata/events2016.c in the words of the report of 2016 and in those of trace. The
// report has no event of an initial task.
const events2016 = `
thread_begin: begins as the initial thread
: begins its initial task
parallel_begin: forks parallel region 0x16 for 4 threads
implicit_task: is thread 0 of 0 in region 0x16
worksharing: begins a loop
worksharing: ends a loop
worksharing: begins sections
worksharing: ends sections
worksharing: begins a single construct, as its executor
worksharing: ends a single construct, as its executor
worksharing: begins a single construct of another thread
worksharing: ends a single construct of another thread
worksharing: begins a workshare construct
worksharing: ends a workshare construct
master: begins a masked construct
master: ends a masked construct
sync_region: comes to a barrier
sync_region_wait: waits at a barrier
sync_region_wait: has waited at a barrier
sync_region: leaves a barrier
sync_region: comes to a taskwait
sync_region_wait: waits at a taskwait
sync_region_wait: has waited at a taskwait
sync_region: leaves a taskwait
sync_region: comes to a taskgroup
sync_region_wait: waits at a taskgroup
sync_region_wait: has waited at a taskgroup
sync_region: leaves a taskgroup
task_create: creates task 0x21
task_create: creates task 0x22
task_schedule: task 0x20 is suspended, continues with task 0x21
task_schedule: task 0x21 is suspended, continues with task 0x22
task_schedule: task 0x22 completes
task_schedule: continues with task 0x21
task_schedule: task 0x21 completes
task_schedule: continues with task 0x20
init_lock: makes lock 0x1000
mutex_acquire: asks for lock 0x1000
mutex_acquired: acquires lock 0x1000
mutex_release: releases lock 0x1000
destroy_lock: destroys lock 0x1000
init_lock: makes nestable lock 0x2000
mutex_acquire: asks for nestable lock 0x2000
mutex_acquired: acquires nestable lock 0x2000
nested_lock: acquires once more nestable lock 0x2000
nested_lock: releases once nestable lock 0x2000
mutex_release: releases nestable lock 0x2000
destroy_lock: destroys nestable lock 0x2000
mutex_acquire: asks for critical 0x3000
mutex_acquired: acquires critical 0x3000
mutex_release: releases critical 0x3000
mutex_acquire: asks for atomic 0x4000
mutex_acquired: acquires atomic 0x4000
mutex_release: releases atomic 0x4000
mutex_acquire: asks for ordered 0x5000
mutex_acquired: acquires ordered 0x5000
mutex_release: releases ordered 0x5000
control: calls omp_control_tool(77, 5)
implicit_task: ends its implicit task
parallel_end: joins region 0x16
: ends its initial task
idle: starts to idle
idle: stops idling
thread_end: ends
runtime_shutdown: the runtime shuts down
`

// TestEvents2016 requires each event of a runtime of the time of the report of 2016, with the arguments that the
// runtime passed. Such a runtime has no events of devices and dependences; the report's names of them are printed for
// the events of OpenMP 5.1.
func TestEvents2016(t *testing.T) {
	exe := build(t, "gcc", "events2016.c", "-rdynamic")
	p := runArgs(t, omptest.Runtime{Name: "of 2016"}, []string{exe}, "LD_PRELOAD="+omptest.Recorder(t),
		"OMPD_RECORDER=all")
	r := readRecording(t, p.Process.Pid)
	g := r.ringOf(t, p.Process.Pid)
	got := lines(r, g, legacy.TR2016)
	diff(t, got, strings.Split(strings.TrimSpace(events2016), "\n"))
	if g.ID != 11 || g.State != 0x101 || len(g.Tasks) != 0 || len(g.Held) != 0 || len(g.Forked) != 0 {
		t.Errorf("at the end: thread %d, state %#x, tasks %v, locks %v, regions %v", g.ID, g.State, g.Tasks, g.Held,
			g.Forked)
	}
	p = runArgs(t, omptest.Runtime{Name: "of 5.1"}, []string{build(t, "gcc", "events51.c")},
		"LD_PRELOAD="+omptest.Recorder(t), "OMPD_RECORDER=all")
	r = readRecording(t, p.Process.Pid)
	got = append(got, lines(r, r.ringOf(t, p.Process.Pid), legacy.TR2016)...)
	requireNames(t, got, legacy.TR2016)
}
