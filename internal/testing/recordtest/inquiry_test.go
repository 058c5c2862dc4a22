package recordtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestInquiry checks a runtime's answers to a tool that is chained after the recorder: states, mutex
// implementations, and the position of each thread of a region. The enumeration of states starts after
// work_serial, and these runtimes omit undefined.
func TestInquiry(t *testing.T) {
	exe := build(t, "clang-16", "inquiry.c", "-fopenmp", "-L/usr/lib/llvm-16/lib")
	tool := build(t, "gcc", "inquiry.c", "-DTOOL", "-shared", "-fPIC")
	for _, runtime := range omptest.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			answers := filepath.Join(t.TempDir(), "answers")
			run(t, runtime, exe, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t), "OMPD_RECORDER_NEXT="+tool,
				"ANSWERS="+answers)
			text, err := os.ReadFile(answers)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(string(text), "\n")
			want := []string{"callback 1 1 0"}
			for name, value := range map[string]string{
				"work_parallel": "0x1", "work_reduction": "0x2", "wait_barrier": "0x10",
				"wait_barrier_implicit": "0x13", "wait_barrier_explicit": "0x14", "wait_taskwait": "0x20",
				"wait_taskgroup": "0x21", "wait_mutex": "0x40", "wait_lock": "0x41", "wait_critical": "0x42",
				"wait_atomic": "0x43", "wait_ordered": "0x44", "wait_target": "0x80", "wait_target_map": "0x81",
				"wait_target_update": "0x82", "idle": "0x100", "overhead": "0x101",
			} {
				want = append(want, "state "+value+" ompt_state_"+name)
			}
			for _, number := range []string{"0", "1", "2"} {
				want = append(want, "in 2 0 size 3 task 2 0x2 number "+number+
					" exit 1 enter 0 data 4711 state 1 target 0")
			}
			for _, line := range want {
				if !slices.Contains(got, line) {
					t.Errorf("no line %q", line)
				}
			}
			if strings.Contains(string(text), "no ompt_") || !strings.Contains(string(text), "impl 1 ") {
				t.Error("a function or an implementation of locks is missing")
			}
			if t.Failed() {
				t.Logf("%s", text)
			}
		})
	}
}
