package verdicts

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestCrashByDeadVariable looks at the crash of a task that uses a variable of a function that has returned, and at one
// of a task whose function waits for it.
func TestCrashByDeadVariable(t *testing.T) {
	for i, run := range handoverRuns(t, "crash_dead_frame") {
		if i%3 == 1 {
			continue
		}
		run.Mode = omptest.Kernel
		name := handoverName(i, run)
		t.Run(name, func(t *testing.T) {
			_, text, _ := e2e.Output(t, "diagnose", omptest.Dump(t, run).Core)
			variable := "a variable"
			if i%3 == 0 { // clang's debug information has no names
				variable = "the variable tile"
			}
			checkWords(t, text, []string{
				"in add crash_dead_frame.c:23", "The task uses " + variable + " of a function that has returned",
				"fix: wait for the task before the function ends", "below its frames",
			}, nil)
		})
		run.Args = []string{"1"}
		t.Run("waits/"+name, func(t *testing.T) {
			_, text, _ := e2e.Output(t, "diagnose", omptest.Dump(t, run).Core)
			checkWords(t, text, []string{"in add crash_dead_frame.c:23"}, []string{"has returned", "wait for the task"})
		})
	}
}
