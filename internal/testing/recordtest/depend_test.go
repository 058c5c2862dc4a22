package recordtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestDependences compares the recorded dependences with those of a program's tasks and taskwaits: on LLVM's
// runtime from its events, on GNU's from the arrays that the compiler creates, in all their forms.
func TestDependences(t *testing.T) {
	clangs := build(t, "clang-16", "depend.c", "-fopenmp", "-fopenmp-version=51")
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.RuntimeOf(t, 19)} {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			checkDependences(t, run(t, runtime, clangs, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t)), 8)
		})
	}
	for _, runtime := range omptest.Libgomps(t) {
		exe := build(t, "gcc", "depend.c", "-fopenmp", fmt.Sprintf("-DBY_HAND=%d", runtime.Major))
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			want := 10 // and those created by hand
			if runtime.Major >= 13 {
				want = 13
			}
			checkDependences(t, run(t, runtime, exe, "LD_PRELOAD="+omptest.Recorder(t)), want)
		})
	}
}

// checkDependences compares the program's list of its tasks' dependences with the record.
func checkDependences(t *testing.T, p running, tasks int) {
	t.Helper()
	r := readRecording(t, p.Process.Pid)
	created, ended := map[uint64]bool{}, map[uint64]bool{}
	var lists []trace.Event
	for _, g := range r.rings {
		for _, e := range append(g.main[:len(g.main):len(g.main)], g.rare...) {
			switch {
			case e.Code == trace.TaskCreate && e.Kind == 1:
				created[e.Task()] = true
			case e.Code == trace.TaskSchedule:
				ended[e.Task()] = true
			case e.Code == trace.Dependences:
				lists = append(lists, e)
			}
		}
	}
	if len(lists) != tasks {
		t.Fatalf("%d lists of dependences, want %d", len(lists), tasks)
	}
	slices.SortFunc(lists, func(a, b trace.Event) int { return cmp.Compare(a.Time, b.Time) })
	said := strings.NewReader(strings.TrimPrefix(p.said, "READY"))
	var ran int
	if _, err := fmt.Fscan(said, &ran); err != nil || ran == 0 {
		t.Fatalf("it said %q: %v", p.said, err)
	}
	for i, e := range lists {
		want, all := scanDependences(t, said)
		got := e.Dependences()
		if e.Folded != (e.Value == 1 && len(got) == 1) {
			t.Errorf("%d dependences in a record of %+v", len(got), e)
		}
		for i := range got {
			if got[i].Type == 2 { // out
				got[i].Type = 3
			}
		}
		slices.SortFunc(got, byVariable)
		if int(e.Value) != all || e.Cut != (all != len(want)) || !e.Cut && !slices.Equal(got, want) {
			t.Errorf("task %d has %d dependences %v, want %d %v", i, e.Value, got, all, want)
		}
		if e.Cut && len(got) != 30 {
			t.Errorf("%d of %d dependences are kept", len(got), e.Value)
		}
		if !created[e.Task()] || !ended[e.Task()] && len(want) != 1 { // that of taskwait with nowait has one
			t.Errorf("task %d, %#x, was created: %v, and ended: %v", i, e.Task(), created[e.Task()], ended[e.Task()])
		}
	}
}

func byVariable(a, b trace.Dependence) int {
	return cmp.Or(cmp.Compare(a.Variable, b.Variable), cmp.Compare(a.Type, b.Type))
}

// scanDependences reads the next list that the program printed. Beyond the number that is kept, the program
// prints only the total.
func scanDependences(t *testing.T, said *strings.Reader) (list []trace.Dependence, all int) {
	t.Helper()
	_, err := fmt.Fscan(said, &all)
	for range all {
		var d trace.Dependence
		if all > 30 || err != nil {
			break
		}
		_, err = fmt.Fscan(said, &d.Type, &d.Variable)
		list = append(list, d)
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, byVariable)
	return list, all
}
