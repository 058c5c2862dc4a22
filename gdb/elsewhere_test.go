package gdb_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestCoreFromElsewhere requires that stacks in gdb are those of the command line for cores whose files are not at the
// paths in the core. gdb fills parts of their code with zeros then.
func TestCoreFromElsewhere(t *testing.T) {
	omptest.Needs(t, "gdb")
	golden := filepath.Join("..", "testdata", "golden")
	for _, name := range []string{"llvm-nested", "gnu-nested"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			g, err := omptest.UnpackGolden(golden, name, dir)
			if err != nil {
				t.Fatal(err)
			}
			core := filepath.Join(dir, "core")
			if err := omptest.Unpack(g.Core, core); err != nil {
				t.Fatal(err)
			}
			args := []string{"stacks", core, "--exe", g.Exe, "--sysroot", g.Sysroot, "--width", "0"}
			want, err := exec.CommandContext(t.Context(), tool, args...).Output()
			if err != nil {
				t.Fatal(err)
			}
			got := script(t, []string{"-iex", "set sysroot " + g.Sysroot, g.Exe, core}, "omp stacks")
			_, got, _ = strings.Cut(got, "\nSTACKS")
			if strings.TrimSpace("STACKS"+got) != strings.TrimSpace(string(want)) {
				t.Errorf("in gdb:\n%s\nalone:%s", got, want)
			}
			if !strings.Contains(string(want), "main [parallel]") {
				t.Errorf("the outer region is not in\n%s", want)
			}
		})
	}
}
