package recordtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestManyThreads runs 1,024 threads that fill their rings: each has one, and their resident memory stays below
// the limit, whether the recorder could know the number of threads or not.
func TestManyThreads(t *testing.T) {
	exe := build(t, "clang-16", "many.c", "-fopenmp", "-fopenmp-version=51")
	for _, threads := range []string{"", "OMP_NUM_THREADS=1024"} {
		p := run(t, omptest.RuntimeOf(t, 19), exe, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t), "KMP_BLOCKTIME=0",
			"KMP_STACKSIZE=256K", threads)
		r := readRecording(t, p.Process.Pid)
		if len(r.rings) < 1024 || r.Unrecorded != 0 {
			t.Errorf("%d rings, %d threads without", len(r.rings), r.Unrecorded)
		}
		for _, g := range r.rings {
			if g.Main.Written < 3*2000 && g.Type != 0 {
				t.Errorf("ring %d: %d records were written", g.Index, g.Main.Written)
			}
		}
		const limit = 64 << 20
		if used := resident(t, p.Process.Pid, limit); r.Limit != limit || r.Used > limit || used < r.Used/4 {
			t.Errorf("%d of %d bytes are given away, %d resident", r.Used, r.Limit, used)
		} else {
			t.Logf("%q: %d KiB resident, %d records kept", threads, used>>10, records(r))
		}
		_ = p.Process.Kill()
	}
}

// records returns the number of records.
func records(r recording) (n int) {
	for _, g := range r.rings {
		n += g.Main.Len() + g.Rare.Len()
	}
	return n
}

// resident returns the number of resident bytes of the single mapping of a size.
func resident(t *testing.T, pid int, size uint64) (bytes uint64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		t.Fatal(err)
	}
	in, found := false, 0
	for line := range strings.Lines(string(b)) {
		var low, high, kib uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &low, &high); n == 2 {
			in = high-low == size
		}
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kib); n == 1 && in {
			bytes, found = kib<<10, found+1
		}
	}
	if found != 1 {
		t.Fatalf("%d mappings have %d bytes", found, size)
	}
	return bytes
}
