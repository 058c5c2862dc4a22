package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// TestJumped looks at threads whose region's function ended in a jump to a call of the C
// library in which they block: they work, and are in that function to who wrote it.
func TestJumped(t *testing.T) {
	for _, c := range []struct {
		compiler omptest.Compiler
		runtime  omptest.Runtime
	}{
		{omptest.LLVM, omptest.RuntimeOf(t, 16)}, {omptest.LLVM, omptest.RuntimeOf(t, 19)}, {omptest.GCC, omptest.Libgomp(t)},
	} {
		run := omptest.Run{
			Exe:     omptest.Compile(t, omptest.Build{Program: "jumped", Compiler: c.compiler, Flags: []string{"-O2", "-g"}}),
			Runtime: c.runtime, Mode: omptest.Kernel,
		}
		t.Run(c.runtime.Name+"/core", func(t *testing.T) { checkJumped(t, pictureOf(t, omptest.Dump(t, run).Core)) })
		t.Run(c.runtime.Name+"/process", func(t *testing.T) {
			run.Mode = omptest.Live
			pid := omptest.Start(t, run).PID
			checkJumped(t, livePicture(t, pid))
			checkJumped(t, livePicture(t, pid, "--no-stop"))
		})
	}
}

func checkJumped(t *testing.T, pic *inspect.Picture) {
	t.Helper()
	jumped := 0
	for _, th := range pic.Threads {
		if th.State == nil || th.State.Name != "work_parallel" || len(th.UserStack) < 2 {
			t.Errorf("LWP %d: %+v, %+v", th.LWP, th.State, th.UserStack)
			continue
		}
		if *th.ThreadNum == 2 {
			continue
		}
		jumped++
		call, from := th.UserStack[0], th.UserStack[1]
		if call.Function != "pause" || from.Construct != "parallel" || from.In != "main" || !strings.Contains(from.How, "its last call was a jump") {
			t.Errorf("LWP %d: %+v called by %+v", th.LWP, call, from)
		}
	}
	hang := slices.ContainsFunc(pic.Verdicts, func(v inspect.Verdict) bool { return v.Kind != inspect.VerdictCrash }) // a core's
	if jumped != 2 || hang {
		t.Errorf("%d threads in a call, %+v", jumped, pic.Verdicts)
	}
}
