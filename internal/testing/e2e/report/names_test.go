package report

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestOddFunctionNames reports on a program with function names that start like those of runtimes: they count as
// the program's, and the crash is in them.
func TestOddFunctionNames(t *testing.T) {
	const program = "odd_names"
	for name, core := range map[string]*omptest.Result{
		"clang": e2e.DumpProgram(t, program), "gcc": gompCoreOf(t, program),
	} {
		a := e2e.OutputInTime(t, "stacks", core.Core)
		for _, function := range []string{"__kmpc_4", "__kmpc_8u", "__kmpc_", "GOMP_", "GOMP_loop_", "_Z"} {
			if !strings.Contains(a.Stdout, " "+function+" ") && !strings.Contains(a.Stdout, " "+function+"\n") {
				t.Errorf("%s: no %s in\n%s%s", name, function, a.Stdout, a.Errs)
			}
		}
		partial(t, core.Core)
	}
}
