package gates_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// link is a link or an image of a document, without its title.
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// document is the path of a document from the root of the repository.
	document = regexp.MustCompile(`\bdocs/[A-Za-z0-9_/.-]*[A-Za-z0-9_-]`)
)

// TestLinks checks that each relative link of a document, and each path of a document in code, leads to a file.
func TestLinks(t *testing.T) {
	checked := 0
	check := func(path, target string) {
		t.Helper()
		checked++
		if _, err := os.Stat(target); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	kinds := []string{".go", ".md", ".py", ".c", ".h", ".proto", ".star", ".txtar", ".yaml", ".yml"}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != "." && d.Name() != ".github"
		if d.IsDir() && (hidden || path == "bin" || path == "dist" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || path == gatesPackage+"/links_test.go" || path == "CHANGELOG.md" ||
			!slices.Contains(kinds, filepath.Ext(path)) {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(b)
		if filepath.Ext(path) == ".md" {
			for _, m := range link.FindAllStringSubmatch(text, -1) {
				target, _, _ := strings.Cut(m[1], "#")
				if target != "" && !strings.Contains(target, ":") {
					check(path, filepath.Join(filepath.Dir(path), target))
				}
			}
			text = link.ReplaceAllString(text, "]")
		}
		for _, target := range document.FindAllString(text, -1) {
			check(path, target)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const least = 100 // fewer means that the tree was not found
	if checked < least {
		t.Errorf("%d links were checked, want at least %d", checked, least)
	}
}
