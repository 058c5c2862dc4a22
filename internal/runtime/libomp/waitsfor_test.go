package libomp_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestWaitsFor checks the tasks for which blocked tasks wait. Each is returned once, for any number of variables
// in the dependence and of paths of the walk.
func TestWaitsFor(t *testing.T) {
	for _, c := range []struct {
		program string
		args    []string
		want    map[int]int // number of tasks, by the number of tasks for which they wait
	}{
		{"tasks_deps", nil, map[int]int{0: 1, 1: 2, 2: 1}}, // the last one waits for the two that read
		{"tasks_deps_two", nil, map[int]int{0: 1, 1: 1}},
		{"verdict_depend", []string{"1"}, map[int]int{0: 1, 1: 1}},
	} {
		for _, rt := range omptest.Runtimes(t) {
			t.Run(c.program+"/"+rt.Name, func(t *testing.T) {
				exe := omptest.Compile(t, omptest.Build{Program: c.program})
				s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Args: c.args})
				region, err := s.CurrentParallel(s.ByLWP[s.Truth.Threads[0].LWP])
				if err != nil {
					t.Fatal(err)
				}
				edges := map[int]int{}
				for h, err := range s.ExplicitTasks(region) {
					if err != nil {
						t.Fatal(err)
					}
					waits, err := s.WaitsFor(h)
					if err != nil {
						t.Errorf("%v: %v", h, err)
					}
					for i, w := range waits {
						if slices.Contains(waits[:i], w) {
							t.Errorf("%v waits for %v more than once", h, w)
						}
					}
					edges[len(waits)]++
				}
				if !maps.Equal(edges, c.want) {
					t.Errorf("tasks by what they wait for: %v, want %v", edges, c.want)
				}
			})
		}
	}
}
