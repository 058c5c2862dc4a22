package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFullOutput writes to a device that is always full. The error is one line, and the exit status is that of
// an unwritable output.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err) // Linux always has this file
	}
	defer full.Close()
	cores, err := filepath.Glob("../../testdata/golden/*/*.zst")
	if err != nil || len(cores) == 0 {
		t.Fatalf("no core: %v", err)
	}
	core := cores[0]
	for _, args := range [][]string{
		{"version"}, {"version", "--json"}, {"report", core}, {"report", "--json", core}, {"tasks", "--json", core},
		{"ps"}, {"--help"},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		status := Command{Stdin: os.Stdin, Stdout: full, Stderr: w}.Run(t.Context(), args)
		w.Close()
		said, _ := io.ReadAll(r)
		var lines []string
		for line := range strings.Lines(string(said)) {
			if !strings.Contains(line, ": unpacking ") { // printed if it takes long
				lines = append(lines, line)
			}
		}
		if status != ExitOutput || len(lines) != 1 || !strings.Contains(lines[0], "no space left") {
			t.Errorf("%v: exit status %d, %q", args, status, said)
		}
	}
}
