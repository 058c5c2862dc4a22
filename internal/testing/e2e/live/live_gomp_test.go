package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// gompLive is one way to build and run a program of GCC as a live target.
type gompLive struct {
	name    string
	build   omptest.Build
	runtime omptest.Runtime
	env     []string
	only    []string // empty: all programs
	without []string // programs that cannot be built or run so
}

// gompLives returns builds on the GNU runtimes of several releases, and with other libraries linked.
func gompLives(t *testing.T) []gompLive {
	t.Helper()
	var all []gompLive
	for _, rt := range omptest.Libgomps(t) {
		all = append(all, gompLive{name: rt.Name, runtime: rt, env: e2e.NestingEnv(rt)})
	}
	debian := omptest.Libgomp(t)
	return append(all,
		gompLive{name: "O0", build: omptest.Build{Flags: []string{"-O0", "-g"}}, runtime: debian},
		gompLive{name: "O3-no-pie", build: omptest.Build{Flags: []string{"-O3", "-g", "-no-pie"}}, runtime: debian,
			without: []string{"fortran_barrier"}},
		gompLive{name: "stripped", build: omptest.Build{Flags: []string{"-O2"}, Strip: true}, runtime: debian,
			without: []string{"fortran_barrier"}},
		gompLive{name: "spinning", runtime: debian, env: []string{"OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=infinite"},
			only: spinnable()},
		gompLive{name: "sleeping", runtime: debian, env: []string{"OMP_WAIT_POLICY=passive"}},
		gompLive{name: "static", build: omptest.Build{Flags: []string{"-O1", "-g", "-static"}},
			env: e2e.Asleep},
		gompLive{name: "static-pie", build: omptest.Build{Flags: []string{"-O2", "-g", "-static-pie"}},
			without: []string{"fortran_barrier"}, env: e2e.Asleep},
		gompLive{name: "static-11", build: omptest.Build{Flags: []string{"-O1", "-g", "-static",
			"-L" + omptest.StaticLibgomp(t)}}, only: fewSituations()},
	)
}

// supportRow returns the row of this way in the table of tested runtimes.
func (v gompLive) supportRow(t *testing.T) omptest.SupportPart {
	t.Helper()
	row := omptest.SupportPart{Runtime: "libgomp", Release: v.runtime.Major, Target: "process", Build: v.name}
	if v.runtime.Lib == "" {
		row.Runtime, row.Release = "libgomp.a", omptest.Libgomp(t).Major
	}
	if v.name == "static-11" {
		row.Release = 11
	}
	if v.build.Strip {
		row.Target += ", stripped"
	}
	return row
}

// fewSituations returns the programs with the most different pictures.
func fewSituations() []string {
	return []string{"barrier", "nested", "tasks_deps", "lock", "critical", "taskgroup", "idle", "roots", "pthreads",
		"cloned"}
}

// spinnable returns the programs that know when their threads are in place even if no thread sleeps.
func spinnable() []string {
	return []string{"spinning", "serialized_nested", "lock", "lock_cycle", "critical", "nest_lock", "ordered",
		"reduction", "taskwait", "taskgroup", "tasks_deps", "cxx_lambda"}
}

// TestGompLiveMatrix compares the picture of a running process on GCC's runtime with the results of omp_get_* in
// its threads, and with the picture of a core of the same process. It takes all programs on the first runtime,
// and few on the others unless the run is full.
func TestGompLiveMatrix(t *testing.T) {
	for i, v := range gompLives(t) {
		if i > 0 && v.only == nil && !omptest.Full() {
			v.only = fewSituations()
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			count := omptest.RecordSupport(t, v.supportRow(t))
			for _, program := range e2e.GompSituations() {
				if i > 0 && !omptest.Turn(e2e.RestDays, "live", v.name, program) {
					continue
				}
				if strings.HasPrefix(program, "crash_") || slices.Contains(v.without, program) || v.only != nil &&
					!slices.Contains(v.only, program) {
					continue
				}
				t.Run(program, func(t *testing.T) {
					defer count(t)
					b := v.build
					b.Program, b.Compiler = program, omptest.GCC
					run := omptest.Run{Exe: omptest.Compile(t, b), Runtime: v.runtime, Env: v.env}
					checkLive(t, run, func(truth *omptest.Truth) { e2e.AdaptToGCC(program, truth) }, !b.Strip)
				})
			}
		})
	}
}

// TestGompReportOfForkLoop looks at a program of GCC that forks teams all the time.
func TestGompReportOfForkLoop(t *testing.T) {
	for _, v := range gompLives(t) {
		t.Run(v.name, func(t *testing.T) {
			b := v.build
			b.Program, b.Compiler = "fork_loop", omptest.GCC
			checkLoop(t, omptest.Run{Exe: omptest.Compile(t, b), Runtime: v.runtime, Env: v.env})
		})
	}
}
