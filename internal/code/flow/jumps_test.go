package flow

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestJumpsByPointer requires that switches stay in their functions, and that jumps to functions whose addresses come
// from arguments or memory do not.
func TestJumpsByPointer(t *testing.T) {
	omptest.Needs(t, "compilers")
	want := map[string]bool{"switched": false, "in_loop": false, "by_argument": true, "by_field": true,
		"by_table": true, "by_list": true, "both": true}
	for _, compiler := range []string{"gcc", "clang-16"} {
		lib := filepath.Join(t.TempDir(), "jumps.so")
		cmd := exec.Command(compiler, "-O2", "-fPIC", "-shared", "-fcf-protection=none", "-o", lib, "testdata/jumps.c")
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
				t.Errorf("%s: %s jumps by a pointer: %v, want %v", compiler, name, got, leaves)
			}
		}
		if seen != len(want) {
			t.Errorf("%s: %d functions of %d were found", compiler, seen, len(want))
		}
	}
}
