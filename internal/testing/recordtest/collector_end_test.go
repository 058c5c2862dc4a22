package recordtest

import (
	"os/exec"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestCollectorEnds ends a process with a collector that stops in its destructor, or does not: the recorder does
// not call it afterwards, when LLVM's runtime reports the end of its workers, and answers its requests there.
func TestCollectorEnds(t *testing.T) {
	library := build(t, "gcc", "collector_ends.c", "-DLIBRARY", "-shared", "-fPIC")
	clangs := build(t, "clang-16", "collector_ends.c", "-fopenmp")
	gccs := build(t, "gcc", "collector_ends.c", "-fopenmp")
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		exe := clangs
		if gnu(runtime) {
			exe = gccs
		}
		for _, stops := range []string{"STAYS=1", "STOPS=1"} {
			cmd := exec.Command(exe)
			cmd.Env = []string{
				"LD_PRELOAD=" + omptest.Recorder(t) + ":" + library, "LD_LIBRARY_PATH=" + runtime.Dir, stops,
			}
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "3\n" {
				t.Errorf("%s: %s: %v, it said %q", runtime.Name, stops, err, out)
			}
		}
	}
}
