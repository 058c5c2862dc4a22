package diagnose_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
)

// docsDir has a page for each kind of verdict, and a list of them.
const docsDir = "../docs/verdicts"

// TestDocs compares the pages in docs/verdicts with the kinds of verdicts: each has the heading of its kind, its
// meaning, an example, its evidence, when it is not reported, and a fix; README.md lists them all. A test in
// internal/testing/e2e/docs compares the examples with the tool's output.
func TestDocs(t *testing.T) {
	list := readDoc(t, "README.md")
	var pages []string
	for _, k := range diagnose.Kinds() {
		page := string(k.Name) + ".md"
		pages = append(pages, page)
		row := fmt.Sprintf("| %s | [`%s`](%s) | `%s` | ", k.Title, k.Name, page, k.Severity)
		if strings.Count(list, "\n"+row) != 1 {
			t.Errorf("README.md: want one row that starts with %q", row)
		}
		checkPage(t, page, fmt.Sprintf("# %s: `%s`\n", k.Title, k.Name))
	}
	files, err := filepath.Glob(docsDir + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := filepath.Base(f); name != "README.md" && !slices.Contains(pages, name) {
			t.Errorf("%s: no verdict has this kind", name)
		}
	}
}

// checkPage checks the heading and the sections of a page.
func checkPage(t *testing.T, name, heading string) {
	t.Helper()
	text := readDoc(t, name)
	meaning, found := strings.CutPrefix(text, heading)
	if !found {
		t.Errorf("%s: it does not start with %q", name, heading)
	}
	sections := strings.Split(meaning, "\n## ")
	titles := []string{"Meaning", "Example", "Evidence", "When it is not reported", "Fix"}
	sections[0] = titles[0] + "\n" + sections[0]
	for _, title := range titles {
		i := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, title+"\n") })
		if i < 0 || len(strings.Fields(strings.TrimPrefix(sections[i], title))) < 3 {
			t.Errorf("%s: no section %q with three words or more", name, title)
		} else if title == "Example" && !strings.Contains(sections[i], "\n<!-- output: ompd-inspect diagnose ") {
			t.Errorf("%s: the example has no marker, so it may differ from the tool's output", name)
		}
	}
}

// readDoc returns a file of docsDir.
func readDoc(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(docsDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
