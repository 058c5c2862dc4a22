package live

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

// TestRuntimeLock looks at a thread that waits in LLVM's runtime for a lock of the runtime which it holds itself, and
// at the same program without that defect.
func TestRuntimeLock(t *testing.T) {
	for _, flags := range []string{"-O0", "-O2"} {
		for _, healthy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s-%t", flags, healthy), func(t *testing.T) {
				if healthy {
					t.Setenv("OMPD_UNCLAIMED", "1")
				}
				pid := ready(t, "runtimelock", "clang-16", flags)
				status, out, _ := e2e.Output(t, "diagnose", strconv.Itoa(pid))
				want := cli.ExitFound
				if healthy {
					want = cli.ExitOK
				}
				found := strings.Contains(out, "waits for lock of the OpenMP runtime's own, which it holds itself")
				fix := strings.Contains(out, "fix: use a later release of the OpenMP runtime")
				if status != want || found == healthy || fix == healthy {
					t.Errorf("status %d:\n%s", status, out)
				}
			})
		}
	}
}
