package inspect_test

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestConstructs holds the frames of a thread in a region in a task in a task in a
// region against the constructs of the source. clang gives the body of a task the
// name of a region's, and inlines it in the function that the runtime calls.
func TestConstructs(t *testing.T) {
	for _, optimize := range []string{"-O0", "-O2"} {
		t.Run(optimize, func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: "task_region", Flags: []string{optimize, "-g"}})
			r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel})
			pic := pictureOf(t, configOf(t, r.Core), picture.Parts{Threads: true, Regions: true, Stacks: true,
				Native: true})
			i := slices.IndexFunc(pic.Threads, func(th picture.Thread) bool { return th.LWP == r.Truth.Program.PID })
			if i < 0 {
				t.Fatalf("no LWP %d", r.Truth.Program.PID)
			}
			// A region has its wrapper and its body, a task its entry and its body.
			native := []string{"parallel", "parallel", "task", "task", "task", "task", "parallel", "parallel"}
			user := []string{"parallel", "task", "task", "parallel"}
			if got := constructs(pic.Threads[i].Stack); !slices.Equal(got, native) {
				t.Errorf("native: %v, want %v:\n%s", got, native, show(pic.Threads[i].Stack))
			}
			if got := constructs(pic.Threads[i].UserStack); !slices.Equal(got, user) {
				t.Errorf("user: %v, want %v:\n%s", got, user, show(pic.Threads[i].UserStack))
			}
		})
	}
}

// constructs are those of the frames that have one.
func constructs(fs []picture.Frame) []string {
	var out []string
	for _, f := range fs {
		if f.Construct != "" {
			out = append(out, f.Construct)
		}
	}
	return out
}
