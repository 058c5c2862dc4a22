package libgomp

import (
	"bytes"
	"os"
	"testing"
)

// TestNotInItself checks that a program that searches for libgomp is not mistaken for one that contains it.
func TestNotInItself(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if k, ok := recognizeStripped(func(text string) bool { return bytes.Contains(b, []byte(text)) }); ok {
		t.Errorf("this test is recognized as %s", k.Name)
	}
}
