package ompd

import (
	"errors"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

func TestDraftLists(t *testing.T) {
	p := fake()
	threads, err := p.AllThreads()
	if err != nil || !slices.Equal(threads, []handles.Thread{threadA, threadB, threadC}) {
		t.Errorf("all threads: %v, %v", threads, err)
	}
	threads, err = p.ThreadsInParallel(region1)
	if err != nil || !slices.Equal(threads, []handles.Thread{threadA, threadB}) {
		t.Errorf("threads of the region: %v, %v", threads, err)
	}
	tasks, err := p.ImplicitTasks(region1)
	if err != nil || !slices.Equal(tasks, []handles.Task{implicitA, implicitB}) {
		t.Errorf("implicit tasks: %v, %v", tasks, err)
	}
	_, err = p.ImplicitTasks(handles.Parallel{})
	wantRC(t, err, callbacks.StaleHandle)
}

// TestDraftListsInPart uses a list with more errors than are kept.
func TestDraftListsInPart(t *testing.T) {
	n := 0
	list, err := collect(func(yield func(int, error) bool) {
		for ; n < 100; n++ {
			var err error
			if n%2 == 1 {
				err = callbacks.DeviceReadError
			}
			if !yield(n, err) {
				return
			}
		}
	})
	wantRC(t, err, callbacks.DeviceReadError)
	if len(list) != maxErrors || n != 2*maxErrors-1 {
		t.Errorf("%d members and the walk ended at %d: %v", len(list), n, err)
	}
	if !errors.Is(err, callbacks.DeviceReadError) {
		t.Error(err)
	}
}

func TestDraftRegions(t *testing.T) {
	p := fake()
	n, err := p.NumThreads(region1)
	want(t, n, err, 2)
	n, err = p.Level(region1)
	want(t, n, err, 1)
	n, err = p.ActiveLevel(region0)
	want(t, n, err, 0)
	id, err := p.ParallelID(region1)
	want(t, id, err, "parallel@0x2000/1")
	f, err := p.ParallelFunction(region1)
	want(t, f, err, callbacks.Addr(0x401000))
	_, err = p.ParallelFunction(region0)
	wantRC(t, err, callbacks.Unavailable)
}

func TestDraftSettings(t *testing.T) {
	p := fake()
	v, err := p.NumProcs()
	want(t, v, err, 2)
	v, err = p.ThreadLimit(explicit)
	want(t, v, err, 99)
	v, err = p.MaxThreads(explicit)
	want(t, v, err, 3)
	v, err = p.MaxActiveLevels(explicit)
	want(t, v, err, 4)
	for name, ask := range map[string]func(handles.Task) (bool, error){
		"in parallel": p.InParallel, "in final": p.InFinal, "dynamic": p.Dynamic, "nested": p.Nested,
	} {
		if yes, err := ask(explicit); err != nil || !yes {
			t.Errorf("%s: %v, %v", name, yes, err)
		}
	}
	yes, err := p.InParallel(initial)
	want(t, yes, err, false)
	_, err = p.Dynamic(initial) // the variable belongs to the thread, which is unknown
	wantRC(t, err, callbacks.Unavailable)
	s, err := p.Schedule(explicit)
	want(t, s, err, Schedule{"monotonic", "dynamic", 8})
	bind, err := p.ProcBind(explicit)
	want(t, bind, err, "spread")
	text, err := p.DisplayControlVarsText()
	want(t, text, err, "OMP_NUM_THREADS=3,2\nOMP_DYNAMIC=true\n")
	n, err := p.ThreadNum(explicit) // searched in the team
	want(t, n, err, 1)
	n, err = p.ThreadNum(initial)
	want(t, n, err, 0)
	_, err = namedICV(p.rt, "no-such-var", nil)
	wantRC(t, err, callbacks.Unsupported)
}

func TestParseSchedule(t *testing.T) {
	for text, w := range map[string]Schedule{
		"static":                  {Kind: "static"},
		"static,0":                {Kind: "static"},
		"guided, 3":               {Kind: "guided", Chunk: 3},
		"nonmonotonic:dynamic,64": {"nonmonotonic", "dynamic", 64},
	} {
		got, err := parseSchedule(text)
		want(t, got, err, w)
	}
	if _, err := parseSchedule("static,x"); err == nil {
		t.Error("a chunk that is no number was taken")
	}
}
