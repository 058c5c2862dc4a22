package ompd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// openCore makes a core of a program and opens its only runtime.
func openCore(t *testing.T, program string, rt omptest.Runtime, env ...string) (*Process, *omptest.Result) {
	t.Helper()
	b := omptest.Build{Program: program}
	if strings.HasPrefix(rt.Name, "libgomp") {
		b.Compiler = omptest.GCC
	}
	exe := omptest.Compile(t, b)
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: env})
	core, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { core.Close() })
	var l Library
	if err := l.Initialize(202111); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Finalize() })
	ps, err := l.ProcessInitialize(core, Options{Epoch: 1})
	if err != nil || len(ps) != 1 {
		t.Fatalf("%d runtimes, want 1: %v", len(ps), err)
	}
	return ps[0], r
}

// TestCores compares with the results of omp_get_* in the programs' threads.
func TestCores(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		for _, c := range [][]string{{"nested"}, {"pthreads"}, {"serialized_nested"},
			{"serialized_nested", "OMP_DEBUG=enabled"}, {"teams", "OMP_DEBUG=enabled"}} {
			t.Run(strings.Join(append(c, rt.Name), "/"), func(t *testing.T) {
				p, r := openCore(t, c[0], rt, c[1:]...)
				inRegion := 0
				for _, w := range r.Truth.Threads {
					h, err := p.ThreadHandle(callbacks.LWP(uint64(w.LWP)))
					if !w.OpenMP {
						wantRC(t, err, callbacks.Unavailable)
						continue
					}
					if err != nil {
						t.Error(err)
						continue
					}
					byPthread, err := p.ThreadHandle(callbacks.Pthread(uint64(w.Pthread)))
					want(t, byPthread, err, h)
					id, err := p.ThreadID(h, callbacks.ThreadIDLWP)
					want(t, id, err, callbacks.LWP(uint64(w.LWP)))
					if w.Role != "idle" {
						inRegion++
						checkThread(t, p, h, w)
					}
				}
				if inRegion < 2 {
					t.Errorf("%d threads in a region, want 2 or more", inRegion)
				}
			})
		}
	}
}

// checkThread compares the per-variable routines of the draft for a thread.
func checkThread(t *testing.T, p *Process, h handles.Thread, w omptest.ThreadTruth) {
	t.Helper()
	region, err := p.CurrentParallel(h)
	if err != nil {
		t.Fatal(err)
	}
	task, err := p.CurrentTask(h)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		got  func() (any, error)
		want any
	}{
		"level":             {asAny(p.Level, region), w.Level},
		"active level":      {asAny(p.ActiveLevel, region), w.ActiveLevel},
		"team size":         {asAny(p.NumThreads, region), w.TeamSize},
		"thread number":     {asAny(p.ThreadNum, task), w.ThreadNum},
		"in parallel":       {asAny(p.InParallel, task), w.InParallel != 0},
		"in final":          {asAny(p.InFinal, task), w.InFinal != 0},
		"dynamic":           {asAny(p.Dynamic, task), w.Dynamic != 0},
		"nested":            {asAny(p.Nested, task), w.MaxActiveLevels > 1},
		"max threads":       {asAny(p.MaxThreads, task), int64(w.MaxThreads)},
		"max active levels": {asAny(p.MaxActiveLevels, task), int64(w.MaxActiveLevels)},
		"thread limit":      {asAny(p.ThreadLimit, task), int64(w.ThreadLimit)},
		"schedule": {func() (any, error) { s, err := p.Schedule(task); return s.Kind, err },
			[]string{"", "static", "dynamic", "guided", "auto"}[w.ScheduleKind&7]},
	} {
		if got, err := c.got(); err != nil || got != c.want {
			t.Errorf("LWP %d, %s: %v, %v; want %v", w.LWP, name, got, err, c.want)
		}
	}
	checkMembers(t, p, h, region, w)
	checkAncestors(t, p, task, w)
}

// checkAncestors requires that the tasks which generated a thread's implicit task end at the initial task: one for each
// level of its region.
func checkAncestors(t *testing.T, p *Process, task handles.Task, w omptest.ThreadTruth) {
	t.Helper()
	n := 0
	for ; ; n++ {
		info, err := p.Task(task)
		if err != nil {
			t.Fatal(err)
		}
		if info.Kind == picture.TaskInitial {
			break
		}
		if task, err = p.GeneratingTask(task); err != nil {
			t.Fatal(err)
		}
	}
	if n != w.Level {
		t.Errorf("LWP %d: %d ancestors of its task, want %d", w.LWP, n, w.Level)
	}
}

// asAny returns a call of ask for h.
func asAny[H, R any](ask func(H) (R, error), h H) func() (any, error) {
	return func() (any, error) { return ask(h) }
}

// checkMembers compares the members and the levels of thread h's region.
func checkMembers(t *testing.T, p *Process, h handles.Thread, region handles.Parallel, w omptest.ThreadTruth) {
	t.Helper()
	threads, err := p.ThreadsInParallel(region)
	if err != nil || len(threads) != w.TeamSize || threads[w.ThreadNum] != h {
		t.Errorf("LWP %d is number %d of %v, %v", w.LWP, w.ThreadNum, threads, err)
	}
	tasks, err := p.ImplicitTasks(region)
	if err != nil || len(tasks) != w.TeamSize {
		t.Errorf("LWP %d: implicit tasks %v, %v", w.LWP, tasks, err)
	}
	var sizes []int
	for r := region; ; {
		info, err := p.Parallel(r)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append([]int{info.TeamSize}, sizes...)
		if info.Level == 0 { // a league's teams are in another region of level 0
			break
		}
		if r, err = p.EnclosingParallel(r); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(sizes) != fmt.Sprint(w.Sizes) {
		t.Errorf("LWP %d: team sizes outwards %v, want %v", w.LWP, sizes, w.Sizes)
	}
}

// TestNoRuntime opens a target without an OpenMP runtime.
func TestNoRuntime(t *testing.T) {
	_, r := openCore(t, "barrier", omptest.RuntimeOf(t, 16))
	core, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	ps, err := Open(noRuntime{core}, Options{})
	wantRC(t, err, callbacks.Incompatible)
	want(t, len(ps), nil, 0)
}

// noRuntime is a target with hidden modules.
type noRuntime struct{ callbacks.Target }

func (noRuntime) Symbol(string, string) (callbacks.Address, error) {
	return callbacks.Address{}, callbacks.ErrNoSymbol
}

// TestImplicitTaskWasNotScheduled requires the same answer of both runtimes: no task was suspended to execute an
// implicit task.
func TestImplicitTaskWasNotScheduled(t *testing.T) {
	for _, rt := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.Libgomp(t)} {
		p, r := openCore(t, "barrier", rt)
		asked := 0
		for _, w := range r.Truth.Threads {
			h, err := p.ThreadHandle(callbacks.LWP(uint64(w.LWP)))
			if err != nil {
				continue
			}
			task, err := p.CurrentTask(h)
			if err != nil {
				t.Errorf("%s: %v", rt.Name, err)
				continue
			}
			_, err = p.SchedulingTask(task)
			wantRC(t, err, callbacks.Unavailable)
			asked++
		}
		if asked < 2 {
			t.Errorf("%s: %d tasks, want those of a team", rt.Name, asked)
		}
	}
}
