package recordtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/legacy"
)

// names reads docs/history/ompt-names.md: for each name of the specifications, its test or the reason for its
// absence.
func names(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/history/ompt-names.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [^|]+ \\| ([^|]+) \\|$")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		if all[m[1]] != "" {
			t.Errorf("%s is in the table twice", m[1])
		}
		all[m[1]] = m[2]
	}
	return all
}

// testNames returns the names of all tests of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNamedTests requires each test that docs/history/ompt-names.md names, in all its tables.
func TestNamedTests(t *testing.T) {
	text, err := os.ReadFile("../../../docs/history/ompt-names.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, named := testNames(t), 0
	for _, m := range regexp.MustCompile(`\bTest\w+`).FindAllString(string(text), -1) {
		if named++; !tests[m] {
			t.Errorf("there is no test %s", m)
		}
	}
	if named < 300 {
		t.Errorf("%d tests are named", named)
	}
}

// TestNameTable compares the table of the specifications' names with the tests that it names, and with the names
// of events and states in package legacy.
func TestNameTable(t *testing.T) {
	table, tests := names(t), testNames(t)
	if len(table) != 453 {
		t.Errorf("the table has %d names", len(table))
	}
	var events, states []string
	for _, s := range []legacy.Document{legacy.TR2013, legacy.TR2016} {
		events = append(events, s.Names()...)
		for value := range uint16(0x103) {
			states = append(states, s.State(value))
		}
	}
	for name, here := range table {
		switch {
		case strings.HasPrefix(here, "not here: "):
		case !tests[here]:
			t.Errorf("%s: there is no test %q", name, here)
		case strings.HasSuffix(name, "_t"): // a type of C
		case strings.HasPrefix(name, "ompt_event_") && !slices.Contains(events, name):
			t.Errorf("%s is no event's name in package legacy", name)
		case here == "TestState" && !slices.Contains(states, name):
			t.Errorf("%s is no state's name in package legacy", name)
		}
	}
	for _, name := range append(events, states...) {
		if name != "" && table[name] == "" {
			t.Errorf("package legacy has %s, which the table lacks", name)
		}
	}
}
