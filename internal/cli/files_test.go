package cli

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestSpecialFiles gives each verb of one target a pipe, a device, a socket and a directory in place of a core, of
// a saved picture and of an executable, and files of secrets. Each verb ends with an error: no open blocks.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	names := map[string]string{"directory": dir, "device": "/dev/zero"}
	for _, end := range []string{"", ".json"} {
		pipe, socket := filepath.Join(dir, "pipe"+end), filepath.Join(dir, "socket"+end)
		zero := filepath.Join(dir, "zero"+end)
		l, err := net.Listen("unix", socket)
		if err := errors.Join(err, unix.Mkfifo(pipe, 0o600), os.Symlink("/dev/zero", zero)); err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		names["pipe"+end], names["socket"+end], names["link"+end] = pipe, socket, zero
	}
	root := Command{}.Tree()
	for what, name := range names {
		lines := [][]string{
			{name}, {"trace", name}, {"trace", "stats", name}, {"symbols", name, "-o", "-"},
			{"job", name}, {"report", "--exe", name, "core"}, {"watch", name}, {"profile", name},
			{"breakpoints", name}, {"dap", "--listen", "127.0.0.1:0", "--secret-file", name},
			{"serve", "--listen", "tcp://127.0.0.1:0", "--token-file", name},
		}
		for _, verb := range consoleVerbs {
			lines = append(lines, []string{verb, name})
		}
		for _, line := range lines {
			if _, _, err := root.Find(line); err != nil && len(line) > 1 {
				t.Fatal(err)
			}
			if status, msg := runTool(t, line...); status == ExitOK || msg == "" {
				t.Errorf("a %s: %s: exit status %d, %q", what, strings.Join(line, " "), status, msg)
			}
		}
	}
}

// TestReadSavedBound reads pictures that take much more memory than their files have bytes: they are refused before
// they are decoded.
func TestReadSavedBound(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.json")
	text := `{"schema":"` + picture.Schema + `","facts":{},"threads":[{}` + strings.Repeat(",{}", 1<<20) + `]}`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	memory := budget.NewLedger(budget.DefaultMemory)
	_, err := readSaved(name, engine.Report(), memory)
	if !errors.Is(err, budget.ErrMemory) || !strings.Contains(err.Error(), "--max-memory") {
		t.Errorf("a million threads: %v", err)
	}
	if err := os.Truncate(name, 2*budget.DefaultMemory); err != nil {
		t.Fatal(err)
	}
	if _, err := readSaved(name, engine.Report(), memory); !errors.Is(err, budget.ErrMemory) {
		t.Errorf("a large file: %v", err)
	}
	const n = 1000
	whole := picture.Picture{Schema: picture.Schema, Facts: &picture.Facts{}, Threads: make([]picture.Thread, n)}
	b, err := json.Marshal(whole)
	if err := errors.Join(err, os.WriteFile(name, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	if pic, err := readSaved(name, engine.Report(), budget.NewLedger(budget.DefaultMemory)); err != nil ||
		len(pic.Threads) != n {
		t.Errorf("a thousand threads: %v", err)
	}
}
