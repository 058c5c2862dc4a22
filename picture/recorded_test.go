package picture_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestDisputed compares states with the recorded ones.
func TestDisputed(t *testing.T) {
	for _, c := range []struct {
		name, standard, recorded picture.StateName
		want                     bool
	}{
		{"work_parallel", "", "", false},
		{"wait_lock", "", "wait_lock", false},
		{"wait_lock", "", "work_parallel", true},
		{"work_parallel", "", "wait_lock", true},
		{"wait_barrier_explicit", "", "wait_barrier", false},
		{"idle", "", "wait_barrier_implicit_parallel", false},
		{"idle", "", "work_parallel", true},
		{"wait_mutex", "", "wait_critical", false},
		{"wait_mutex", "work_parallel", "work_parallel", false},
		{"wait_join", "work_serial", "wait_taskwait", true},
		{"overhead", "", "work_parallel", false},
	} {
		s := picture.State{Name: c.name, Standard: c.standard, Recorded: c.recorded}
		if got := s.Disputed(); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
