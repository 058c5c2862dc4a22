package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestInterrupted runs verbs whose context is canceled, as by Ctrl-C. They print one line, and their exit
// status is that of a program that SIGINT killed.
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
