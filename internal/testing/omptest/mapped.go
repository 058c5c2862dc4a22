package omptest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// CutShort maps a file, truncates it, and returns the mapping, which cannot be read.
func CutShort(tb testing.TB) []byte {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, os.Getpagesize()), 0o600); err != nil {
		tb.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	b, err := syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { syscall.Munmap(b) })
	if err := os.Truncate(path, 0); err != nil {
		tb.Fatal(err)
	}
	return b
}
