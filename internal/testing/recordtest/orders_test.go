package recordtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestLockOrders finds in one recorded program each inversion of two and three locks, without a hang. It
// finds no inversion where a lock, an ordered construct, a barrier, a join or a taskwait separates the orders,
// nor from the sequence of tasks.
func TestLockOrders(t *testing.T) {
	recorder := omptest.Recorder(t)
	clangs := build(t, "clang-16", "orders.c", "-fopenmp", "-L/usr/lib/llvm-16/lib")
	older := build(t, "clang-16", "orders.c", "-fopenmp", "-L/usr/lib/llvm-16/lib", "-DNO_DEPEND_WAIT")
	gccs := build(t, "gcc", "orders.c", "-fopenmp")
	for _, runtime := range append(omptest.Runtimes(t), omptest.Libgomp(t)) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			exe, env, want := clangs, "OMP_TOOL_LIBRARIES=", orderCases
			switch {
			case gnu(runtime):
				exe, env = gccs, "LD_PRELOAD="
			case runtime.Major < 16:
				exe, want = older, orderCases-2
			}
			p := run(t, runtime, exe, env+recorder, "OMP_WAIT_POLICY=passive")
			cycles := analyze.LockOrder(readRecording(t, p.Process.Pid).Recording, analyze.Window{}, analyze.Calls{})
			reader := strings.NewReader(p.said)
			var size uint64
			if _, err := fmt.Fscanf(reader, "READY %d", &size); err != nil {
				t.Fatal(err)
			}
			for cases := 0; ; cases++ {
				var c orderCase
				if _, err := fmt.Fscan(reader, &c.name, &c.want, &c.at); err != nil {
					if cases != want {
						t.Errorf("%d cases, want %d: %v", cases, want, err)
					}
					return
				}
				c.size = size
				c.check(t, cycles, runtime)
			}
		})
	}
}

// TestLockOrdersUnknown finds no inversion in the same program if only locks are recorded, or no tasks and no
// barriers: the record then lacks the events that may separate the orders.
func TestLockOrdersUnknown(t *testing.T) {
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		compiler, env := "clang-16", "OMP_TOOL_LIBRARIES="
		if gnu(runtime) {
			compiler, env = "gcc", "LD_PRELOAD="
		}
		exe := build(t, compiler, "orders.c", "-fopenmp", "-L/usr/lib/llvm-16/lib")
		for _, events := range []string{"locks", "default,-tasks"} {
			t.Run(runtime.Name+" "+events, func(t *testing.T) {
				t.Parallel()
				p := run(t, runtime, exe, env+omptest.Recorder(t), "OMP_WAIT_POLICY=passive", "OMPD_RECORDER="+events)
				rec := readRecording(t, p.Process.Pid).Recording
				acquired := 0
				for _, e := range rec.Events(0) {
					if e.Code == trace.MutexAcquired {
						acquired++
					}
				}
				cycles := analyze.LockOrder(rec, analyze.Window{}, analyze.Calls{})
				if acquired < 2*orderCases || len(cycles) != 0 {
					t.Errorf("%d acquisitions, %d cycles", acquired, len(cycles))
				}
			})
		}
	}
}

// orderCases are the cases of orders.c.
const orderCases = 29

// orderCase is a case of orders.c, with the addresses of its locks.
type orderCase struct {
	name     string
	want     int // locks of its cycle; 0: no cycle
	at, size uint64
}

// check looks for cycles with a lock of the case.
func (c *orderCase) check(t *testing.T, cycles []analyze.Cycle, runtime omptest.Runtime) {
	t.Helper()
	if c.name == "tests" && !gnu(runtime) && runtime.Name != omptest.RuntimeOf(t, 19).Name {
		return // LLVM's runtime before 19 reports omp_test_lock as omp_set_lock
	}
	found := 0
	for _, cycle := range cycles {
		if !c.contains(cycle) {
			continue
		}
		found++
		if len(cycle) != c.want {
			t.Errorf("%s: a cycle of %d locks, want %d: %s", c.name, len(cycle), c.want, steps(cycle))
		}
	}
	if c.want != 0 && found != 1 {
		t.Errorf("%s: %d cycles, want 1", c.name, found)
	}
}

// contains reports whether a lock of a cycle is one of the case.
func (c *orderCase) contains(cycle analyze.Cycle) bool {
	for _, s := range cycle {
		if s.First-c.at < c.size {
			return true
		}
	}
	return false
}

// steps formats the steps of a cycle for messages.
func steps(cycle analyze.Cycle) string {
	var out []string
	for _, s := range cycle {
		first, second := s.Events()
		w := trace.Words{}
		out = append(out, fmt.Sprintf("thread %d: %s, %s", s.LWP, w.Mutex(&first), w.Mutex(&second)))
	}
	return strings.Join(out, "; ")
}
