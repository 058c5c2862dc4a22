package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestBuiltBinary runs the program as built by `make build` and by plain `go build`, after each step by which a
// packager changes an executable, and in a full run as a position-independent executable, which compiles
// everything again. Each prints the same report.
func TestBuiltBinary(t *testing.T) {
	shipped := e2e.BuildTool(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	steps := [][]string{
		{"go", "build", "-o", in("plain"), e2e.CommandPackage},
		{"strip", "-o", in("stripped"), in("plain")},
		{"strip", "--strip-all", "-o", in("stripped twice"), shipped},
		{"objcopy", in("plain"), in("copied")},
		{"objcopy", shipped, in("shipped copied")},
		{"install", "-s", in("plain"), in("installed")},
		{"install", "-s", shipped, in("shipped installed")},
	}
	if omptest.Full() {
		steps = append(steps, []string{"go", "build", "-buildmode=pie", "-o", in("pie"), e2e.CommandPackage},
			[]string{"strip", "-o", in("stripped pie"), in("pie")})
	}
	for _, step := range steps {
		if step[0] != "go" {
			omptest.Needs(t, step[0])
		}
		if out, err := exec.Command(step[0], step[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", step, err, out)
		}
	}
	report := func(bin string) string {
		t.Helper()
		out, err := exec.Command(bin, filepath.Join(e2e.GoldenDir, "llvm-deadlock", "core.zst"), "--sysroot",
			filepath.Join(e2e.GoldenDir, "sysroot")).Output()
		if err != nil {
			t.Fatalf("%s: %v", filepath.Base(bin), err)
		}
		return e2e.WithoutMade(string(out))
	}
	want := report(shipped)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(steps) {
		t.Fatalf("%d programs: %v", len(files), err)
	}
	for _, f := range files {
		if got := report(in(f.Name())); got != want {
			t.Errorf("%s prints\n%s\ninstead of\n%s", f.Name(), got, want)
		}
	}
}
