package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestCutShort cuts a file short that is mapped, and reads on; other panics and errors
// stay what they are.
func TestCutShort(t *testing.T) {
	b := omptest.CutShort(t)
	sum := byte(0)
	err := mapped(func() error {
		sum += b[0]
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a file that is cut short: %v", err)
	}
	want := errors.New("of its own")
	if err := mapped(func() error { return want }); !errors.Is(err, want) {
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
