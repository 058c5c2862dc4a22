package recordtest

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestAarch64 builds the recorder for aarch64, and runs programs of GNU's runtime with it in an emulator: they
// query each state and make each request of Sun's collector API.
func TestAarch64(t *testing.T) {
	omptest.NeedsCross(t)
	recorder := omptest.CrossRecorder(t)
	for source, want := range map[string]string{
		"collector_requests.c": "161 checks, 0 failed\n", "collector_states.c": "0 failed\n",
	} {
		exe := build(t, omptest.CrossCC, source, "-fopenmp", "-DGNU")
		argv := append(omptest.Emulated(exe, "LD_PRELOAD="+recorder), "gnu")
		text, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil || string(text) != want {
			t.Errorf("%s: %v\n%s", source, err, text)
		}
	}
}

// TestAarch64SameEvents is [TestSameEvents] for aarch64, in an emulator: its memory contains the program's rings.
func TestAarch64SameEvents(t *testing.T) {
	omptest.NeedsCross(t)
	recorder := omptest.CrossRecorder(t)
	reference := build(t, omptest.CrossCC, "reference.c", "-shared", "-fPIC")
	for _, runtime := range omptest.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			said := filepath.Join(t.TempDir(), "said")
			exe, libraries := omptest.CompileCross(t, filepath.Join("testdata", "constructs.c"), runtime.Major,
				"-fopenmp-version=51")
			argv := omptest.Emulated(exe, libraries, "OMP_CANCELLATION=true", "OMP_TOOL_LIBRARIES="+recorder,
				"OMPD_RECORDER=all", "OMPD_RECORDER_NEXT="+reference, "REFERENCE="+said, "KMP_BLOCKTIME=0")
			p := runArgs(t, omptest.Runtime{Name: runtime.Name}, argv)
			var want, got []string
			reader := open(t, p.Process.Pid)
			for range settleRounds {
				got = kept(read(t, reader))
				if want = printed(t, said); slices.Equal(got, want) {
					break
				}
			}
			diff(t, got, want)
			if n := strings.Count(strings.Join(got, "\n"), "\n"); n < 400 {
				t.Errorf("there are %d events", n)
			}
		})
	}
}
