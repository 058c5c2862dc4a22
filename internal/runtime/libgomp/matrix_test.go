package libgomp_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libgomp"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/rtltest"
)

// subject is the open core of a program, with the program's own output.
type subject struct{ *rtltest.Subject }

// expected lists the known limits for GNU's runtime: GCC's code does not distinguish all barriers.
var expected = rtltest.Expect{
	Lines: true, OwnWord: true,
	Fits: func(got, want string) bool {
		return got == "wait_barrier" && (want == "wait_barrier_explicit" || want == "wait_barrier_implicit_workshare")
	},
	Unknown: func(icv string, why callbacks.RC) bool { return why == callbacks.Unavailable && icv == "stacksize-var" },
}

// openCore dumps a program on a runtime and opens the core.
func openCore(t *testing.T, run omptest.Run) *subject {
	t.Helper()
	return &subject{rtltest.Open(t, libgomp.Driver(), run, expected)}
}

// variant is one way to build and run a program.
type variant struct {
	name    string
	flags   []string
	strip   bool
	env     []string
	mode    omptest.Mode
	static  bool
	nolines bool // no debug information
	nocode  bool // without the names of the runtime's functions
	only    []string
}

func variants() []variant {
	return []variant{
		{name: "O1", flags: []string{"-O1", "-g"}, mode: omptest.Kernel},
		{name: "O0", flags: []string{"-O0", "-g"}, mode: omptest.Gcore},
		{name: "O2-stripped", flags: []string{"-O2"}, strip: true, mode: omptest.Kernel, nolines: true},
		{name: "active", flags: []string{"-O3", "-g", "-no-pie"},
			env: []string{"OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=infinite"}, mode: omptest.Kernel,
			only: []string{"spinning", "lock", "lock_cycle", "critical", "nest_lock", "ordered", "reduction",
				"taskwait", "taskgroup",
				"tasks_deps", "crash_task", "cxx_lambda"}},
		{name: "static", flags: []string{"-O1", "-g", "-static"}, static: true, mode: omptest.Kernel},
		{name: "static-stripped", flags: []string{"-O1", "-static"}, strip: true, static: true, mode: omptest.Kernel,
			nolines: true, nocode: true},
		{name: "archive-stripped", flags: []string{"-O1",
			"-Wl,--as-needed,--whole-archive,-l:libgomp.a,--no-whole-archive"},
			strip: true, static: true, mode: omptest.Kernel, nolines: true, nocode: true,
			only: []string{"barrier", "nested", "lock", "critical", "tasks_deps", "idle"}},
		{name: "static-pie", flags: []string{"-O2", "-g", "-static-pie"}, static: true, mode: omptest.Kernel},
	}
}

func programs() []string {
	return []string{
		"barrier", "barrier_for", "barrier_single", "crash_task", "critical", "idle", "lock", "lock_cycle", "many",
		"nest_lock",
		"nested", "ordered", "pthreads", "cloned", "reduction", "roots", "serialized_nested", "spinning", "taskgroup",
		"tasks_deps",
		"tasks_queued", "taskwait", "cxx_lambda", "fortran_barrier", "cxx_locks", "fortran_nested",
	}
}

// TestWhatThreadsWereTold compares threads, regions, tasks and states with the results of omp_get_* in each
// thread of each program. A quick run uses one variant, and parts of the others in turn.
func TestWhatThreadsWereTold(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			for _, program := range programs() {
				if v.only != nil && !slices.Contains(v.only, program) {
					continue // its threads are in position only when they sleep
				}
				if v.name != "O1" && !omptest.Turn(1, v.name, program) {
					continue
				}
				t.Run(program, func(t *testing.T) {
					run := omptest.Run{Mode: v.mode, Env: v.env}
					if !v.static {
						run.Runtime = omptest.Libgomp(t)
					}
					v.check(t, program, run)
				})
			}
		})
	}
}

// check builds and runs a program, and checks all readers against its output.
func (v variant) check(t *testing.T, program string, run omptest.Run) *subject {
	run.Exe = omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC, Flags: v.flags, Strip: v.strip})
	s := openCore(t, run)
	s.Expect.Lines, s.Expect.Nameless = !v.nolines, v.nocode
	s.Check(t)
	return s
}

// TestReleases runs the same checks on the runtimes of other releases of GCC.
func TestReleases(t *testing.T) {
	for _, rt := range omptest.Libgomps(t) {
		t.Run(rt.Name, func(t *testing.T) {
			for _, program := range programs() {
				t.Run(program, func(t *testing.T) {
					v := variant{flags: []string{"-O1", "-g"}}
					run := omptest.Run{Mode: omptest.Kernel, Runtime: rt}
					if rt.Major < 11 { // omp_set_max_active_levels alone did not allow nesting
						run.Env = []string{"OMP_NESTED=true"}
					}
					s := v.check(t, program, run)
					s.checkRelease(t, rt.Major)
				})
			}
		})
	}
	t.Run("static-11", func(t *testing.T) {
		for _, program := range []string{"barrier", "nested", "tasks_deps", "lock", "taskgroup", "idle"} {
			t.Run(program, func(t *testing.T) {
				v := variant{flags: []string{"-O1", "-g", "-static", "-L" + omptest.StaticLibgomp(t)}}
				s := v.check(t, program, omptest.Run{Mode: omptest.Kernel})
				s.checkRelease(t, 11)
			})
		}
	})
}

// checkRelease checks that the release of GCC was recognized, and that several agreeing sources gave the layout.
func (s *subject) checkRelease(t *testing.T, major int) {
	t.Helper()
	id := s.Identity()
	low, high, ranged := strings.Cut(strings.TrimSuffix(id.Version, " or newer"), "-")
	first, _ := strconv.Atoi(low)
	last, _ := strconv.Atoi(high)
	if open := strings.HasSuffix(id.Version, " or newer"); major < first || ranged && major > last || !open &&
		!ranged && major != first {
		t.Errorf("version %q by %s, it is %d", id.Version, id.VersionBy, major)
	}
	agreed := 0
	for _, e := range s.Layout().Entries {
		if len(e.Agreed) > 0 {
			agreed++
		}
		if e.Err != nil && !e.Optional || len(e.Claims) > 0 {
			t.Errorf("%v: %v %v", e, e.Err, e.Claims)
		}
	}
	if agreed < 30 {
		t.Errorf("%d places have two sources, want 30 or more", agreed)
	}
}
