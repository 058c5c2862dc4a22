package record

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestRecordedConstructs checks that outlined functions of GCC have their constructs with the recorder in the program,
// which calls them in the runtime's place.
func TestRecordedConstructs(t *testing.T) {
	for program, want := range map[string]string{"barrier": "parallel", "taskwait": "task"} {
		t.Run(program, func(t *testing.T) {
			run := omptest.Run{
				Exe:     omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC}),
				Runtime: omptest.Libgomp(t), Mode: omptest.Live,
			}
			tool := e2e.Process("record", "--library", omptest.Recorder(t), "--")
			pid := e2e.StartHeld(t, tool, run)
			found := map[string]int{}
			for _, thread := range e2e.ReportProcess(t, pid).Threads {
				for _, f := range thread.UserStack {
					found[f.Construct]++
				}
			}
			if found[want] == 0 || found["outlined"] > 0 {
				t.Errorf("frames by construct: %v, want some of %s", found, want)
			}
		})
	}
}
