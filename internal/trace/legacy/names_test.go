package legacy

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestName checks events with different names in the documents.
func TestName(t *testing.T) {
	for _, c := range []struct {
		e                          Event
		want2013, want2016, want51 string
	}{
		{Event{1, 1, 0}, "ompt_event_thread_create", "ompt_event_thread_begin", "ompt_callback_thread_begin"},
		{
			Event{6, 1, 0}, "ompt_event_task_exit", "ompt_event_task_schedule",
			"ompt_callback_task_schedule",
		},
		{Event{6, 7, 0}, "ompt_event_task_switch", "ompt_event_task_schedule", "ompt_callback_task_schedule"},
		{Event{6, 5, 0}, "", "", "ompt_callback_task_schedule"}, // a detached task's event
		{
			Event{7, 2, 2}, "ompt_event_implicit_task_exit", "ompt_event_implicit_task",
			"ompt_callback_implicit_task",
		},
		{Event{7, 1, 1}, "", "", "ompt_callback_implicit_task"}, // the initial task's
		{
			Event{16, 6, 1}, "ompt_event_wait_taskgroup_begin", "ompt_event_sync_region_wait",
			"ompt_callback_sync_region_wait",
		},
		{
			Event{17, 4, 0},
			"ompt_event_release_nest_lock_last", "ompt_event_mutex_release", "ompt_callback_mutex_released",
		},
		{Event{20, 11, 2}, "ompt_event_loop_end", "ompt_event_worksharing", "ompt_callback_work"},
		{Event{20, 3, 3}, "ompt_event_single_in_block_begin", "ompt_event_worksharing", "ompt_callback_work"},
		{Event{20, 7, 1}, "", "", "ompt_callback_work"}, // taskloop
		{Event{21, 0, 1}, "ompt_event_master_begin", "ompt_event_master", "ompt_callback_masked"},
		{Event{26, 2, 0}, "", "", "ompt_callback_mutex_acquire"}, // a test does not wait
		{Event{28, 0, 2}, "ompt_event_release_nest_lock_prev", "ompt_event_nested_lock", "ompt_callback_nest_lock"},
		{Event{34, 2, 1}, "", "ompt_event_target_data", "ompt_callback_target_data_op_emi"},
		{Event{37, 1, 0}, "", "", "ompt_callback_error"},
		{Event{64, 0, 0}, "", "", ""}, // the recorder's own
		{Event{20, 200, 0}, "", "", "ompt_callback_work"},
	} {
		for s, want := range map[Document]string{TR2013: c.want2013, TR2016: c.want2016, OpenMP51: c.want51} {
			if got := s.Name(c.e); got != want {
				t.Errorf("%s: %+v is %q, want %q", s, c.e, got, want)
			}
		}
	}
}

// TestNames compares the numbers of names with the documents: 57 events in 2013; 27 in 2016; 37 callbacks in 5.1.
func TestNames(t *testing.T) {
	for s, want := range map[Document]int{TR2013: 57, TR2016: 27, OpenMP51: 37} {
		all := s.Names()
		slices.Sort(all)
		all = slices.Compact(all)
		if len(all) != want {
			t.Errorf("%s has %d names, want %d: %s", s, len(all), want, strings.Join(all, " "))
		}
	}
}

func TestFlag(t *testing.T) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	var s Document
	set.Var(&s, "names", "")
	if err := set.Parse([]string{"--names=2016"}); err != nil || s != TR2016 {
		t.Errorf("2016 is %s, error %v", s, err)
	}
	if err := set.Parse([]string{"--names=4.0"}); err == nil || s != TR2016 {
		t.Errorf("4.0 is %s, error %v", s, err)
	}
}

// TestState compares all states with the documents. Where a document has no name for a state, it has the general one.
func TestState(t *testing.T) {
	const prefix, barrier, implicit = "ompt_state_", "wait_barrier", "wait_barrier_implicit"
	type names struct{ of51, of2013, of2016 string } // without their prefix; "" for no name
	same := func(name string) names { return names{name, name, name} }
	want := map[uint16]names{
		0x00:  same("work_serial"),
		0x01:  same("work_parallel"),
		0x02:  same("work_reduction"),
		0x10:  same(barrier),
		0x11:  {"wait_barrier_implicit_parallel", barrier, implicit},
		0x12:  {"wait_barrier_implicit_workshare", barrier, implicit},
		0x13:  {implicit, barrier, implicit},
		0x14:  {"wait_barrier_explicit", barrier, "wait_barrier_explicit"},
		0x15:  {"wait_barrier_implementation", barrier, implicit},
		0x16:  {"wait_barrier_teams", barrier, implicit},
		0x20:  same("wait_taskwait"),
		0x21:  same("wait_taskgroup"),
		0x40:  {"wait_mutex", "", "wait_mutex"},
		0x41:  same("wait_lock"),
		0x42:  same("wait_critical"),
		0x43:  same("wait_atomic"),
		0x44:  same("wait_ordered"),
		0x80:  {"wait_target", "", "wait_target"},
		0x81:  {"wait_target_map", "", "wait_target_data"},
		0x82:  {"wait_target_update", "", "wait_target_update"},
		0x100: same("idle"),
		0x101: same("overhead"),
		0x102: same("undefined"),
	}
	for value := range uint16(0x200) {
		n := want[value]
		for s, name := range map[Document]string{OpenMP51: n.of51, TR2013: n.of2013, TR2016: n.of2016} {
			switch {
			case name == "":
			case s == TR2016:
				name = "omp_state_" + name
			default:
				name = prefix + name
			}
			if got := s.State(value); got != name {
				t.Errorf("%s: %#x is %q, want %q", s, value, got, name)
			}
			if got := s.StateNamed(n.of51); n.of51 != "" && got != name {
				t.Errorf("%s: %s is %q, want %q", s, n.of51, got, name)
			}
		}
	}
}
