package recordtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestFork reads the rings of a forked child: they are its own, with the parent's history, and they mark which
// events are the parent's.
func TestFork(t *testing.T) {
	recorder := omptest.Recorder(t)
	exe := build(t, "clang-16", "forks.c", "-fopenmp")
	for _, runtime := range omptest.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			p := run(t, runtime, exe, "OMP_TOOL_LIBRARIES="+recorder)
			var child int
			var before, after uint64
			if n, err := fmt.Sscanf(p.said, "READY %d %v %v", &child, &before, &after); n != 3 {
				t.Fatalf("it said %q: %v", p.said, err)
			}
			r := readRecording(t, child)
			if r.PID != uint32(child) || r.Parent != uint32(p.Process.Pid) || r.Generation != 1 {
				t.Errorf("the child %d has pid %d, parent %d, generation %d", child, r.PID, r.Parent, r.Generation)
			}
			g := r.ringOf(t, child)
			fork := slices.IndexFunc(g.rare, func(e trace.Event) bool { return e.Code == trace.NewFork })
			if fork < 0 || g.rare[fork].Value != uint32(child) || g.rare[fork].A != uint64(p.Process.Pid) {
				t.Fatalf("record %d of %v is of no fork", fork, g.rare)
			}
			if len(g.Held) != 1 || g.Held[0].Lock() != before {
				t.Errorf("the child has locks %v; want %#x", g.Held, before)
			}
			acquired := func(since uint64) int {
				n := 0
				for _, e := range g.main {
					if e.Code == trace.MutexAcquired && e.Lock() == after && e.Time > since {
						n++
					}
				}
				return n
			}
			if acquired(0) != 2 || acquired(g.rare[fork].Time) != 1 {
				t.Errorf("%d acquisitions, %d after the fork, want 2 and 1", acquired(0), acquired(g.rare[fork].Time))
			}
			lives := map[trace.Life]int{}
			for _, g := range r.rings {
				lives[g.Life]++
			}
			// The team of two is new threads of the child, in one ring of the parent's threads, or a new one.
			if lives[trace.Inherited] < 2 || lives[trace.Alive] < 2 {
				t.Errorf("rings by life: %v", lives)
			}
		})
	}
}

// TestThreadStorm runs 640 threads in little memory: rings are used again, the limit holds, and each thread has
// at most one ring, though the runtime ends it in a destructor.
func TestThreadStorm(t *testing.T) {
	exe := build(t, "clang-16", "storm.c", "-fopenmp")
	for _, memory := range []int{1 << 20, 256 << 10} {
		p := run(t, omptest.RuntimeOf(t, 19), exe, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t),
			fmt.Sprint("OMPD_RECORDER_MEMORY=", memory))
		r := readRecording(t, p.Process.Pid)
		if r.Limit != uint64(memory) || r.Used > r.Limit {
			t.Errorf("%d of %d bytes are used", r.Used, r.Limit)
		}
		began := 0
		for _, g := range r.rings {
			began += int(g.Epoch) + 1
			if g.last().Time > g.Last {
				t.Errorf("ring %d: the last record is newer than the newest", g.Index)
			}
		}
		const threads = 640 + 1 // and the initial one
		if lost := int(r.Unrecorded); began+lost != threads {
			t.Errorf("%d rings were taken and %d threads had none, want %d", began, lost, threads)
		}
		if g := r.ringOf(t, p.Process.Pid); len(g.Held) != 1 || g.Epoch != 0 {
			t.Errorf("the initial thread has %d locks, epoch %d", len(g.Held), g.Epoch)
		}
		t.Logf("%d bytes: %d rings, %d threads without", memory, len(r.rings), r.Unrecorded)
	}
}
