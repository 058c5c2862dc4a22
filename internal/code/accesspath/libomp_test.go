package accesspath

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// offsets are the fields of LLVM's kmp_info_t and kmp_taskdata_t with offsets that changed over time, from its
// debug information.
type offsets struct {
	currentTask, currentPlace, maxActiveLevels, schedType, procBind, defaultDevice uint64
}

var libompOffsets = map[int]offsets{
	14: {440, 220, 84, 88, 96, 100},
	15: {440, 220, 84, 88, 96, 100},
	16: {504, 284, 84, 88, 96, 100},
	19: {576, 332, 88, 96, 104, 108},
}

// accessors returns the expected results of functions as fields of the calling thread's descriptor: offsets of
// pointers, then the last field and its size. One of several paths must have this result.
func accessors(o offsets) map[string]string {
	task := fmt.Sprintf("%d.", o.currentTask)
	icv := func(off uint64, size int) string { return fmt.Sprintf("%s%d:%d", task, off, size) }
	return map[string]string{
		"omp_get_level":               "64.848:4",
		"omp_get_active_level":        "64.924:4",
		"omp_get_num_threads":         "64.524:4",
		"omp_get_thread_num":          "32:4",
		"omp_get_team_num":            "64.384:4",
		"omp_get_num_teams":           "64.400.524:4",
		"omp_get_place_num":           fmt.Sprintf("%d:4", o.currentPlace),
		"omp_get_team_size":           "64.400.524:4",
		"omp_get_ancestor_thread_num": "64.400.384:4",
		"omp_in_final":                task + "4:4&0x2",
		"omp_get_dynamic":             icv(68, 1),
		"kmp_get_blocktime":           "64.832.[]" + icv(72, 4),
		"omp_get_max_threads":         icv(76, 4),
		"omp_get_thread_limit":        icv(80, 4),
		"omp_get_max_active_levels":   icv(o.maxActiveLevels, 4),
		"omp_get_proc_bind":           icv(o.procBind, 4),
		"omp_get_default_device":      icv(o.defaultDevice, 4),
	}
}

// TestLibomp compares the fields read by the accessors of real runtimes with the layouts in their debug
// information.
func TestLibomp(t *testing.T) {
	for _, r := range omptest.Runtimes(t) {
		t.Run(r.Name, func(t *testing.T) {
			l := openLibrary(t, r.Lib)
			threads, gtid := threadsOf(t, l)
			cfg := l.config()
			cfg.Follow = func(c symbolic.Target) bool { return c.Entry != gtid }
			cfg.Bounds = defaultBounds()
			cfg.Bounds.Edges = 3
			for name, want := range accessors(libompOffsets[r.Major]) {
				got := results(l.run(cfg, name), threads)
				// only these call a function of the runtime
				if name != "omp_get_team_num" && name != "omp_get_num_teams" {
					got = results(l.run(l.config(), name), threads)
				}
				if !slices.Contains(got, want) {
					t.Errorf("%s returns %q, none is %s", name, got, want)
				}
			}
			schedule(t, l, threads, libompOffsets[r.Major])
			inParallel(t, l, threads)
		})
	}
}

// threadsOf returns the address of __kmp_threads from omp_get_level. It checks that address against the exported
// __kmp_thread_pool. gtid is the function that omp_get_level calls for the thread's number.
func threadsOf(t *testing.T, l *library) (threads, gtid uint64) {
	p := l.run(l.config(), "omp_get_level")[0]
	c, ok := p.Result.Chain()
	if !ok || c.Root.Kind != symbolic.RootGlobal {
		t.Fatalf("omp_get_level starts from %+v", c.Root)
	}
	if pool := l.entry("__kmp_thread_pool"); c.Root.Address != pool-0x48 {
		t.Errorf("__kmp_threads at %#x, __kmp_thread_pool at %#x", c.Root.Address, pool)
	}
	return c.Root.Address, p.Calls[0].Entry
}

// fields returns a chain from a thread's descriptor in the form "64.848:4"; "" for other expressions.
func fields(e *symbolic.Expr, threads uint64) string {
	c, ok := e.Chain()
	if !ok || len(c.Steps) < 3 || c.Root.Kind != symbolic.RootGlobal || c.Root.Address != threads ||
		c.Steps[1].Index == nil {
		return ""
	}
	var s []string
	for _, st := range c.Steps[2:] {
		if st.Index != nil {
			s = append(s, "[]")
			continue
		}
		s = append(s, fmt.Sprint(st.Offset))
	}
	last := fmt.Sprintf(":%d", c.Steps[len(c.Steps)-1].Size)
	if c.Mask != 0 {
		last += fmt.Sprintf("&%#x", c.Mask)
	}
	return strings.ReplaceAll(strings.Join(s, ".")+last, "[].", "[]")
}

