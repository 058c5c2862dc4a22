package recordtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// buildTSan compiles a program of testdata with clang's thread sanitizer; its runtime is downloaded but not
// installed.
func buildTSan(t *testing.T, source string) string {
	t.Helper()
	omptest.Needs(t, "compilers")
	const at = "usr/lib/llvm-16/lib/clang/16/lib/linux/libclang_rt.tsan-x86_64.a"
	tsan := omptest.PackageFile(t, "libclang-rt-16-dev", at)
	object := filepath.Join(t.TempDir(), "object.o")
	args := []string{"-g", "-O1", "-fopenmp", "-fsanitize=thread", "-c", "-o", object,
		filepath.Join("testdata", source)}
	if out, err := exec.Command("clang-16", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	exe := strings.TrimSuffix(object, ".o")
	args = []string{"-fopenmp", "-L" + omptest.RuntimeOf(t, 16).Dir, object, "-o", exe, "-Wl,--whole-archive", tsan,
		"-Wl,--no-whole-archive", "-Wl,--dynamic-list=" + tsan + ".syms", "-lpthread", "-ldl", "-lm", "-lrt",
		"-lresolv"}
	if out, err := exec.Command("clang-16", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return exe
}

// TestArcher chains LLVM's race detector for OpenMP after the recorder: it finds the race, and has no false
// alarm, which it would have without OpenMP's events; and the events are recorded.
func TestArcher(t *testing.T) {
	exe := buildTSan(t, "race.c")
	archer := omptest.PackageFile(t, "libomp-16-dev", "usr/lib/llvm-16/lib/libarcher.so")
	chained := "OMPD_RECORDER_NEXT=" + archer
	for _, c := range []struct {
		name, next string
		args       []string
		races      bool
		in         string // place of the reports
	}{
		{"healthy", chained, nil, false, ""},
		{"racy", chained, []string{"racy"}, true, "'racy'"},
		{"without Archer", "OMPD_RECORDER_NEXT=", nil, true, "'sum'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "tsan")
			argv := append([]string{"setarch", "-R", exe}, c.args...)
			p := runArgs(t, omptest.RuntimeOf(t, 16), argv, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t), c.next,
				"TSAN_OPTIONS=ignore_noninstrumented_modules=1 log_path="+log)
			if !strings.HasPrefix(p.said, "READY 13 ") {
				t.Errorf("it said %q", p.said)
			}
			var reports string
			files, _ := filepath.Glob(log + ".*")
			for _, file := range files {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Error(err)
				}
				reports += string(b)
			}
			if races := strings.Contains(reports, "WARNING: ThreadSanitizer: data race"); races != c.races ||
				!strings.Contains(reports, c.in) {
				t.Errorf("races: %v, want %v, in %s:\n%.3000s", races, c.races, c.in, reports)
			}
			r := readRecording(t, p.Process.Pid)
			if n := count(r); n.code[5] != 8 || n.completed != 8 || n.code[27] != 4 || n.code[18] != 8 {
				t.Errorf("recorded: %d tasks, %d that complete, %d acquisitions, %d lists of dependences", n.code[5],
					n.completed, n.code[27], n.code[18])
			}
		})
	}
}
