package record

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestRecordedUntied looks at a thread that has executed the last part of an untied task while another thread was
// leaving the first part. No event reports the task's end, and the thread waits at the barrier again. The same
// happened in many regions before.
func TestRecordedUntied(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "untied_left", Flags: []string{"-O1", "-g"}})
	for _, release := range []int{14, 16, 19} {
		runtime := omptest.RuntimeOf(t, release)
		t.Run(runtime.Name, func(t *testing.T) {
			// LLVM's runtime may not wake a thread that goes to sleep while another one queues a task: none may sleep.
			l := e2e.StartLoop(t, omptest.Run{Exe: exe, Runtime: runtime, Env: []string{
				"OMP_TOOL_LIBRARIES=" + omptest.Recorder(t), "KMP_BLOCKTIME=infinite"}})
			waits := 0
			for _, th := range e2e.ReportProcess(t, l.Process.Pid).Threads {
				s := th.State
				if s == nil || s.Name != "wait_barrier_implicit_workshare" {
					continue // the thread in the first part
				}
				if waits++; s.Disputed() || !strings.HasPrefix(string(s.Recorded), "wait_barrier_implicit") {
					t.Errorf("thread %d: %+v", th.LWP, s)
				}
			}
			if waits != 1 {
				t.Errorf("%d threads wait at the barrier, want one", waits)
			}
			l.End(t)
		})
	}
}
