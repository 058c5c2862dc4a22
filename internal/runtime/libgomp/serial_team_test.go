package libgomp_test

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// serialTeams is the number of cases in the program serial_team; the last one needs GCC 14 or newer.
const serialTeams = 11

// TestSerialTeam reads programs with a team for their serial code, and compares threads, regions, tasks and
// states with the results of omp_get_* there.
func TestSerialTeam(t *testing.T) {
	for _, rt := range omptest.Libgomps(t) {
		for _, level := range []string{"-O0", "-O2"} {
			for kind := range serialTeams {
				if kind == serialTeams-1 && rt.Major < 14 {
					continue
				}
				t.Run(fmt.Sprintf("%s%s-%d", rt.Name, level, kind), func(t *testing.T) {
					run := omptest.Run{Mode: omptest.Kernel, Runtime: rt, Args: []string{fmt.Sprint(kind)}}
					if rt.Major < 11 { // omp_set_max_active_levels alone did not allow nesting
						run.Env = []string{"OMP_NESTED=true"}
					}
					v := variant{flags: []string{level, "-g"}}
					s := v.check(t, "serial_team", run)
					if why := s.Runtime.(rtl.DamageReader).Damage(); len(why) > 0 {
						t.Errorf("damage: %q", why)
					}
				})
			}
		}
	}
}
