package recordtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// TestNextIsRecorder names the recorder as the tool behind itself, under another name and as a copy, as
// `record` does where OMP_TOOL_LIBRARIES has one for ever: it is none, and what comes behind it is asked.
func TestNextIsRecorder(t *testing.T) {
	recorder, dir := omptest.Recorder(t), t.TempDir()
	b, err := os.ReadFile(recorder)
	if err != nil {
		t.Fatal(err)
	}
	same, other := filepath.Join(dir, "same.so"), filepath.Join(dir, "copy.so")
	if err := os.WriteFile(other, b, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(recorder, same); err != nil {
		t.Fatal(err)
	}
	exe := build(t, "clang-16", "inquiry.c", "-fopenmp", "-L/usr/lib/llvm-16/lib")
	tool := build(t, "gcc", "inquiry.c", "-DTOOL", "-shared", "-fPIC")
	for _, c := range []struct{ name, next, asked, preload string }{
		{"itself", recorder, "", ""}, {"a link", same, "", ""}, {"a copy", other, "", ""},
		{"a tool behind", same + ":" + tool, tool, ""},
		// What the tool calls ompt_initialize is the recorder's then, as with record.
		{"behind a preloaded one", tool, tool, recorder},
	} {
		t.Run(c.name, func(t *testing.T) {
			answers := filepath.Join(t.TempDir(), "answers")
			p := run(t, omptest.RuntimeOf(t, 19), exe, "OMP_TOOL_LIBRARIES="+recorder, "OMPD_RECORDER_NEXT="+c.next,
				"ANSWERS="+answers, "LD_PRELOAD="+c.preload)
			if r := readRecording(t, p.Process.Pid); len(r.rings) < 3 {
				t.Errorf("%d threads are recorded, want 3", len(r.rings))
			}
			if b, err := os.ReadFile(answers); (len(b) > 0) != (c.asked != "") {
				t.Errorf("the tool behind: %q, %v", b, err)
			}
		})
	}
}

// TestMemoryNoSize records in the usual memory where OMPD_RECORDER_MEMORY is no size.
func TestMemoryNoSize(t *testing.T) {
	exe := build(t, "clang-16", "forks.c", "-fopenmp")
	for set, limit := range map[string]uint64{"much": 64 << 20, "-1": 64 << 20, "2M": 2 << 20, "1": 256 << 10} {
		p := run(t, omptest.RuntimeOf(t, 19), exe, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t),
			"OMPD_RECORDER_MEMORY="+set)
		if r := readRecording(t, p.Process.Pid); r.Limit != limit {
			t.Errorf("%s: the limit is %d, want %d", set, r.Limit, limit)
		}
	}
}
