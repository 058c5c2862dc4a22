package packaging

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestAarch64Build builds the tool for aarch64. In an emulator, its report of a core is the same as that of the
// tool for this machine.
func TestAarch64Build(t *testing.T) {
	omptest.NeedsCross(t)
	dir := t.TempDir()
	g, err := omptest.UnpackGolden(filepath.Join(root, "testdata/golden"), golden, dir)
	if err != nil {
		t.Fatal(err)
	}
	command(t, ".", "cp", g.Core, "-t", dir)
	reports := map[string]string{}
	for _, arch := range []string{"amd64", "arm64"} {
		tool := filepath.Join(t.TempDir(), "ompd-inspect")
		command(t, root, "make", "-s", "build", "GOARCH="+arch, "BIN="+tool)
		argv := []string{tool}
		if arch == "arm64" {
			argv = omptest.Emulated(tool)
		}
		argv = append(argv, goldenReport...)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), goldenVerdict) {
			t.Fatalf("%s: %v\n%s", arch, err, out)
		}
		reports[arch] = e2e.WithoutMade(string(out))
	}
	omptest.Equal(t, "the report of the tool for aarch64", reports["arm64"], reports["amd64"])
}
