package report

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestStateNames prints the states of threads at a barrier and of an idle thread by the names of each document. States
// without a name there have the current one in parentheses.
func TestStateNames(t *testing.T) {
	for _, rt := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.Libgomp(t)} {
		for program, names := range map[string]map[string]string{
			"barrier": {
				"2013": "ompt_state_wait_barrier ", "2016": "omp_state_wait_barrier_",
				"5.1": "ompt_state_wait_barrier_",
			},
			"lock_cycle": {
				"2013": "ompt_state_wait_lock", "2016": "omp_state_wait_lock", "5.1": "ompt_state_wait_lock",
			},
		} {
			b := omptest.Build{Program: program}
			if strings.HasPrefix(rt.Name, "libgomp") {
				b.Compiler = omptest.GCC
			}
			r := omptest.Dump(t, omptest.Run{Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Kernel})
			for document, want := range names {
				status, out, errs := e2e.Output(t, "threads", "--names="+document, r.Core)
				if status != 0 || !strings.Contains(out, want) {
					t.Errorf("%s on %s, %s: no %q in (status %d, %s)\n%s", program, rt.Name, document, want, status,
						errs, out)
				}
			}
			status, _, errs := e2e.Output(t, "threads", "--names=2013", "--json", r.Core)
			if status != 2 || !strings.Contains(errs, "--names changes the text only") {
				t.Errorf("--names with --json: status %d, %s", status, errs)
			}
		}
	}
}
