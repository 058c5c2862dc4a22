package docs

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestIndex requires a link to each page of docs in docs/README.md, or in the README.md of the page's directory.
func TestIndex(t *testing.T) {
	for _, path := range documents(t) {
		page, below := strings.CutPrefix(path, "docs/")
		if !below || filepath.Base(page) == "README.md" && filepath.Dir(page) == "." {
			continue
		}
		dir := filepath.Dir(page)
		if strings.Contains(readFile(t, "docs/README.md"), "]("+page+")") {
			continue
		}
		if dir != "verdicts" && dir != "reference" ||
			!strings.Contains(readFile(t, "docs/"+dir+"/README.md"), "]("+filepath.Base(page)) {
			t.Errorf("no index has a link to %s", path)
		}
	}
}
