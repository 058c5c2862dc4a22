package clib

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestGuarded has routines that panic, and one that reads a file which was cut short
// since it was mapped.
func TestGuarded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, os.Getpagesize()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapped, err := syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(mapped)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	for name, routine := range map[string]func() (result, error){
		"a panic":          func() (result, error) { panic("damaged") },
		"a file cut short": func() (result, error) { return words(uint64(mapped[0])), nil },
	} {
		if r, err := guarded(routine); !errors.Is(err, callbacks.Error) || r.words != (result{}).words {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	if r, err := guarded(func() (result, error) { return words(7), nil }); err != nil || r.words[0] != 7 {
		t.Errorf("%v, %v", r, err)
	}
}
