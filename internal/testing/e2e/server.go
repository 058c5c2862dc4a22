package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
)

// Serve runs serve with some flags until the test ends, and returns its address.
func Serve(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	// the last --listen counts
	args := append([]string{"serve", "--listen", "unix://" + filepath.Join(dir, "s")}, flags...)
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() { done <- cli.Command{Stdout: out, Stderr: out}.Run(ctx, args) }()
	t.Cleanup(func() {
		cancel()
		if status := <-done; status != cli.ExitOK {
			t.Errorf("serve: exit status %d", status)
		}
		out.Close()
		log, _ := os.ReadFile(out.Name())
		if !strings.Contains(string(log), "msg=stopped") || strings.Contains(string(log), "level=ERROR") {
			t.Errorf("the server's log:\n%s", log)
		}
	})
	for {
		select {
		case status := <-done:
			done <- status
			t.Fatalf("serve: exit status %d", status)
		default:
		}
		said, _ := os.ReadFile(out.Name())
		if _, at, ok := strings.Cut(string(said), "listening on "); ok && strings.Contains(at, "\n") {
			address, _, _ := strings.Cut(at, "\n")
			return address
		}
	}
}
