package recordtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestNextIsRecorder names the recorder as its own next tool, under another name and as a copy, as `record` does
// if OMP_TOOL_LIBRARIES permanently names one: the recorder skips it and uses the tool after it.
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
		// The ompt_initialize that the tool calls is then the recorder's, as with record.
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

// TestNextRegions chains a tool after the recorder, so that ids are addresses: that of a region is the same in
// its fork, in its tasks and barriers, and at its end.
func TestNextRegions(t *testing.T) {
	exe := build(t, "clang-16", "inquiry.c", "-fopenmp", "-L/usr/lib/llvm-16/lib")
	tool := build(t, "gcc", "inquiry.c", "-DTOOL", "-shared", "-fPIC")
	const initialTask = 1 // ompt_task_initial
	for _, version := range []int{14, 15, 16, 19} {
		p := run(t, omptest.RuntimeOf(t, version), exe, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t),
			"OMPD_RECORDER_NEXT="+tool, "ANSWERS="+filepath.Join(t.TempDir(), "answers"))
		r := readRecording(t, p.Process.Pid)
		var region uint64
		for _, e := range r.ringOf(t, p.Process.Pid).main {
			if e.Code == trace.ParallelBegin {
				region = e.Region
			}
		}
		in := map[trace.Code]int{}
		for _, g := range r.rings {
			for _, e := range g.main {
				if e.Region == region {
					in[e.Code]++
				}
			}
			if len(g.Forked) > 0 {
				t.Errorf("libomp %d: a region that is over is open: %v", version, g.Forked)
			}
		}
		// The forking thread reports the end of its task without the region, and some runtimes also that of the
		// barrier.
		if in[trace.ParallelBegin] != 1 || in[trace.ParallelEnd] != 1 || in[trace.ImplicitTask] < 3 ||
			in[trace.SyncRegion] < 3 {
			t.Errorf("libomp %d: of region %#x there are %v", version, region, in)
		}
		for _, row := range analyze.Stats(r.Recording, analyze.Window{}, nil).Rows {
			if row.What == analyze.Implicit && row.Kind&initialTask == 0 && row.PC == 0 {
				t.Errorf("libomp %d: nothing tells where the implicit tasks' region was forked", version)
			}
		}
	}
}

// TestMemoryNoSize records in the default amount of memory if OMPD_RECORDER_MEMORY is not a size.
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
