package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCutShort cuts a file short that is mapped, and reads on; other panics and errors
// stay what they are.
func TestCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 4*os.Getpagesize()), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b, err := syscall.Mmap(int(file.Fd()), 0, 4*os.Getpagesize(), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(b)
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	sum := byte(0)
	err = mapped(func() error {
		sum += b[3*os.Getpagesize()]
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a file that is cut short: %v", err)
	}
	want := errors.New("of its own")
	if err := mapped(func() error { return want }); err != want {
		t.Errorf("%v, want %v", err, want)
	}
	defer func() {
		if p := recover(); p != "a panic" {
			t.Errorf("recovered %v", p)
		}
	}()
	_ = mapped(func() error { panic("a panic") })
	t.Errorf("the panic is lost, sum %d", sum)
}
