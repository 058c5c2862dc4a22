package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestReadSaved draws verdicts from a saved picture, and checks the parts of the answer.
func TestReadSaved(t *testing.T) {
	const name = "../../testdata/golden/gnu-deadlock/picture.json"
	pic, err := readSaved(name, engine.Query{Verdicts: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(pic.Verdicts) == 0 || pic.Verdicts[0].Kind != picture.VerdictDeadlock {
		t.Errorf("verdicts %+v, want a deadlock first", pic.Verdicts)
	}
	if pic.Threads != nil || pic.Stacks != nil || pic.Facts == nil {
		t.Errorf("%d threads, %d stacks, facts %v", len(pic.Threads), len(pic.Stacks), pic.Facts)
	}
	if pic, err = readSaved(name, engine.Report(), nil); err != nil || len(pic.Threads) == 0 || len(pic.Stacks) == 0 {
		t.Errorf("of a report: %d threads, %d stacks, %v", len(pic.Threads), len(pic.Stacks), err)
	}
}

// TestReadSavedRefuses checks the errors for a file that is not a picture, for another version, and for a
// picture without facts.
func TestReadSavedRefuses(t *testing.T) {
	bare, err := json.Marshal(picture.Picture{Schema: picture.Schema})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"x":                       "is not a picture",
		`{"schema": "other/1.0"}`: "this version reads " + picture.Schema,
		string(bare):              "lacks threads or facts",
	} {
		name := filepath.Join(t.TempDir(), "p.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readSaved(name, engine.Report(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
