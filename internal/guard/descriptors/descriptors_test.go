package descriptors

import (
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestCountFree counts descriptors that are not open, below a limit and up to a number that is enough.
func TestCountFree(t *testing.T) {
	open := func(fd uint64) bool { return fd < 5 || fd == 7 }
	for _, c := range []struct {
		limit uint64
		want  int
	}{{0, 0}, {3, 0}, {5, 0}, {6, 1}, {8, 2}, {9, 3}, {16, 10}, {17, 11}, {1 << 30, 11}, {^uint64(0), 11}} {
		omptest.Equal(t, "free descriptors", countFree(c.limit, 11, open), c.want)
	}
	if countFree(1024, 11, isOpen) != 11 || !isOpen(uint64(syscall.Stderr)) {
		t.Error("this process seems to have open files only, or no standard error")
	}
}

// TestExplain checks that the error names the limit, the open files of the parent, and a command.
func TestExplain(t *testing.T) {
	if text := explain(syscall.Rlimit{Cur: 6}, 1); strings.Contains(text, "parent") ||
		!strings.Contains(text, "limited to 6 (ulimit -n): this program needs 18: ulimit -n 1024") {
		t.Error(text)
	}
	if text := explain(syscall.Rlimit{Cur: 64}, 3); !strings.Contains(text, "limited to 64") ||
		!strings.Contains(text, "its parent left it 3: ulimit -n 1024") {
		t.Error(text)
	}
}
