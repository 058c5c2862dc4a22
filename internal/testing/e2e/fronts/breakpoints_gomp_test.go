package fronts

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestGompBreakpointsAreHit sets breakpoints at the tool's addresses for events in GNU's runtime, which lacks the
// standard's locations, and counts gdb's stops there: one for each region, task and, with the symbols of a static
// executable, thread of the program.
func TestGompBreakpointsAreHit(t *testing.T) {
	runtimes := omptest.Libgomps(t)
	for _, c := range []struct {
		name   string
		flags  []string
		env    []string
		inside bool // the names of functions that are not exported are known
	}{
		{name: runtimes[0].Name, flags: []string{"-O1", "-g"}, env: []string{"LD_LIBRARY_PATH=" + runtimes[0].Dir}},
		{name: runtimes[1].Name, flags: []string{"-O2", "-g", "-no-pie"},
			env: []string{"LD_LIBRARY_PATH=" + runtimes[1].Dir}},
		{name: "static", flags: []string{"-O1", "-g", "-static"}, inside: true},
		{name: "static-pie", flags: []string{"-O1", "-g", "-static-pie"}, inside: true},
		{name: "static-11", flags: []string{"-O1", "-g", "-static", "-L" + omptest.StaticLibgomp(t)}, inside: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := underGdb(t, omptest.Compile(t, omptest.Build{Program: "events", Compiler: omptest.GCC,
				Flags: c.flags}), c.env...)
			defer s.quit()
			number := map[string][]int{} // of the breakpoints of each location
			for _, l := range locationsOf(t, s.pid).Locations {
				if l.Address == nil {
					continue
				}
				if l.Source != "equivalent" || !l.Active || l.Function == "" || len(l.Sites) == 0 ||
					l.Sites[0] != *l.Address {
					t.Errorf("%+v", l)
				}
				for _, site := range l.Sites {
					number[l.Name] = append(number[l.Name], s.stopAt(site.String()))
				}
			}
			n := s.finish()
			hits := s.hits()
			want := map[string]int{
				"ompd_bp_parallel_begin": n.regions + n.serialized,
				"ompd_bp_task_begin":     n.tasks + 1, // one is undeferred
			}
			if c.inside {
				want["ompd_bp_parallel_end"], want["ompd_bp_thread_begin"] = n.regions+n.serialized, n.workers
			}
			for name, times := range want {
				s.expect(name, sum(hits, number[name]), times)
			}
			for name := range number {
				if _, known := want[name]; !known && name != "ompd_bp_teams_begin" {
					t.Errorf("%s: nothing tells how often it is passed", name)
				}
			}
		})
	}
}
