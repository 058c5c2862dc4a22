package recordtest

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestLibgompConstructs checks that the records of a program of GCC with each construct match in pairs: starts
// and ends, creation and completion.
func TestLibgompConstructs(t *testing.T) {
	exe := build(t, "gcc", "constructs.c", "-fopenmp", "-DWITH_ERROR")
	p := run(t, omptest.Libgomp(t), exe, "LD_PRELOAD="+omptest.Recorder(t), "OMPD_RECORDER=all",
		"OMP_CANCELLATION=true")
	if p.said != "READY 2016\n" {
		t.Errorf("it said %q", p.said)
	}
	var r recording
	var n counts
	reader := open(t, p.Process.Pid)
	for range settleRounds { // threads that are entering the pool
		r = read(t, reader)
		if n = count(r); n.idle == len(r.rings)-1 {
			break
		}
	}
	if r.Source != fromLibgomp {
		t.Errorf("the source is %d", r.Source)
	}
	for what, pair := range map[string][2]int{
		"regions": {n.code[3], n.code[4]}, "tasks": {n.code[5], n.completed}, "locks": {n.code[27], n.code[17]},
		"barriers, but for those of workers that are idle": {n.begun[23], n.ended[23] + n.idle},
		"taskgroup waits": {n.begun[16], n.ended[16]}, "worksharing": {n.begun[20], n.ended[20]},
		"implicit tasks, but for the initial one and idle workers'": {n.begun[7], n.ended[7] + n.idle + 1},
		"nested locks": {n.begun[28], n.ended[28]},
	} {
		if pair[0] != pair[1] || pair[0] == 0 {
			t.Errorf("%s: %d begin, %d end", what, pair[0], pair[1])
		}
	}
	if n.code[30] == 0 || n.code[24] != 2 || n.code[25] != 1 {
		t.Errorf("%d cancellations, %d locks made, %d destroyed", n.code[30], n.code[24], n.code[25])
	}
	if g := r.ringOf(t, p.Process.Pid); len(g.Held) != 0 || len(g.Forked) != 0 || len(g.Tasks) != 1 || g.State != 0 {
		t.Errorf("the initial thread has %d locks, %d regions, %d tasks, state %#x",
			len(g.Held), len(g.Forked), len(g.Tasks), g.State)
	}
}

// counts are numbers of records by code: all, and those of starts and ends.
type counts struct {
	code, begun, ended [256]int
	completed          int // tasks
	idle               int // threads that wait at the end of a region
}

func count(r recording) (n counts) {
	for _, g := range r.rings {
		if g.State == 0x11 {
			n.idle++
		}
		for _, e := range append(g.main[:len(g.main):len(g.main)], g.rare...) {
			n.code[e.Code]++
			switch e.Endpoint {
			case trace.Begin:
				n.begun[e.Code]++
			case trace.End:
				n.ended[e.Code]++
			}
			if e.Code == 6 && e.Kind == 1 {
				n.completed++
			}
		}
	}
	return n
}

// TestLibgompPrograms runs programs of GCC with the recorder loaded before the runtime: they reach their
// positions as without it, and each thread in OpenMP has its ring.
func TestLibgompPrograms(t *testing.T) {
	for _, program := range []string{
		"barrier_for", "critical", "cxx_locks", "fortran_nested", "nest_lock", "nested", "ordered", "reduction",
		"roots", "taskgroup", "tasks_deps", "tasks_queued",
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			p := omptest.Start(t, omptest.Run{
				Exe:     omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC}),
				Runtime: omptest.Libgomp(t), Mode: omptest.Live, Env: []string{"LD_PRELOAD=" + omptest.Recorder(t)},
			})
			r := readRecording(t, p.PID)
			for _, th := range p.Truth.Threads {
				if th.OpenMP && th.Level > 0 {
					r.ringOf(t, th.LWP)
				}
			}
		})
	}
}

// TestRootsAtOnce runs threads that start to use GNU's runtime at the same moment: one of them creates the
// recorder's memory, and all have a ring in it.
func TestRootsAtOnce(t *testing.T) {
	const roots, runs = 2, 60
	exe := build(t, "gcc", "roots.c", "-fopenmp", "-O2")
	for range runs {
		p := run(t, omptest.Libgomp(t), exe, "LD_PRELOAD="+omptest.Recorder(t))
		if r := readRecording(t, p.Process.Pid); len(r.rings) != roots || r.Unrecorded != 0 {
			t.Fatalf("%d threads have rings, %d have none, want %d", len(r.rings), r.Unrecorded, roots)
		}
		_ = p.Process.Kill()
	}
}
