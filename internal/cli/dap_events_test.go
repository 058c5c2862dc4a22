package cli

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestProxyLastEvents makes gdb stop a deadlocked program with the recorder: the scopes of both threads contain
// their last events, which no debugger knows.
func TestProxyLastEvents(t *testing.T) {
	tool := buildTool(t)
	for name, run := range deadlocks(t, omptest.Live) {
		t.Run(name, func(t *testing.T) {
			load := "OMP_TOOL_LIBRARIES="
			if name == "gnu" {
				load = "LD_PRELOAD="
			}
			run.Env = []string{load + omptest.Recorder(t)}
			c, status := startProxy(t, tool, "--", omptest.GdbOf(t, "sid"), "-nx", "-q", "-i", "dap")
			openProgram(t, c, "attach", object{"pid": omptest.Start(t, run).PID})
			c.Event("ompd/changed")
			found := map[string]bool{}
			for _, th := range daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads {
				if ompName.MatchString(th.Name) {
					found[newestEvent(c, th.Id)] = true
				}
			}
			if !found["asks for lock first in withdraw"] || !found["asks for lock second in deposit"] {
				t.Errorf("the newest events are %v", found)
			}
			disconnect(t, c, status)
		})
	}
}

// newestEvent returns the last event of a thread, without the line.
func newestEvent(c *daptest.Client, thread int) string {
	which := object{"threadId": thread, "levels": 1}
	f := daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", which).StackFrames[0]
	for _, s := range daptest.Ask[godap.ScopesResponseBody](c, "scopes", object{"frameId": f.Id}).Scopes {
		if s.Name != "Last events" {
			continue
		}
		which := object{"variablesReference": s.VariablesReference}
		list := daptest.Ask[godap.VariablesResponseBody](c, "variables", which).Variables
		if len(list) == 0 {
			return "nothing"
		}
		said := list[0].Value
		if at := strings.LastIndex(said, " "); at >= 0 && strings.Contains(said, ".c:") {
			said = said[:at]
		}
		return said
	}
	return "no scope"
}
