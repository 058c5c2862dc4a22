package libgomp_test

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// hostTargets is the number of cases in the program host_target.
const hostTargets = 5

// TestHostTarget reads programs with threads in target regions that the host executes, and compares threads, regions,
// tasks and states with the results of omp_get_* before these regions.
func TestHostTarget(t *testing.T) {
	for _, rt := range omptest.Libgomps(t) {
		for _, level := range []string{"-O0", "-O2"} {
			for kind := range hostTargets {
				t.Run(fmt.Sprintf("%s%s-%d", rt.Name, level, kind), func(t *testing.T) {
					run := omptest.Run{Mode: omptest.Kernel, Runtime: rt, Args: []string{fmt.Sprint(kind)}}
					if rt.Major < 11 { // omp_set_max_active_levels alone did not allow nesting
						run.Env = []string{"OMP_NESTED=true"}
					}
					v := variant{flags: []string{level, "-g"}}
					v.check(t, "host_target", run)
				})
			}
		}
	}
}
