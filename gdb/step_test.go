package gdb_test

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestStepIntoBody steps into a region and then on. With debug information, clang makes a function around that of the
// body: a `next` there would leave the region.
func TestStepIntoBody(t *testing.T) {
	for name, r := range map[string]omptest.Run{
		"llvm": {
			Exe:     omptest.Compile(t, omptest.Build{Program: "step_body", Flags: []string{"-O0", "-g"}}),
			Runtime: omptest.RuntimeOf(t, 16),
		},
		"gnu": {
			Exe: omptest.Compile(t, omptest.Build{
				Program: "step_body", Compiler: omptest.GCC, Flags: []string{"-O0", "-g"},
			}),
			Runtime: omptest.Libgomp(t),
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := append(environment(r, "/dev/null"), "break 6", "run", "next", "omp step", "next",
				`python print("AT", gdb.newest_frame().find_sal().line)`, "next",
				`python print("THEN", gdb.newest_frame().find_sal().line)`, "kill")
			text := script(t, []string{r.Exe}, lines...)
			if !strings.Contains(text, "\nAT 9\n") || !strings.Contains(text, "\nTHEN 10\n") {
				t.Errorf("the steps do not go through the body:\n%s", text)
			}
		})
	}
}
