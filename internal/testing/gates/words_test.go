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

// oldWords are phrases that were private to this project or are not idiomatic, and the usual ones:
// CONTRIBUTING.md has the glossary. They match as whole words, in any case.
var oldWords = []struct{ old, use string }{
	{"tells whether", "reports whether"},
	{"the begin of", "the start of"},
	{"its begin", "its start"},
	{"given back to", "released to"},
	{"forked by a jump", "tail-called"},
	{"ended with a jump", "ended in a tail call"},
	{"its last call was a jump", "it ended in a tail call"},
	{"behind the end", "past the end"},
	{"took it by", "acquired it with"},
	{"not given back on any way", "not released on any path"},
	{"nobody will give back", "nobody will release"},
	{"can never go on", "can never proceed"},
	{"initialised", "initialized"},
	{"whether it gets on", "whether it makes progress"},
	{"lock without owner", "orphaned lock"},
	{"tasks that nobody runs", "starved tasks"},
	{"barrier not complete", "incomplete barrier"},
	{"last words", "abort message"},
	{"gives nothing back", "never releases"},
}

// TestWords forbids the old words in code, scripts and documents.
func TestWords(t *testing.T) {
	var olds []*regexp.Regexp
	for _, w := range oldWords {
		olds = append(olds, regexp.MustCompile(`(?i)\b`+w.old+`\b`))
	}
	kinds := []string{".go", ".md", ".py", ".c", ".h", ".proto", ".txtar", ".sh"}
	read := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != "."
		if d.IsDir() && (hidden || path == "bin" || path == "dist" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || path == gatesPackage+"/words_test.go" || !slices.Contains(kinds, filepath.Ext(path)) {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		n := 0
		for line := range strings.Lines(string(b)) {
			n++
			for i, w := range oldWords {
				if olds[i].MatchString(line) {
					t.Errorf("%s:%d: %q: say %q", path, n, w.old, w.use)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const least = 500 // files; fewer means that the tree was not found
	if read < least {
		t.Errorf("%d files were read, want at least %d", read, least)
	}
}
