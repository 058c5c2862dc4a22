package record

import (
	"bufio"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestHistoryVerdicts looks at programs with the recorder that do not hang: the verdicts name the places of
// possible hangs and of lost time; the healthy twin gets no verdict.
func TestHistoryVerdicts(t *testing.T) {
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			found := historyOf(t, runtime, "0")
			for kind, says := range map[picture.VerdictKind][]string{
				picture.VerdictLockOrder:  {"lock credit and lock debit", "transfer history.c:24", "likely", "warning"},
				picture.VerdictImbalance:  {"history.c:5", "thread", "was the last at"},
				picture.VerdictContention: {"wait for critical ledger", "history.c:", "warning"},
				picture.VerdictTinyTasks:  {"history.c:", "of 400 tasks"},
			} {
				v := found[kind]
				b, _ := json.Marshal(v)
				if v == nil || v.Fix == "" || len(v.Evidence) < 2 {
					t.Errorf("%s: %s", kind, b)
				}
				for _, word := range says {
					if !strings.Contains(string(b), word) {
						t.Errorf("%s does not say %q: %s", kind, word, b)
					}
				}
			}
			found = historyOf(t, runtime, "1")
			delete(found, picture.VerdictImbalance) // on a busy machine one thread may be late each time
			for kind, v := range found {
				t.Errorf("the healthy twin: %s: %+v", kind, v)
			}
		})
	}
}

// historyOf runs history with the recorder, and returns the verdicts that the record gives.
func historyOf(t *testing.T, runtime omptest.Runtime, arg string) map[picture.VerdictKind]*picture.Verdict {
	t.Helper()
	return recordedHistory(t, runtime, "history", arg)
}

// recordedHistory is historyOf of another program.
func recordedHistory(t *testing.T, runtime omptest.Runtime, program, arg string,
) map[picture.VerdictKind]*picture.Verdict {
	t.Helper()
	b, load := omptest.Build{Program: program}, "OMP_TOOL_LIBRARIES="
	if runtime.Name == omptest.Libgomp(t).Name {
		b.Compiler, load = omptest.GCC, "LD_PRELOAD="
	}
	run := omptest.Run{Exe: omptest.Compile(t, b), Runtime: runtime}
	cmd := run.Command(t.TempDir(), arg)
	cmd.Args = slices.Insert(cmd.Args, 3, "env", load+omptest.Recorder(t),
		"KMP_USE_YIELD=0") // after sh -c SCRIPT; a yield between two tasks is long on a busy machine
	input, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		t.Fatal(err1, err2)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "READY\n" {
		t.Fatalf("%s: %q, %v", program, line, err)
	}
	found := map[picture.VerdictKind]*picture.Verdict{}
	pic := e2e.ReportProcess(t, cmd.Process.Pid)
	if line := pic.Facts.History.Timeline; line == nil || len(line.Rows) != len(pic.Threads) || line.Quiet <= 0 {
		t.Errorf("the timeline is %+v", line)
	}
	if program == "held_long" {
		checkStillWaiting(t, cmd.Process.Pid, arg)
	}
	for _, th := range pic.Threads {
		if th.State == nil || th.State.Recorded == "" && program == "history" || th.State.Disputed() {
			t.Errorf("thread %d: %+v", th.LWP, th.State)
		}
	}
	for i := range pic.Verdicts {
		v := &pic.Verdicts[i]
		switch v.Kind {
		case picture.VerdictLockOrder, picture.VerdictImbalance, picture.VerdictContention, picture.VerdictTinyTasks:
			if found[v.Kind] == nil {
				found[v.Kind] = v
			}
		default:
			if v.Severity == picture.SeverityHang {
				t.Errorf("a hang: %+v", v)
			}
		}
	}
	return found
}

// TestHistoryStillWaiting looks at threads that wait for a lock that another thread holds: unfinished waits
// count. Threads that only test the lock do not wait.
func TestHistoryStillWaiting(t *testing.T) {
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			b, _ := json.Marshal(recordedHistory(t, runtime, "held_long", "0")[picture.VerdictContention])
			for _, word := range []string{"3 threads spend", "wait for lock shelf", "visitor held_long.c:37", "3 of 3",
				"3 wait still, the longest for", "holder held_long.c:23", "warning"} {
				if !strings.Contains(string(b), word) {
					t.Errorf("it does not say %q: %s", word, b)
				}
			}
			if v := recordedHistory(t, runtime, "held_long", "1")[picture.VerdictContention]; v != nil {
				t.Errorf("the healthy twin: %+v", v)
			}
		})
	}
}

// checkStillWaiting compares the output of trace stats on a process of held_long with the actions of its threads.
// In some releases, the events of a test of a lock equal those of a wait.
func checkStillWaiting(t *testing.T, pid int, arg string) {
	t.Helper()
	status, out, errs := e2e.Output(t, "trace", "stats", strconv.Itoa(pid))
	var waits, held string
	for line := range strings.Lines(out) {
		switch {
		case strings.Contains(line, "wait for lock shelf") && strings.Contains(line, "held_long.c:37"):
			waits = line
		case strings.Contains(line, "visitor"):
			held = line
		}
	}
	if contended := strings.Contains(waits, "3 waited "); status != 0 || errs != "" || contended != (arg == "0") ||
		arg == "0" && !strings.Contains(waits, "for holder held_long.c:23") {
		t.Errorf("trace stats: exit status %d, printed %q, of the waits %q, also %q", status, errs, waits, held)
	}
}
