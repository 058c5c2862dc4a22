// Package docs generates the parts of the documents that follow from other files: the pages of docs/reference, from
// the commands, the schemas, the .proto files, the recorder's header and the results of the matrix; and the examples of
// output, from golden cores and saved pictures. Its tests compare them; go generate writes them again.
package docs

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

//go:generate go test . -update

func TestMain(m *testing.M) { e2e.Main(m, nil) }

// update writes the generated parts of the documents again.
var update = flag.Bool("update", false, "write the generated parts of the documents again")

// readFile returns a file of the module.
func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(e2e.Root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// compare compares a file of the module with its generated text, or writes it.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join(e2e.Root, path), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(readFile(t, path), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			old := "the end of the file"
			if i < len(want) {
				old = want[i]
			}
			t.Errorf("%s:%d is not current (go generate ./internal/testing/e2e/docs):\n%s\nwant\n%s", path, i+1, old,
				line)
			return
		}
	}
	if n := strings.Count(got, "\n") + 1; n < len(want) {
		t.Errorf("%s:%d is not current (go generate ./internal/testing/e2e/docs): it has more lines", path, n+1)
	}
}
