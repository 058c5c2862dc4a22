package record

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestRecordTailCalls reads the record of functions that end in a call of the runtime: the recorded place is
// never in the runtime or the recorder, and a barrier's place is the fork of the region.
func TestRecordTailCalls(t *testing.T) {
	for _, on := range []omptest.Runtime{omptest.Libgomp(t), omptest.RuntimeOf(t, 16)} {
		t.Run(on.Name, func(t *testing.T) {
			t.Parallel()
			b := omptest.Build{Program: "tail_calls", Flags: []string{"-O2", "-g"}}
			if on.Name == omptest.Libgomp(t).Name {
				b.Compiler = omptest.GCC
			}
			file := filepath.Join(t.TempDir(), "recording")
			status, _, errs := e2e.Output(t, "record", "--library", omptest.Recorder(t), "--save", file, "--", "env",
				"LD_LIBRARY_PATH="+on.Dir, omptest.Compile(t, b))
			if status != 0 {
				t.Fatalf("exit status %d, printed %q", status, errs)
			}
			_, events, _ := e2e.Output(t, "trace", "--events", "0", file)
			_, stats, _ := e2e.Output(t, "trace", "stats", file)
			if m := regexp.MustCompile(`.*(\.so|__kmp|gomp\.c).*`).FindString(events + stats); m != "" {
				t.Errorf("a place in the runtime or the recorder: %s", m)
			}
			barrier := regexp.MustCompile(`(?m)^ +[\d.]+ % +(explicit )?barrier +regions tail_calls\.c:\d+ `)
			if !barrier.MatchString(stats) {
				t.Errorf("the barrier has no place:\n%s", stats)
			}
		})
	}
}
