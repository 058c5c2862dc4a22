package accesspath

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// systemLibgomp is the path of the GCC 12 runtime of Debian 12.
const systemLibgomp = "/usr/lib/x86_64-linux-gnu/libgomp.so.1"

// TestLibgomp checks the access paths of GCC's runtime. They all start from the thread's gomp_thread; a slot in
// the global offset table contains its offset from the thread pointer (initial-exec).
func TestLibgomp(t *testing.T) {
	l := openLibrary(t, systemLibgomp)
	want := map[string]string{
		"omp_get_thread_num":          "tls.40:4",
		"omp_get_level":               "tls.44:4",
		"omp_in_parallel":             "tls.48:4",
		"omp_get_num_threads":         "tls.16.0:4",
		"omp_get_ancestor_thread_num": "tls.16.8.32:4", // team, its prev_ts.team, that team's prev_ts.team_id
		"omp_get_team_size":           "tls.16.8.0:4",
		"omp_in_final":                "tls.88.213:1",
		"omp_get_dynamic":             "tls.88.176:1",
		"omp_get_default_device":      "tls.88.168:4",
		"omp_get_thread_limit":        "tls.88.172:4",
		"omp_get_max_active_levels":   "tls.88.177:1",
		"omp_get_proc_bind":           "tls.88.178:1",
		"omp_get_team_num":            "tls.116:4",
		"omp_get_schedule":            "tls.88.164:4",
	}
	slots := map[uint64]bool{}
	for name, want := range want {
		var got []string
		for _, p := range l.run(l.config(), name) {
			if p.End != symbolic.EndReturn {
				continue
			}
			s, slot := gompFields(p.Result)
			if s != "" {
				slots[slot] = true
				got = append(got, s)
			}
		}
		if !slices.Contains(got, want) {
			t.Errorf("%s returns %q, none is %s", name, got, want)
		}
	}
	if len(slots) != 1 {
		t.Errorf("gomp_tls_data is found through %d slots, want 1", len(slots))
	}
}

func gompFields(e *symbolic.Expr) (s string, slot uint64) {
	c, ok := e.Chain()
	if !ok || c.Root.Kind != symbolic.RootTLSSlot {
		return "", 0
	}
	s = "tls"
	for _, st := range c.Steps {
		s += fmt.Sprintf(".%d", st.Offset)
	}
	return s + fmt.Sprintf(":%d", c.Steps[len(c.Steps)-1].Size), c.Root.Address
}

// TestLibgompArguments checks that stores to a variable are found: GOMP_critical_start stores to the lock of the
// unnamed critical section.
func TestLibgompArguments(t *testing.T) {
	l := openLibrary(t, systemLibgomp)
	for _, p := range l.run(l.config(), "GOMP_critical_start") {
		for _, s := range p.Stores {
			if s.Address.Kind == symbolic.KindGlobal && s.Size == 4 {
				return // the unnamed critical section's lock
			}
		}
	}
	t.Error("GOMP_critical_start stores to no variable")
}
