package libgomp

import (
	"bytes"
	"os"
	"testing"
)

// TestNotInItself does not take a program that looks for libgomp for one that has it.
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
		t.Errorf("this test is said to have %s", k.Name)
	}
}
