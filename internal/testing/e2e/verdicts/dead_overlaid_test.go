package verdicts

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestCrashByOverlaidVariable looks at crashes of tasks that use a variable of a function that has returned, and whose
// memory is in a newer frame. In the situations without a reason, the variable is alive.
func TestCrashByOverlaidVariable(t *testing.T) {
	for _, s := range []struct{ name, reason string }{
		{"other", "in use for another task, which did not create this one"},
		{"barrier", "which has no variable of the program"},
		{"own", "of a function that has returned"}, // GCC's frames may be smaller than those of the function
		{"call", "and no call of add is on that stack"},
		{"waits", ""}, {"inner", ""}, {"innerown", ""}, {"value", ""},
	} {
		for i, run := range handoverRuns(t, "crash_dead_overlaid", s.name) {
			if i%3 == 1 { // LLVM's runtime passes GCC's undeferred tasks no copies
				continue
			}
			run.Mode = omptest.Kernel
			t.Run(s.name+"/"+handoverName(i, run), func(t *testing.T) {
				_, text, _ := e2e.Output(t, "diagnose", omptest.Dump(t, run).Core)
				if s.reason == "" {
					checkWords(t, text, []string{"dereferenced a null pointer in add"},
						[]string{"has returned", "wait for the task"})
					return
				}
				variable := "a variable"
				if i%3 != 2 { // clang's debug information has no names
					variable = "the variable tile"
				}
				checkWords(t, text, []string{
					"dereferenced a null pointer in add crash_dead_overlaid.c:49",
					"uses " + variable + " of a function that has returned", s.reason,
					"fix: wait for the task before the function ends",
				}, nil)
			})
		}
	}
}
