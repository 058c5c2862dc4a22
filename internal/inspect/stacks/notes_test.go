package stacks

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestPlainText requires texts for users without names of routines and return codes of OMPD, and the IDs of a picture
// in place of handles.
func TestPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"ompd_get_thread_in_parallel(parallel@0x7f10/1): thread 1 of parallel@0x7f10/1 is not there: it has left it: " +
			"ompd_rc_unavailable": "thread 1 of region 0x7f10/1 is not there: it has left it",
		"implicit task 3 of region 0x7/1: ompd_get_task_in_parallel(parallel@0x7/1): read 0x10: unmapped " +
			"(ompd_rc_device_read_error)": "implicit task 3 of region 0x7/1: read 0x10: unmapped",
		"libgomp: control variables: ControlVars(address space 1, GNU OpenMP runtime): none": "libgomp: control " +
			"variables: none",
		"ExplicitTasks(parallel@0x7/1): task@0x9/2 is circular": "task 0x9/2 is circular",
		"ICV(address_space): a":                                 "a",
		"ompd_initialize: no runtime":                           "no runtime",
		"ompd_get_state(thread@0x1): x (ompd_rc_error)\nompd_get_state(thread@0x2): y: ompd_rc_error": "x\ny",
		"ompd_dll_locations: not found": "ompd_dll_locations: not found",
		"solve(double): no line":        "solve(double): no line",
		"Open(a file): it is not there": "Open(a file): it is not there",
	} {
		if got := PlainText(text); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", text, got, want)
		}
	}
}

// TestWarn requires each warning once, without names of OMPD, whatever its arguments.
func TestWarn(t *testing.T) {
	n := NewNotes(nil)
	for range 2 {
		n.Warn("%s: %v", "libomp", fmt.Errorf("ompd_get_state(thread@0x1): no memory: %w", callbacks.Unavailable))
		n.Warn("libomp: %s", "ompd_get_state(thread@0x1): unread")
	}
	want := []string{"libomp: no memory", "libomp: unread"}
	if got := n.Warnings(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
