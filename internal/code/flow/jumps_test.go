package flow

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestJumpsByPointer requires that switches stay in their functions, and that jumps to functions whose addresses come
// from arguments or memory do not. Code for a fixed address has tables of addresses instead of offsets.
func TestJumpsByPointer(t *testing.T) {
	omptest.Needs(t, "compilers")
	want := map[string]bool{"switched": false, "in_loop": false, "by_label": false, "by_argument": true,
		"by_field": true, "by_table": true, "by_list": true, "both": true}
	links := map[string][]string{
		"library":       {"-O2", "-fPIC", "-shared", "testdata/jumps.c"},
		"fixed address": {"-O2", "-fno-pie", "-no-pie", "-rdynamic", "testdata/jumps.c", "testdata/jumps_called.c"},
	}
	for _, compiler := range []string{"gcc", "clang-16"} {
		for link, flags := range links {
			lib := filepath.Join(t.TempDir(), "jumps")
			cmd := exec.Command(compiler, append([]string{"-fcf-protection=none", "-o", lib}, flags...)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", cmd, err, out)
			}
			seen := 0
			for name, f := range functionsOf(t, lib) {
				leaves, named := want[name]
				if !named {
					continue
				}
				seen++
				if got := f.JumpsByPointer(); got != leaves {
					t.Errorf("%s, %s: %s jumps by a pointer: %v, want %v", compiler, link, name, got, leaves)
				}
			}
			if seen != len(want) {
				t.Errorf("%s, %s: %d functions of %d were found", compiler, link, seen, len(want))
			}
		}
	}
}
