package report

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// loopForm is a kind of loop of loop_forms and the expected facts. All have 100 iterations.
type loopForm struct {
	kind   string
	before string // iterations that each thread executes before it stops
	env    string // OMP_SCHEDULE
	// llvm and gcc are the schedule on a family of runtimes; empty if the loop is unknown there.
	llvm, gcc string
	chunk     uint64 // 0: unknown
	start     int64  // of the program's variable; default: 10
	step      int64  // default: 2
	ordered   bool
	norange   bool // clang's code may keep the current range in registers
	noleft    bool // LLVM's runtime counts the remaining iterations in another way
}

func loopForms() []loopForm {
	return []loopForm{
		{kind: "plain", before: "3", llvm: "static"},
		{kind: "chunked", before: "7", llvm: "static", chunk: 5, norange: true},
		{kind: "downwards", before: "2", llvm: "dynamic", gcc: "dynamic", chunk: 5, start: 209, step: -2},
		{kind: "stealing", before: "2", llvm: "dynamic", gcc: "dynamic", chunk: 5},
		{kind: "guided", before: "2", llvm: "guided", gcc: "guided", chunk: 3},
		{kind: "runtime", before: "2", env: "dynamic,4", llvm: "dynamic", gcc: "dynamic", chunk: 4},
		{kind: "runtime", before: "2", env: "nonmonotonic:dynamic,4", llvm: "dynamic", gcc: "dynamic", chunk: 4},
		{kind: "runtime", before: "2", env: "monotonic:dynamic,4", llvm: "dynamic", gcc: "dynamic", chunk: 4},
		{kind: "runtime", before: "2", env: "guided,3", llvm: "guided", gcc: "guided", chunk: 3},
		{kind: "runtime", before: "2", env: "static", llvm: "static", gcc: "static"},
		{kind: "runtime", before: "9", env: "static,6", llvm: "static", gcc: "static", chunk: 6},
		{kind: "auto", before: "2", llvm: "guided", chunk: 1, noleft: true},
		{kind: "doacross", before: "0", llvm: "dynamic", gcc: "dynamic", chunk: 4, ordered: true},
		{kind: "ordered", before: "0", llvm: "static", gcc: "static", chunk: 3, ordered: true},
		{kind: "combined", before: "2", llvm: "dynamic", gcc: "dynamic", chunk: 5},
		{kind: "orphan", before: "3", llvm: "dynamic", gcc: "dynamic", chunk: 7},
		{kind: "distributed", before: "3", llvm: "static"},
		{kind: "taskloop", before: "0"},
		{kind: "after", before: "0"},
	}
}

// TestReportOfLoopForms compares the report on loops of all kinds with the positions that their threads wrote.
// Loops that GCC's code divides in advance are unknown.
func TestReportOfLoopForms(t *testing.T) {
	for _, l := range e2e.Lanes() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			for _, f := range loopForms() {
				t.Run(strings.TrimSuffix(f.kind+"-"+f.env, "-"), func(t *testing.T) {
					r := l.Run(t, e2e.Program{Name: "loop_forms", Args: []string{f.kind, f.before},
						Env: []string{"OMP_SCHEDULE=" + cmp.Or(f.env, "static")}})
					if l.Mode == omptest.Live {
						p := omptest.Start(t, r)
						defer p.Stop()
						f.check(t, l, e2e.ReportProcess(t, p.PID), p.Truth)
						return
					}
					d := omptest.Dump(t, r)
					f.check(t, l, e2e.Report(t, d.Core), d.Truth)
				})
			}
		})
	}
}

// TestReportOfLoopFormsByOtherRuntime runs the loops of GCC's code on LLVM's runtime, which implements GCC's
// interface.
func TestReportOfLoopFormsByOtherRuntime(t *testing.T) {
	rt := omptest.RuntimeOf(t, 16)
	rt.Dir = t.TempDir()
	if err := os.Symlink(rt.Lib, filepath.Join(rt.Dir, "libgomp.so.1")); err != nil {
		t.Fatal(err)
	}
	gnu := e2e.Lane{Name: "served", Family: "libgomp", Build: "O1", Mode: omptest.Live,
		Runtime: func(testing.TB) omptest.Runtime { return rt }}
	for _, f := range loopForms() {
		if f.gcc == "" || f.ordered || f.env == "static,6" {
			continue
		}
		t.Run(strings.TrimSuffix(f.kind+"-"+f.env, "-"), func(t *testing.T) {
			r := gnu.Run(t, e2e.Program{Name: "loop_forms", Args: []string{f.kind, f.before},
				Env: []string{"OMP_SCHEDULE=" + cmp.Or(f.env, "static")}})
			r.Env = slices.DeleteFunc(r.Env, func(v string) bool { return strings.HasPrefix(v, "OMPD_OTHER=") })
			p := omptest.Start(t, r)
			defer p.Stop()
			f.check(t, gnu, e2e.ReportProcess(t, p.PID), p.Truth)
		})
	}
}

