package ompdv1

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestGeneratedIsCurrent generates everything that follows from the structs of package
// picture and from the .proto files again, and compares.
func TestGeneratedIsCurrent(t *testing.T) {
	omptest.Needs(t, "the tools module")
	dir := t.TempDir()
	cmd := exec.Command("go", "run", "./contract", "-root", "..", "-out", dir)
	cmd.Dir = filepath.Join("..", "..", "..", "tools")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	compared := 0
	for _, pattern := range []string{"*.schema.json", "ompd/v1/*.pb.go", "ompd/v1/picture.proto", "ompd/v1/api.txt"} {
		root := filepath.Join("..", "..")
		kept, _ := filepath.Glob(filepath.Join(root, pattern))
		fresh, _ := filepath.Glob(filepath.Join(dir, "proto", pattern))
		if len(kept) != len(fresh) || len(fresh) == 0 {
			t.Errorf("%s: %d files generated, %d checked in", pattern, len(fresh), len(kept))
		}
		for _, name := range fresh {
			compared++
			rel, _ := filepath.Rel(filepath.Join(dir, "proto"), name)
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(root, rel)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is stale: go generate ./picture (%v)", rel, err)
			}
		}
	}
	if compared < 5+len(files())+2 {
		t.Errorf("only %d files compared", compared)
	}
}
