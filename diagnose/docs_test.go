package diagnose_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDocs compares docs/verdicts with the kinds of verdicts: the meaning of each, its evidence, and when it is
// not reported.
func TestDocs(t *testing.T) {
	columns := map[string][]string{}
	for line := range strings.Lines(read(t, "../docs/verdicts/README.md")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if kind := strings.Trim(strings.TrimSpace(cells[0]), "`"); strings.HasPrefix(line, "| `") {
			columns[kind] = cells[1:]
		}
	}
	kinds := slices.Sorted(slices.Values(diagnose.Names()))
	if got := slices.Sorted(maps.Keys(columns)); !slices.Equal(got, kinds) {
		t.Errorf("the table has the kinds %q, want %q", got, kinds)
	}
	for kind, cells := range columns {
		if len(cells) != 3 {
			t.Errorf("%s has %d columns beside its name, want 3", kind, len(cells))
		}
		for i, c := range cells {
			if len(strings.Fields(c)) < 3 {
				t.Errorf("%s: column %d says %q", kind, i+2, c)
			}
		}
	}
}
