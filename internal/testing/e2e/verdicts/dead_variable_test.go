package verdicts

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestCrashByDeadVariable looks at the crash of a task that uses a variable of a function that has returned, and at one
// of a task whose function waits for it.
func TestCrashByDeadVariable(t *testing.T) { checkCrashes(t, deadVariables()) }

func deadVariables() []crashCase {
	const place = "in add crash_dead_frame.c:23"
	return []crashCase{
		{
			program: "crash_dead_frame", kind: picture.VerdictCrash,
			has: []string{
				place, " of a function that has returned", "fix: wait for the task before the function ends",
				"below its frames",
			},
			gcc: "The task uses the variable tile", llvm: "The task uses a variable", // clang's names are not kept
		},
		{
			program: "crash_dead_frame", args: []string{"1"}, kind: picture.VerdictCrash, has: []string{place},
			lacks: []string{"has returned", "wait for the task"},
		},
	}
}

// TestCrashByOverlaidVariable looks at crashes of tasks that use a variable of a function that has returned, and whose
// memory is in a newer frame. In the situations without a reason, the variable is alive.
func TestCrashByOverlaidVariable(t *testing.T) { checkCrashes(t, overlaidVariables()) }

func overlaidVariables() (cases []crashCase) {
	for _, s := range []struct{ name, reason string }{
		{"other", "in use for another task, which did not create this one"},
		{"barrier", "which has no variable of the program"},
		{"own", "of a function that has returned"}, // GCC's frames may be smaller than those of the function
		{"call", "and no call of add is on that stack"},
		{"waits", ""}, {"inner", ""}, {"innerown", ""}, {"value", ""},
	} {
		c := crashCase{program: "crash_dead_overlaid", args: []string{s.name}, kind: picture.VerdictCrash}
		if s.reason == "" {
			c.has = []string{"dereferenced a null pointer in add"}
			c.lacks = []string{"has returned", "wait for the task"}
		} else {
			c.has = []string{
				"dereferenced a null pointer in add crash_dead_overlaid.c:49", " of a function that has returned",
				s.reason, "fix: wait for the task before the function ends",
			}
			c.gcc, c.llvm = "uses the variable tile", "uses a variable"
		}
		cases = append(cases, c)
	}
	return cases
}
