package engine_test

import (
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// counted is a core that counts the reads of its memory.
type counted struct {
	*corefile.Core
	reads *atomic.Int64
}

// ReadMemory reads and counts.
func (c counted) ReadMemory(a callbacks.Address, p []byte) error {
	c.reads.Add(1)
	return c.Core.ReadMemory(a, p)
}

// Lend lends and counts.
func (c counted) Lend(a callbacks.Address, n uint64) []byte {
	c.reads.Add(1)
	return c.Core.Lend(a, n)
}

// TestOneThread queries each thread alone: the result has the same data for it as the result for all threads, its
// stack in the forking thread too, and needs fewer reads.
func TestOneThread(t *testing.T) {
	for _, name := range []string{"gnu-nested", "llvm-nested", "llvm-deadlock", "gnu-barrier", "llvm-tasks-deps",
		"foreign"} {
		t.Run(name, func(t *testing.T) {
			target, reads := counting(t, name)
			q := engine.Query{Parts: picture.Parts{Threads: true, Stacks: true, Native: true}}
			all := look(t, target, q).Threads
			whole := reads.Load()
			fewer := 0
			for _, want := range all {
				q.LWP = want.LWP
				before := reads.Load()
				got := look(t, target, q).Threads
				if reads.Load()-before < whole {
					fewer++
				}
				if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
					t.Errorf("LWP %d alone: %+v, want %+v", want.LWP, got, want)
				}
			}
			if fewer < len(all)-1 { // one alone may need the stacks of others
				t.Errorf("only %d of %d threads needed fewer reads alone", fewer, len(all))
			}
		})
	}
}

// counting opens a golden core and counts its reads.
func counting(t *testing.T, name string) (*engine.Target, *atomic.Int64) {
	t.Helper()
	path, o, done := goldenCore(name)
	t.Cleanup(done)
	core, err := corefile.Open(path, corefile.Options{Exe: o.Exe, Sysroot: o.Sysroot})
	if err != nil {
		t.Fatal(err)
	}
	reads := new(atomic.Int64)
	target := engine.NewTarget(damaged{engine.NewCoreSource(core, path, o), counted{core, reads}}, o)
	t.Cleanup(func() { target.Close() })
	return target, reads
}

// TestOneRegion queries each region alone: the result has only the region, its members and its tasks, all as the
// result for all regions has them. One of a few regions needs fewer reads than all.
func TestOneRegion(t *testing.T) {
	for _, name := range []string{"gnu-nested", "llvm-nested", "llvm-tasks-deps", "gnu-tasks-queued"} {
		t.Run(name, func(t *testing.T) {
			target, reads := counting(t, name)
			q := engine.Report()
			all := look(t, target, q)
			whole, fewer := reads.Load(), 0
			for _, want := range all.Regions {
				q.Region = want.ID
				before := reads.Load()
				got := look(t, target, q)
				if reads.Load()-before < whole {
					fewer++
				}
				if len(got.Regions) != 1 || !reflect.DeepEqual(got.Regions[0], want) {
					t.Errorf("region %s alone: %+v, want %+v", want.ID, got.Regions, want)
				}
				if got.Facts != nil || got.Verdicts != nil {
					t.Errorf("region %s alone has facts %v and verdicts %v", want.ID, got.Facts, got.Verdicts)
				}
				threads := slices.DeleteFunc(slices.Clone(all.Threads), func(th picture.Thread) bool {
					return !slices.Contains(want.Threads, th.LWP)
				})
				tasks := slices.DeleteFunc(slices.Clone(all.Tasks), func(ta picture.Task) bool {
					return ta.Region != want.ID
				})
				if len(threads) == 0 || !reflect.DeepEqual(got.Threads, threads) {
					t.Errorf("threads of region %s alone: %+v, want %+v", want.ID, got.Threads, threads)
				}
				if len(tasks) == 0 || !reflect.DeepEqual(got.Tasks, tasks) {
					t.Errorf("tasks of region %s alone: %+v, want %+v", want.ID, got.Tasks, tasks)
				}
			}
			if fewer < len(all.Regions) {
				t.Errorf("only %d of %d regions needed fewer reads alone", fewer, len(all.Regions))
			}
		})
	}
}

// TestOneTask asks for each task alone.
func TestOneTask(t *testing.T) {
	for _, name := range []string{"gnu-nested", "llvm-tasks-deps", "gnu-tasks-queued"} {
		t.Run(name, func(t *testing.T) {
			target, reads := counting(t, name)
			q := engine.Report()
			all := look(t, target, q)
			whole := reads.Load()
			for _, want := range all.Tasks {
				q.Task = want.ID
				before := reads.Load()
				got := look(t, target, q)
				if n := reads.Load() - before; n >= whole {
					t.Errorf("task %s alone takes %d reads, all %d", want.ID, n, whole)
				}
				if len(got.Tasks) != 1 || !reflect.DeepEqual(got.Tasks[0], want) {
					t.Errorf("task %s alone: %+v, want %+v", want.ID, got.Tasks, want)
				}
				if len(got.Regions) != 1 || got.Regions[0].ID != want.Region {
					t.Errorf("its region: %+v, want %s", got.Regions, want.Region)
				}
				if ran := want.Thread != 0; ran != (len(got.Threads) == 1) || ran && got.Threads[0].LWP != want.Thread {
					t.Errorf("its thread: %+v, want %d", got.Threads, want.Thread)
				}
			}
		})
	}
}

// TestReportOfThread: a report of one thread has its regions and the task that it executes.
func TestReportOfThread(t *testing.T) {
	target, _ := counting(t, "llvm-tasks-deps")
	q := engine.Report()
	for _, want := range look(t, target, q).Threads {
		q.LWP = want.LWP
		got := look(t, target, q)
		if len(got.Threads) != 1 || got.Threads[0].LWP != want.LWP || len(got.Regions) != len(want.Levels) {
			t.Errorf("LWP %d: %d threads, %d regions, want its %d",
				want.LWP, len(got.Threads), len(got.Regions), len(want.Levels))
		}
		var runs picture.ID
		for _, ta := range got.Tasks {
			runs += ta.ID
		}
		if runs != want.Task {
			t.Errorf("LWP %d executes %s, want %s", want.LWP, runs, want.Task)
		}
		if got.Facts != nil {
			t.Errorf("LWP %d: facts", want.LWP)
		}
	}
}

// TestOneUnknown: IDs that the target does not have.
func TestOneUnknown(t *testing.T) {
	target := open(t, "gnu-nested")
	for want, o := range map[error]picture.Only{
		engine.ErrNoThread: {LWP: 1}, engine.ErrNoRegion: {Region: "0x1/9"}, engine.ErrNoTask: {Task: "0x1"},
	} {
		if _, err := target.Look(t.Context(), engine.Query{Only: o}); !errors.Is(err, want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
