package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// FuzzSaved reads bytes as a saved picture. They are refused, or verdicts are drawn from them and they are
// printed, as text and as JSON.
func FuzzSaved(f *testing.F) {
	saved, err := filepath.Glob(filepath.Join("..", "..", "testdata", "golden", "*", "picture.json"))
	if err != nil || len(saved) < 20 {
		f.Fatalf("%d saved pictures, %v", len(saved), err)
	}
	for _, name := range saved {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, byte(1))
		// file names that contain control sequences of a terminal
		f.Add(bytes.ReplaceAll(b, []byte("/"), []byte(`/\u001b[`)), byte(2))
	}
	f.Add([]byte(`{"schema":"ompd-inspect/picture/3.0","threads":[{},{}],"facts":{}}`), byte(0))
	f.Add([]byte(`{"schema":"ompd-inspect/picture/3.0","threads":[],"facts":{"locks":[{}]},"regions":[{}],
		"stacks":[{"frames":[{}]}]}`), byte(1))
	dir := f.TempDir()
	name, out := filepath.Join(dir, "saved.json"), filepath.Join(dir, "out")
	f.Fuzz(func(t *testing.T, b []byte, how byte) {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := os.Create(out)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		args := [][]string{
			{"report", name}, {"report", "--json", name}, {"report", "--all", "--width", "40", name},
			{"diagnose", name},
			{"diagnose", "--json", name},
		}[how%5]
		status := Command{Stdin: os.Stdin, Stdout: w, Stderr: w}.Run(t.Context(), args)
		if status != ExitOK && status != ExitError && status != ExitFound && status != ExitCrash {
			t.Fatalf("%v: exit status %d", args, status)
		}
		printed, err := os.ReadFile(out)
		if status != ExitError && args[1] == "--json" && !json.Valid(printed) || err != nil {
			t.Fatalf("no JSON: %s, %v", printed, err)
		}
	})
}
