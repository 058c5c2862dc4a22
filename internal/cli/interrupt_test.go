package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestInterrupted runs verbs that Ctrl-C has ended: they say one line, and their status is
// that of a program which SIGINT killed.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, verb := range []string{"report", "threads", "diagnose", "doctor"} {
		name := filepath.Join(t.TempDir(), "stderr")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		c := Command{Version: "test", Stdin: os.Stdin, Stdout: f, Stderr: f}
		status := c.Run(ctx, []string{verb, "../../testdata/golden/gnu-barrier/core.zst"})
		f.Close()
		said, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if status != ExitInterrupted || string(said) != "ompd-inspect: interrupted\n" {
			t.Errorf("%s: status %d, %q", verb, status, said)
		}
	}
}
