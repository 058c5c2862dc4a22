package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
)

// TestHugeNext holds what Go's heap is taken for in hugeNext against this version of Go: what is
// allocated next lies where the kernel was told to use huge pages. Another process tries it,
// whose heap is as small as that of one that starts.
func TestHugeNext(t *testing.T) {
	const inside = "OMPD_TEST_HUGE"
	if os.Getenv(inside) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHugeNext$")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skipf("this kernel has no huge pages: %v", err)
	}
	debug.SetGCPercent(-1) // as long as main has it, nothing is collected
	hugeNext()
	next := make([]byte, 1<<20)
	if end := uint64(behind(next)); !advised(t, end-1) {
		t.Errorf("the megabyte before %#x is not where huge pages were asked for", end)
	}
}

// advised reports whether the kernel was asked for huge pages at an address of this process.
func advised(t *testing.T, a uint64) bool {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	within := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var low, high uint64
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &low, &high); n == 2 {
			within = low <= a && a < high
		}
		if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && within {
			return strings.Contains(flags, " hg")
		}
	}
	return false
}
