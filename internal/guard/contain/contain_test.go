package contain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
)

// TestRun makes errors of panics, and leaves errors as they are.
func TestRun(t *testing.T) {
	plain := errors.New("plain")
	if err := contain.Run(func() error { return plain }); !errors.Is(err, plain) {
		t.Errorf("an error became %v", err)
	}
	if err := contain.Run(func() error { return nil }); err != nil {
		t.Errorf("nothing became %v", err)
	}
	err := contain.Run(func() error { panic("this was not thought of") })
	var p *contain.Panic
	if !errors.As(err, &p) {
		t.Fatalf("a panic became %v", err)
	}
	if !strings.Contains(err.Error(), "not thought of") || !strings.Contains(string(p.Stack), "contain_test.go") {
		t.Errorf("the error is %q, its stack\n%s", err, p.Stack)
	}
}

// TestRunCutShort reads a mapped file that has become shorter.
func TestRunCutShort(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	const size = 1 << 16
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	sum := 0
	err = contain.Run(func() error {
		for _, x := range b {
			sum += int(x)
		}
		return nil
	})
	if !errors.Is(err, contain.ErrCutShort) {
		t.Errorf("reading what is not there became %v (sum %d)", err, sum)
	}
}
