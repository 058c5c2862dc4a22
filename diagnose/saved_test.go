package diagnose_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestSaved checks that the verdicts of a saved picture are those of the snapshot, byte for byte.
func TestSaved(t *testing.T) {
	names, err := filepath.Glob("../testdata/golden/*/picture.json")
	if err != nil || len(names) < 15 {
		t.Fatalf("%d saved pictures, %v", len(names), err)
	}
	drawn := 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pic := new(picture.Picture)
		if err := json.Unmarshal(b, pic); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if pic.Facts == nil {
			t.Errorf("%s has no facts", name)
		}
		was, _ := json.Marshal(pic.Verdicts)
		is, _ := json.Marshal(diagnose.Run(pic))
		if string(is) != string(was) {
			t.Errorf("%s:\n%s, want\n%s", name, is, was)
		}
		drawn += len(pic.Verdicts)
	}
	if drawn < len(names) {
		t.Errorf("only %d verdicts in %d pictures", drawn, len(names))
	}
}
