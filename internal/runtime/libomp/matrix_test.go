package libomp_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/rtltest"
)

// subject is the open core of a program, with the program's own output.
type subject struct{ *rtltest.Subject }

// expected lists the known limits for LLVM's runtime. Globals that a layout does not contain are left out.
var expected = rtltest.Expect{
	Sources: true,
	Unknown: func(_ string, why callbacks.RC) bool { return why == callbacks.Incompatible },
}

// openCore dumps a program on a runtime and opens the core.
func openCore(t *testing.T, run omptest.Run) *subject {
	t.Helper()
	return &subject{rtltest.Open(t, libomp.Driver(), run, expected)}
}

// programs lists the programs with threads that print their OpenMP numbers.
var programs = []string{
	"barrier", "barrier_for", "barrier_single", "crash_task", "critical", "idle", "lock", "lock_cycle", "many",
	"nest_lock",
	"nested", "ordered", "pthreads", "reduction", "roots", "serialized_nested", "spinning", "taskgroup", "tasks_deps",
	"tasks_queued", "taskwait", "teams", "hidden_helper", "crash_forming",
}

// TestWhatThreadsWereTold compares regions and tasks with the results of omp_get_* in each thread of each
// program on each runtime. A quick run uses one runtime, and parts of the others in turn.
func TestWhatThreadsWereTold(t *testing.T) {
	for _, program := range programs {
		for _, rt := range omptest.Runtimes(t) {
			for _, env := range [][]string{nil, {"OMP_DEBUG=enabled"}} {
				name := fmt.Sprint(program, "/", rt.Major, env)
				if (rt.Major != 16 || env != nil) && !omptest.Turn(1, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					exe := omptest.Compile(t, omptest.Build{Program: program})
					s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: env})
					s.Expect.Tracked = env != nil
					s.Check(t)
				})
			}
		}
	}
}

// withoutRelease returns a driver with a table that lacks the row of a release.
func withoutRelease(release int) rtl.Driver {
	d := libomp.Driver()
	open := d.Open
	d.Open = func(t callbacks.Target, first handles.Stamp, o rtl.Options) ([]rtl.Runtime, error) {
		o.Without = []string{strconv.Itoa(release)}
		return open(t, first, o)
	}
	return d
}

// TestUnknownReleases compares each release with its threads' output, with a table that lacks the release's row.
func TestUnknownReleases(t *testing.T) {
	for _, major := range omptest.Today(t, []int{11, 13, 14, 15, 16, 17, 18, 19, 23}) {
		count := omptest.RecordSupport(t, omptest.SupportPart{Runtime: "libomp", Release: major, Target: "core",
			Build: "without its row"})
		for _, program := range programs {
			if !omptest.Turn(1, fmt.Sprint(major), program) {
				continue
			}
			t.Run(fmt.Sprint(major, "/", program), func(t *testing.T) {
				defer count(t)
				want := expected
				switch {
				case major < 13 && program == "hidden_helper": // not supported there
					return
				case major < 13 && program == "serialized_nested": // no function of a serialized region
					want.Sources, want.Nameless = false, true
				}
				exe := omptest.Compile(t, omptest.Build{Program: program})
				run := omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, major), Mode: omptest.Kernel}
				rtltest.Open(t, withoutRelease(major), run, want).Check(t)
			})
		}
	}
}
