package locate

import (
	"errors"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// sourceOrder lists the runtime's locations in the order of its source (ompd-specific.cpp), which the compiler
// keeps.
var sourceOrder = []string{
	"ompd_dll_locations_valid", "ompd_bp_parallel_begin", "ompd_bp_parallel_end", "ompd_bp_task_begin",
	"ompd_bp_task_end",
	"ompd_bp_thread_begin", "ompd_bp_thread_end",
}

// locationsOf returns the locations of a target's only runtime by name.
func locationsOf(tb testing.TB, t callbacks.Target) map[string]handles.Breakpoint {
	tb.Helper()
	mods, err := Find(t, nil)
	if err != nil || len(mods) != 1 {
		tb.Fatalf("%d runtimes, %v", len(mods), err)
	}
	loc, err := Locate(t, mods[0], layout.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]handles.Breakpoint{}
	list, err := NewLocations(t, mods[0], &loc.Layout.Globals).Breakpoints()
	if err != nil {
		tb.Fatal(err)
	}
	for _, b := range list {
		all[b.Name] = b
	}
	if len(all) != len(list) || len(list) != len(handles.StandardBreakpoints()) {
		tb.Fatalf("%d locations, %d names", len(list), len(all))
	}
	return all
}

// TestProvenLocations finds all locations in stripped runtimes, in the order of the source.
func TestProvenLocations(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		t.Run(rt.Name, func(t *testing.T) {
			core, _ := coreOf(t, "taskwait", rt)
			all := locationsOf(t, core)
			last := uint64(0)
			for _, name := range sourceOrder {
				b := all[name]
				if b.How != handles.BreakpointCode || b.Err != nil || len(b.Sites) == 0 || b.Evidence == "" ||
					b.Address.Offset <= last {
					t.Errorf("%s: %+v, behind %#x", name, b, last)
				}
				if b.Active != (name == validLocations) {
					t.Errorf("%s: active %v without OMP_DEBUG", name, b.Active)
				}
				last = b.Address.Offset
			}
			for _, name := range []string{"ompd_bp_device_begin", "ompd_bp_teams_end", "ompd_bp_target_begin"} {
				if b := all[name]; !errors.Is(b.Err, callbacks.Unsupported) || !b.Address.IsNull() {
					t.Errorf("%s: %+v", name, b)
				}
			}
			checkEntries(t, all)
			if b := all["ompd_bp_teams_begin"]; b.How != handles.BreakpointEquivalent ||
				b.Function != "__kmpc_fork_teams" || b.Err == nil {
				t.Errorf("teams: %+v", b)
			}
		})
	}
}

// checkEntries checks the functions that take bodies.
func checkEntries(t *testing.T, all map[string]handles.Breakpoint) {
	t.Helper()
	for name, want := range map[string]handles.BodyEntry{
		"ompd_bp_parallel_begin": {Function: "__kmpc_fork_call", Argument: 2},
		"ompd_bp_task_begin": {Function: "__kmpc_omp_task", Argument: 2, Task: true, BodyOffset: 8,
			TaskArgument: 1},
		"ompd_bp_teams_begin": {Function: "__kmpc_fork_teams", Argument: 2},
	} {
		list := all[name].Entries
		if len(list) == 0 || list[0].Address.IsNull() {
			t.Errorf("%s has no entries: %+v", name, list)
			continue
		}
		want.Address = list[0].Address
		if list[0] != want {
			t.Errorf("%s: %+v", name, list[0])
		}
	}
	if n := len(all["ompd_bp_parallel_end"].Entries); n != 0 {
		t.Errorf("the end of a region has %d entries", n)
	}
}

// TestNamedLocations adds symbols: they are used if the code does not contradict them.
func TestNamedLocations(t *testing.T) {
	core, _ := coreOf(t, "taskwait", omptest.RuntimeOf(t, 16))
	proven := locationsOf(t, core)
	const task, thread, parallel = "ompd_bp_task_end", "ompd_bp_thread_begin", "ompd_bp_parallel_end"
	named := locationsOf(t, &altered{Core: core, symbols: map[string]callbacks.Address{
		task:                            proven[task].Address,
		"_Z20ompd_bp_thread_beginv":     proven[thread].Address,
		parallel:                        proven[task].Address,
		"ompd_bp_device_begin":          proven[task].Address.Add(0x40),
		"_Z24ompd_dll_locations_validv": proven[validLocations].Address,
	}})
	for name, symbol := range map[string]string{task: task, thread: "_Z20ompd_bp_thread_beginv",
		validLocations: "_Z24ompd_dll_locations_validv"} {
		if b := named[name]; b.How != handles.BreakpointSymbol || b.Function != symbol ||
			b.Address != proven[name].Address || !strings.Contains(b.Evidence, "code agrees") {
			t.Errorf("%s: %+v", name, b)
		}
	}
	if b := named["ompd_bp_device_begin"]; b.How != handles.BreakpointSymbol || b.Address.IsNull() {
		t.Errorf("device: %+v", b)
	}
	if b := named[parallel]; !b.Address.IsNull() || !errors.Is(b.Err, callbacks.Incompatible) {
		t.Errorf("contradicted: %+v", b)
	}
}

// TestFoldedLocations merges two locations into one, as linkers may do with identical functions: both must be
// refused.
func TestFoldedLocations(t *testing.T) {
	core, mod := coreOf(t, "taskwait", omptest.RuntimeOf(t, 19))
	proven := locationsOf(t, core)
	begin, end := proven["ompd_bp_task_begin"], proven["ompd_bp_task_end"]
	folded := &altered{Core: core}
	for _, site := range end.Sites {
		redirect(t, folded, site, end.Address, begin.Address)
	}
	all := locationsOf(t, folded)
	for _, name := range []string{"ompd_bp_task_begin", "ompd_bp_task_end"} {
		if b := all[name]; !b.Address.IsNull() || b.Err == nil || len(b.Sites) > 0 {
			t.Errorf("%s: %+v", name, b)
		}
	}
	if b := all["ompd_bp_parallel_begin"]; b.Address != proven["ompd_bp_parallel_begin"].Address {
		t.Errorf("not folded: %+v", b)
	}

	// A runtime that was built without OMPD has no guarded calls.
	for _, name := range sourceOrder {
		folded.poke(proven[name].Address, 0x0b0f, 2) // ud2
	}
	all = locationsOf(t, folded)
	if b := all["ompd_bp_parallel_begin"]; b.How != handles.BreakpointEquivalent || b.Function != "__kmp_fork_call" ||
		!b.Active || !mod.Contains(b.Address) {
		t.Errorf("equivalent: %+v", b)
	}
	if b := all["ompd_bp_task_begin"]; !b.Address.IsNull() || !strings.Contains(b.Err.Error(), "without OMPD") {
		t.Errorf("no equivalent: %+v", b)
	}
}

// redirect changes the call of from after site into a call of to.
func redirect(t *testing.T, m *altered, site, from, to callbacks.Address) {
	t.Helper()
	var code [128]byte
	if err := m.ReadMemory(site, code[:]); err != nil {
		t.Fatal(err)
	}
	for i := range len(code) - 5 {
		next := site.Add(uint64(i) + 5)
		if code[i] == 0xe8 && uint32(callbacks.Word(code[i+1:i+5])) == uint32(from.Sub(next)) {
			m.poke(next.Add(^uint64(3)), to.Sub(next), 4)
			return
		}
	}
	t.Fatalf("no call of %v behind %v", from, site)
}
