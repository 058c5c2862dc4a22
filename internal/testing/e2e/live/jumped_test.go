package live

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestStateAfterTailCallOfLibrary looks at threads in which the region's function ended in a jump to a call of
// the C library that blocks: they work, and the report shows them in that function.
func TestStateAfterTailCallOfLibrary(t *testing.T) {
	for _, c := range []struct {
		compiler omptest.Compiler
		runtime  omptest.Runtime
	}{
		{omptest.LLVM, omptest.RuntimeOf(t, 16)}, {omptest.LLVM, omptest.RuntimeOf(t, 19)},
		{omptest.GCC, omptest.Libgomp(t)},
	} {
		run := omptest.Run{
			Exe: omptest.Compile(t, omptest.Build{Program: "jumped", Compiler: c.compiler,
				Flags: []string{"-O2", "-g"}}),
			Runtime: c.runtime, Mode: omptest.Kernel,
		}
		t.Run(c.runtime.Name+"/core", func(t *testing.T) { checkJumped(t, e2e.Report(t, omptest.Dump(t, run).Core)) })
		t.Run(c.runtime.Name+"/process", func(t *testing.T) {
			run.Mode = omptest.Live
			pid := omptest.Start(t, run).PID
			checkJumped(t, e2e.ReportProcess(t, pid))
			checkJumped(t, e2e.ReportProcess(t, pid, "--no-stop"))
		})
	}
}

// TestLockWithoutStack looks at threads that spin for a lock and are not stopped. They have no stack, so they
// must wait for an unknown lock, and not at a barrier.
func TestLockWithoutStack(t *testing.T) {
	for _, major := range []int{14, 16, 19} {
		runtime := omptest.RuntimeOf(t, major)
		t.Run(runtime.Name, func(t *testing.T) {
			p := omptest.Start(t, omptest.Run{
				Exe: omptest.Compile(t, omptest.Build{Program: "lock_cycle"}), Runtime: runtime, Mode: omptest.Live,
			})
			pic := e2e.ReportProcess(t, p.PID, "--no-stop")
			waits := 0
			for _, w := range pic.Facts.Waits {
				i := slices.IndexFunc(pic.Threads, func(th picture.Thread) bool { return th.LWP == w.Thread })
				th := pic.Threads[i]
				spins := strings.Contains(th.State.Evidence, "th_spin_here")
				if spins != (th.State.Name == "wait_mutex" || th.State.Name == "wait_lock") ||
					spins != (w.Kind == picture.WaitLock) {
					t.Errorf("LWP %d: %+v, waits for %+v", w.Thread, th.State, w)
				}
				if spins {
					waits++
				}
			}
			status, out, _ := e2e.Output(t, "--no-stop", strconv.Itoa(p.PID))
			if waits < 2 || strings.Contains(out, "another barrier") || strings.Contains(out, "for mutex") {
				t.Errorf("exit status %d, %d threads wait for a lock:\n%s", status, waits, out)
			}
		})
	}
}

func checkJumped(t *testing.T, pic *picture.Picture) {
	t.Helper()
	jumped := 0
	for _, th := range pic.Threads {
		if th.State == nil || !e2e.IsInOwnCode(th.State) || len(th.UserStack) < 2 {
			t.Errorf("LWP %d: %+v, %+v", th.LWP, th.State, th.UserStack)
			continue
		}
		if *th.ThreadNum == 2 {
			continue
		}
		jumped++
		call, from := th.UserStack[0], th.UserStack[1]
		if call.Function != "pause" || from.Construct != "parallel" || from.In != "main" ||
			!strings.Contains(from.How, "it ended in a tail call") {
			t.Errorf("LWP %d: %+v called by %+v", th.LWP, call, from)
		}
	}
	// of a core
	hang := slices.ContainsFunc(pic.Verdicts, func(v picture.Verdict) bool { return v.Kind != picture.VerdictCrash })
	if jumped != 2 || hang {
		t.Errorf("%d threads in a call, %+v", jumped, pic.Verdicts)
	}
}

// TestStateAfterTailCallOfBarrier looks at threads in which the region's function ended in a jump to the runtime:
// they wait at an explicit barrier, not at the region's end, and a member is missing.
func TestStateAfterTailCallOfBarrier(t *testing.T) {
	for compiler, rt := range map[omptest.Compiler]omptest.Runtime{
		omptest.LLVM: omptest.RuntimeOf(t, 19), omptest.GCC: omptest.Libgomp(t),
	} {
		t.Run(rt.Name, func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: "barrier_last", Compiler: compiler,
				Flags: []string{"-O2", "-g"}})
			p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Live})
			pic := e2e.ReportProcess(t, p.PID)
			for _, th := range pic.Threads {
				late := *th.ThreadNum == 3
				if th.State == nil || !late && th.State.Name != "wait_barrier" &&
					th.State.Name != "wait_barrier_explicit" {
					t.Errorf("LWP %d: %+v", th.LWP, th.State)
				}
			}
			_, out, _ := e2e.Output(t, "report", strconv.Itoa(p.PID))
			if !strings.Contains(out, "3 of 4 arrived at a barrier") {
				t.Errorf("nothing says who is missing:\n%s", out)
			}
		})
	}
}

// TestForkByPointerAndJump looks at regions whose fork was tail-called by a function that was called through a
// pointer: each has its place, and the stacks of its members continue in the thread that forked it.
func TestForkByPointerAndJump(t *testing.T) {
	for compiler, rt := range map[omptest.Compiler]omptest.Runtime{
		omptest.LLVM: omptest.RuntimeOf(t, 16), omptest.GCC: omptest.Libgomp(t),
	} {
		exe := omptest.Compile(t, omptest.Build{Program: "fork_pointer", Compiler: compiler,
			Flags: []string{"-O2", "-g"}})
		for nested, places := range map[string][]string{
			"0": {"fork_pointer.c:24"}, "1": {"fork_pointer.c:24", "fork_pointer.c:16"},
		} {
			t.Run(rt.Name+"/"+nested, func(t *testing.T) {
				run := omptest.Run{Exe: exe, Runtime: rt, Args: []string{nested}, Mode: omptest.Kernel}
				pic := e2e.Report(t, omptest.Dump(t, run).Core)
				var got []string
				for _, r := range pic.Regions {
					if r.Level > 0 && r.Function != nil {
						got = append(got, fmt.Sprintf("%s:%d", filepath.Base(r.Function.File), r.Function.Line))
					}
				}
				if !slices.Equal(got, places) {
					t.Errorf("regions of %q, want %q", got, places)
				}
				for _, th := range pic.Threads {
					if n := len(th.UserStack); n == 0 || th.UserStack[n-1].Function != "main" {
						t.Errorf("the stack of LWP %d does not lead to main: %+v", th.LWP, th.UserStack)
					}
				}
			})
		}
	}
}