func results(paths []symbolic.Path, threads uint64) []string {
	var s []string
	for _, p := range paths {
		if p.End == symbolic.EndReturn {
			s = append(s, fields(p.Result, threads))
		}
	}
	slices.Sort(s)
	return slices.Compact(s)
}

// schedule checks the stores of omp_get_schedule through its arguments, and the switch over the kind of
// schedule.
func schedule(t *testing.T, l *library, threads uint64, o offsets) {
	chunk := fmt.Sprintf("%d.%d:4", o.currentTask, o.schedType+4)
	kind := fmt.Sprintf("%d.%d:4", o.currentTask, o.schedType)
	var chunks, kinds int
	returned := map[uint64]bool{}
	for _, p := range l.run(l.config(), "omp_get_schedule") {
		for _, s := range p.Stores {
			switch arg := s.Address; {
			case arg.Kind != symbolic.KindArg:
			case arg.Val == 1 && fields(s.Value, threads) == chunk:
				chunks++
			case arg.Val == 0 && s.Value.Kind == symbolic.KindConst:
				returned[s.Value.Val] = true
			}
		}
		for _, e := range p.Loads {
			if fields(e, threads) == kind {
				kinds++
			}
		}
	}
	if chunks == 0 || kinds == 0 {
		t.Errorf("omp_get_schedule: chunk stored %d times, kind read %d times", chunks, kinds)
	}
	for _, kind := range []uint64{1, 2, 3, 4, 1 | 1<<31, 2 | 1<<31} { // omp_sched_t, omp_sched_monotonic
		if !returned[kind] {
			t.Errorf("omp_get_schedule does not return %#x, but %v", kind, returned)
		}
	}
}

// inParallel checks a function with a result that depends on a branch.
func inParallel(t *testing.T, l *library, threads uint64) {
	paths := l.run(l.config(), "omp_in_parallel")
	if len(paths) != 2 || len(paths[0].Conds) != 1 || len(paths[1].Conds) != 1 {
		t.Fatalf("omp_in_parallel has %d paths", len(paths))
	}
	for _, p := range paths {
		want := map[lift.CondOp]string{lift.NE: "64.924:4", lift.EQ: "72.4:4"}[p.Conds[0].Op]
		if on := fields(p.Conds[0].A, threads); on != "120:8" || fields(p.Result, threads) != want {
			t.Errorf("omp_in_parallel returns %v if %v", p.Result, p.Conds[0])
		}
	}
}

// TestLibompGlobals checks the functions that return global variables: each returns one of the right size in the
// library's data, and all differ.
func TestLibompGlobals(t *testing.T) {
	want := map[string]uint8{
		"omp_get_cancellation": 4, "omp_get_max_task_priority": 4, "kmp_get_stacksize_s": 8,
		"omp_get_num_procs": 4, "kmp_get_num_known_threads": 4, "kmp_get_library": 4,
		"omp_get_supported_active_levels": 0,
	}
	for _, r := range omptest.Runtimes(t) {
		t.Run(r.Name, func(t *testing.T) {
			l := openLibrary(t, r.Lib)
			seen := map[uint64]string{}
			for name, size := range want {
				for _, p := range l.run(l.config(), name) {
					if size == 0 {
						if p.Result.String() != "2147483647" {
							t.Errorf("%s returns %v, want the constant", name, p.Result)
						}
						continue
					}
					c, ok := p.Result.Chain()
					if !ok || c.Root.Kind != symbolic.RootGlobal || len(c.Steps) != 1 || c.Steps[0].Size != size {
						t.Errorf("%s returns %v, want a variable of %d bytes", name, p.Result, size)
					}
					if other, ok := seen[c.Root.Address]; ok && other != name {
						t.Errorf("%s and %s return the same variable", name, other)
					}
					seen[c.Root.Address] = name
				}
			}
		})
	}
}

// TestLibompTLS checks that the calling thread's number comes from __kmp_gtid,
// found through its module and offset slots, with and without names for calls.
func TestLibompTLS(t *testing.T) {
	for _, r := range omptest.Runtimes(t) {
		l := openLibrary(t, r.Lib)
		cfg := l.config()
		for _, resolve := range []func(uint64) (symbolic.Target, bool){cfg.Resolve, nil} {
			cfg.Resolve = resolve
			found := false
			for _, p := range l.run(cfg, "omp_get_thread_num") {
				for _, e := range p.Loads {
					c, ok := e.Chain()
					found = found || ok && c.Root.Kind == symbolic.RootTLSVar && len(c.Steps) == 1 &&
						l.slots[c.Root.Address+8].Name == "__kmp_gtid"
				}
			}
			if !found {
				t.Errorf("%s: omp_get_thread_num does not read __kmp_gtid (names for calls: %v)", r.Name,
					resolve != nil)
			}
		}
	}
}
