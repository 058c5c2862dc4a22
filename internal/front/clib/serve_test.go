package clib

import (
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestGuard runs routines that panic, and one that reads a file which was truncated after it was mapped.
func TestGuard(t *testing.T) {
	mapped := omptest.CutShort(t)
	for name, routine := range map[string]func() (result, error){
		"a panic":          func() (result, error) { panic("damaged") },
		"a file cut short": func() (result, error) { return words(uint64(mapped[0])), nil },
	} {
		if r, err := guard(routine); !errors.Is(err, callbacks.Error) || r.words != (result{}).words {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	if r, err := guard(func() (result, error) { return words(7), nil }); err != nil || r.words[0] != 7 {
		t.Errorf("%v, %v", r, err)
	}
}
