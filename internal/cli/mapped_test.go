package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestCutShort truncates a file while it is mapped, and continues to read it. Other panics and errors are
// unchanged.
func TestCutShort(t *testing.T) {
	b := omptest.CutShort(t)
	sum := byte(0)
	err := recoverMapped(func() error {
		sum += b[0]
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a truncated file: %v", err)
	}
	want := errors.New("of its own")
	if err := recoverMapped(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
	defer func() {
		if p := recover(); p != "a panic" {
			t.Errorf("recovered %v", p)
		}
	}()
	_ = recoverMapped(func() error { panic("a panic") })
	t.Errorf("the panic is lost, sum %d", sum)
}
