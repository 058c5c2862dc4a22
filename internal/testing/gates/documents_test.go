package gates_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Limits of the documents.
const (
	maxCell      = 200 // characters of a cell of a table
	maxParagraph = 120 // words of a paragraph or an item of a list
)

// longDocuments are the documents to which the limits do not apply, with the reason.
var longDocuments = map[string]string{
	"docs/guide/dap.md":    "the table of requests",
	"docs/security/dap.md": "conditions that belong together",
}

var (
	cellEnd  = regexp.MustCompile(`(?:^|[^\\])\|`)
	listItem = regexp.MustCompile(`^ *(?:[-*]|\d+\.) `)
)

// TestDocumentsAreReadable limits the length of paragraphs and of cells of tables in README.md and docs. Notes in
// docs/history are exempt.
func TestDocumentsAreReadable(t *testing.T) {
	documents := []string{"README.md"}
	err := filepath.WalkDir("docs", func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && path == "docs/history" {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			documents = append(documents, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const least = 50 // fewer means that the documents were not found
	if len(documents) < least {
		t.Errorf("%d documents, want at least %d", len(documents), least)
	}
	for _, path := range documents {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if longDocuments[path] == "" {
			checkLengths(t, path, string(b))
		}
	}
}

// checkLengths checks the lengths in one document.
func checkLengths(t *testing.T, path, text string) {
	t.Helper()
	words, first, code := 0, 0, false
	end := func() {
		if words > maxParagraph {
			t.Errorf("%s:%d: a paragraph of %d words, more than %d", path, first, words, maxParagraph)
		}
		words = 0
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			end()
			code = !code
			continue
		}
		if code {
			continue
		}
		visible := link.ReplaceAllString(line, "]")
		switch {
		case strings.HasPrefix(line, "|"):
			end()
			for _, cell := range cellEnd.Split(visible, -1) {
				if n := utf8.RuneCountInString(strings.TrimSpace(cell)); n > maxCell {
					t.Errorf("%s:%d: a cell of %d characters, more than %d", path, number, n, maxCell)
				}
			}
			continue
		case line == "" || strings.HasPrefix(line, "#") || listItem.MatchString(line):
			end()
		}
		if words == 0 {
			first = number
		}
		words += len(strings.Fields(visible))
	}
	end()
}
