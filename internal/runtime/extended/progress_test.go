package extended

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// openCore opens the core of a program that runs with runtime rt.
func openCore(t *testing.T, program string, rt omptest.Runtime) *Process {
	t.Helper()
	exe := omptest.Compile(t, omptest.Build{Program: program})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel})
	core, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { core.Close() })
	ps, err := Open(core, readers.Options{})
	if err != nil || len(ps) != 1 {
		t.Fatalf("%d runtimes, want 1: %v", len(ps), err)
	}
	return ps[0]
}

// TestProgress reads the counters of four threads in their first region, three of them at a barrier, and of
// threads in a region with queued tasks.
func TestProgress(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		t.Run(rt.Name, func(t *testing.T) {
			p := openCore(t, "barrier", rt)
			// the primary thread counts after all have arrived
			if got := countersOf(t, p, "barriers"); fmt.Sprint(got) != "map[0:2 1:2]" {
				t.Errorf("threads by barriers: %v", got)
			}
			p = openCore(t, "tasks_queued", rt)
			if got := countersOf(t, p, "tasks"); len(got) < 1 || got[0] == 4 {
				t.Errorf("threads by the state of their queues: %v", got)
			}
		})
	}
}

// countersOf counts threads by the value of a counter.
func countersOf(t *testing.T, p *Process, name string) map[uint64]int {
	t.Helper()
	n := map[uint64]int{}
	for h, err := range p.Threads() {
		if err != nil {
			t.Fatal(err)
		}
		list, err := p.Progress(h)
		if err != nil {
			t.Fatalf("%v: %v", h, err)
		}
		for _, c := range list {
			if c.Name == name {
				n[c.Value]++
			}
		}
	}
	return n
}
