package dap_test

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestLastEvents inspects a deadlock of a program with the recorder: each of two threads acquired a lock and
// then asked for the other's. These are the newest events in its scope.
func TestLastEvents(t *testing.T) {
	for _, rt := range []omptest.Runtime{omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(rt.Name, func(t *testing.T) {
			b, load := omptest.Build{Program: "lock_cycle"}, "OMP_TOOL_LIBRARIES="
			if rt.Name == omptest.Libgomp(t).Name {
				b.Compiler, load = omptest.GCC, "LD_PRELOAD="
			}
			run := omptest.Run{
				Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Kernel,
				Env: []string{load + omptest.Recorder(t)},
			}
			checkLastEvents(t, omptest.Dump(t, run).Core)
			run.Mode = omptest.Live
			checkLastEvents(t, omptest.Start(t, run).PID)
		})
	}
	c, _ := attach(t, golden(t, "llvm-deadlock"))
	for _, s := range frameScopes(c, stack(c, threads(c)[0].Id)[0].Id) {
		if s.Name == lastEventsScope {
			t.Error("a program without a recorder has events")
		}
	}
}

// checkLastEvents checks the last events of the two threads.
func checkLastEvents(t *testing.T, target any) {
	t.Helper()
	c, _ := attach(t, args{"target": target})
	for _, w := range [][3]string{{"deposit", "first", "second"}, {"withdraw", "second", "first"}} {
		events := lastEvents(t, c, findFrame(t, c, w[0]))
		if len(events) < 4 {
			t.Fatalf("events of %s: %+v", w[0], events)
		}
		for i, want := range []string{"asks for lock " + w[2], "acquires lock " + w[1]} {
			e := &events[i]
			if !strings.HasPrefix(e.Value, want+" in "+w[0]+" ") || e.VariablesReference == 0 ||
				!strings.HasPrefix(e.Type, "ompt_callback_mutex_acqui") {
				t.Errorf("event %d of %s: %+v, want %q", i, w[0], e, want)
			}
		}
		if lock := parts(c, events[0].VariablesReference)["lock"]; !strings.HasPrefix(lock.Value, "0x") {
			t.Errorf("the lock of %+v is %+v", events[0], lock)
		}
	}
}

// lastEventsScope is the name of the scope with the events of a thread.
const lastEventsScope = "Last events"

// findFrame returns the frame of a function in any thread.
func findFrame(t *testing.T, c *daptest.Client, function string) godap.StackFrame {
	t.Helper()
	for _, th := range threads(c) {
		for _, f := range stack(c, th.Id) {
			if f.Name == function {
				return f
			}
		}
	}
	t.Fatalf("no thread is in %s", function)
	return godap.StackFrame{}
}

// frameScopes returns the scopes of a frame.
func frameScopes(c *daptest.Client, frame int) []godap.Scope {
	return daptest.Ask[godap.ScopesResponseBody](c, "scopes", args{"frameId": frame}).Scopes
}

// lastEvents returns the last events of a frame's thread, in their order.
func lastEvents(t *testing.T, c *daptest.Client, f godap.StackFrame) []godap.Variable {
	t.Helper()
	for _, s := range frameScopes(c, f.Id) {
		if s.Name == lastEventsScope {
			return daptest.Ask[godap.VariablesResponseBody](c, "variables",
				args{"variablesReference": s.VariablesReference}).Variables
		}
	}
	t.Fatalf("no scope %q of %+v", lastEventsScope, f)
	return nil
}
