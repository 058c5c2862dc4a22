package modules

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// TestLimitIsTheReason finds modules while no file can be opened: the limit is the reason, and another file is not
// advised.
func TestLimitIsTheReason(t *testing.T) {
	facts, _ := start(t, "/bin/cat")
	for _, limit := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, budget.ErrMemory} {
		open := func(name string) (*os.File, error) { return nil, &os.PathError{Op: "open", Path: name, Err: limit} }
		table := Find(facts, Options{Open: open})
		defer table.Close()
		list, err := table.Modules()
		if !errors.Is(err, limit) || len(list) == 0 {
			t.Fatalf("%d modules, %v", len(list), err)
		}
		for _, m := range list {
			if m.Path == vdsoPath {
				continue
			}
			if !errors.Is(m.Err, limit) || errors.Is(m.Err, ErrNoFile) || strings.Contains(m.Err.Error(), "--exe") {
				t.Errorf("%s with %v: %v", m.Path, limit, m.Err)
			}
		}
	}
}
