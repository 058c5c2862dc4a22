package libgomp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// sinceGCC maps a variable to the first release in which it can be found.
var sinceGCC = map[string]int{"team-num-var": 12}

// settings maps test programs, with their arguments, to the environments in which they run.
func settings() map[string][]string {
	return map[string][]string{
		"roots none": nil,
		"roots list": {"OMP_NUM_THREADS=4,3,2", "OMP_SCHEDULE=dynamic,7", "OMP_CANCELLATION=true",
			"OMP_MAX_TASK_PRIORITY=9",
			"OMP_DYNAMIC=false"},
		"barrier bind": {"OMP_PROC_BIND=spread,close", "OMP_PLACES=cores", "OMP_SCHEDULE=monotonic:guided,3",
			"OMP_THREAD_LIMIT=40"},
		"barrier auto": {"OMP_SCHEDULE=auto", "OMP_NUM_THREADS=3"},
	}
}

// TestICVs compares the variables of all threads with the program's own output, in several environments.
func TestICVs(t *testing.T) {
	for _, rt := range omptest.Libgomps(t) {
		for name, env := range settings() {
			t.Run(fmt.Sprint(rt.Major, "/", name), func(t *testing.T) {
				program, _, _ := strings.Cut(name, " ")
				exe := omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC})
				s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: env})
				s.Expect.Unknown = func(icv string, why callbacks.RC) bool {
					return why == callbacks.Unavailable && rt.Major < sinceGCC[icv] || expected.Unknown(icv, why)
				}
				s.CheckICVs(t)
				s.CheckControls(t, env)
				s.CheckBadQuestions(t)
			})
		}
	}
}