func (f loopForm) check(t *testing.T, l e2e.Lane, pic *picture.Picture, truth omptest.Truth) {
	t.Helper()
	schedule := map[string]string{"libomp": f.llvm, "libgomp": f.gcc}[l.Family]
	if n := len(truth.Loops); n != 3 && (f.kind != "distributed" || n < 1) {
		t.Fatalf("%d threads are in the loop, want 3", n)
	}
	sort.Slice(truth.Loops,
		func(i, j int) bool { return f.number(truth.Loops[i].First) < f.number(truth.Loops[j].First) })
	left, given := uint64(100), uint64(0)
	for i, want := range truth.Loops {
		th := e2e.FindThread(pic, want.LWP)
		switch {
		case th == nil:
			t.Fatalf("LWP %d is not there", want.LWP)
		case schedule == "" && th.Loop != nil:
			t.Errorf("LWP %d is in loop %+v, want none", want.LWP, *th.Loop)
		case f.kind == "taskloop" && !slices.ContainsFunc(pic.Tasks, func(task picture.Task) bool {
			return task.Kind == "explicit" && task.State == "running" && task.Thread == want.LWP
		}):
			t.Errorf("LWP %d runs no task", want.LWP)
		case schedule == "":
		case th.Loop == nil:
			t.Errorf("LWP %d is in no loop", want.LWP)
		default:
			next := int64(100)
			if i+1 < len(truth.Loops) {
				next = f.number(truth.Loops[i+1].First)
			}
			f.checkThread(t, l, schedule, [3]int64{want.First, want.Now, next}, th)
			if th.Loop.Left != nil {
				left = *th.Loop.Left
			}
			given += f.size(th.Loop)
		}
	}
	handed := schedule == "dynamic" || schedule == "guided" && !f.noleft
	if handed && left+given != 100 {
		t.Errorf("%d iterations left and %d with threads, want 100", left, given)
	}
}

// number returns the number of the iteration with a value of the program's variable.
func (f loopForm) number(value int64) int64 {
	return (value - cmp.Or(f.start, 10)) / cmp.Or(f.step, 2)
}

// size returns the number of iterations that a thread has got.
func (f loopForm) size(l *picture.Loop) uint64 {
	if l.From == nil || l.To == nil || l.Step == nil {
		return 0
	}
	return uint64((*l.To-*l.From)/(*l.Step)) + 1
}

// checkThread compares one thread's loop with its truth: the first value of its range, its current value, and the
// first iteration of the next thread.
func (f loopForm) checkThread(t *testing.T, l e2e.Lane, schedule string, want [3]int64, th *picture.Thread) {
	t.Helper()
	first, now, next, got := want[0], want[1], want[2], th.Loop
	bad := func(what string) {
		t.Helper()
		b, _ := json.Marshal(got)
		t.Errorf("LWP %d is in %d, from %d: %s: %s", th.LWP, now, first, what, b)
	}
	if got.Schedule != schedule || got.Ordered != f.ordered || (got.Chunk == nil) != (f.chunk == 0) ||
		got.Chunk != nil && *got.Chunk != f.chunk {
		bad("not the loop")
	}
	if got.Iterations != nil && *got.Iterations != 100 || got.Evidence == "" {
		bad("not the iterations")
	}
	if at := got.At; at != nil && (l.Family != "libomp" || *at != f.number(now)) || at == nil && l.Family == "libomp" &&
		f.llvm == "static" && f.env == "" {
		bad("not where it is")
	}
	if f.norange {
		if got.From != nil || got.To != nil {
			bad("a range that cannot be known")
		}
		return
	}
	if got.From == nil || got.To == nil {
		bad("no range")
		return
	}
	from, to := *got.From, *got.To
	if l.Family == "libgomp" && f.kind != "doacross" { // clang counts iterations, and so does GCC in such loops
		from, to = f.number(from), f.number(to)
	}
	last := next - 1 // the division leaves no gaps
	if f.chunk > 0 && schedule != "guided" {
		last = min(f.number(first)+int64(f.chunk)-1, 99)
	}
	if from != f.number(first) || to < f.number(now) || schedule != "guided" && to != last {
		bad("not the range")
	}
}
