package cli

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestDapDelve inspects a Go program under Delve. Its stacks contain the goroutines. The adapter cannot stop
// the program, so pause only takes a new snapshot and says so.
func TestDapDelve(t *testing.T) {
	omptest.Needs(t, "Delve")
	h := omptest.StartUnderDelve(t, omptest.Run{
		Exe: omptest.CompileGo(t, omptest.GCC), Runtime: omptest.Libgomp(t), Mode: omptest.Live,
	})
	c, _ := startAdapter(t)
	initialize(c)
	daptest.Ask[any](c, "attach", map[string]any{"target": "delve://" + h.Socket})
	c.Event("stopped")
	team, goroutines := 0, 0
	for _, th := range daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads {
		if strings.HasPrefix(th.Name, "OMP ") {
			team++
		}
		page := daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", map[string]any{"threadId": th.Id})
		for _, f := range page.StackFrames {
			if strings.Contains(f.Name, "[goroutine ") {
				goroutines++
			}
		}
	}
	if team < 2 || goroutines == 0 {
		t.Errorf("%d threads of OpenMP, %d frames of goroutines", team, goroutines)
	}
	daptest.Ask[any](c, "pause", map[string]any{"threadId": 0})
	told := ""
	for !strings.Contains(told, "without stopping") {
		told = daptest.BodyOf[godap.OutputEventBody](c, c.Event("output")).Output
	}
	c.Event("stopped")
	if mods := daptest.Ask[godap.ModulesResponseBody](c, "modules", nil).Modules; len(mods) < 3 {
		t.Errorf("modules %+v", mods)
	}
	daptest.Ask[any](c, "disconnect", nil)
}
