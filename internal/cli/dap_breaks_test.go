package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// secondRegion is the line of the second parallel region of places.c.
const secondRegion = 16

// TestProxyBreaks makes real debuggers stop at the start of a region. With LLVM's runtime it is the second
// region, selected by an exception filter with a place; the client gets no event for the stop at the first one.
func TestProxyBreaks(t *testing.T) {
	tool := buildTool(t)
	t.Run("llvm", func(t *testing.T) {
		run := omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "places"}), Runtime: omptest.RuntimeOf(t, 16)}
		option := object{"filterId": "ompd/parallel begin", "condition": "places.c:16"}
		c, thread := stopAtConstruct(t, tool, "sid", run, option)
		stack := daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", object{"threadId": thread}).StackFrames
		if !slices.ContainsFunc(stack, func(f godap.StackFrame) bool { return f.Line == secondRegion }) {
			t.Errorf("it has stopped at %+v", stack)
		}
		daptest.Ask[any](c, "disconnect", object{"terminateDebuggee": true})
	})
	t.Run("gnu", func(t *testing.T) {
		exe := omptest.Compile(t, omptest.Build{Program: "places", Compiler: omptest.GCC})
		run := omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t)}
		c, thread := stopAtConstruct(t, tool, "trixie", run, nil, "omp parallel begin", "omp parallel at places.c:16")
		stack := daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", object{"threadId": thread}).StackFrames
		if !slices.ContainsFunc(stack, func(f godap.StackFrame) bool { return f.Name == "main" }) {
			t.Errorf("it has stopped at %+v", stack)
		}
		if !awaitEvent(c, "breakpoint", "leave out the place") {
			t.Error("no message says that a place is not supported")
		}
		daptest.Ask[any](c, "disconnect", object{"terminateDebuggee": true})
	})
	t.Run("lldb", func(t *testing.T) {
		c, _ := startProxy(t, tool, "--", omptest.Lldb(t, 19))
		daptest.Ask[any](c, "initialize", object{"adapterID": "x"})
		set := daptest.Ask[godap.SetFunctionBreakpointsResponseBody](c, "setFunctionBreakpoints", object{
			"breakpoints": []object{{"name": "omp parallel"}},
		})
		const why = "need instruction breakpoints, which the debugger lacks"
		if len(set.Breakpoints) != 1 || !strings.Contains(set.Breakpoints[0].Message, why) {
			t.Errorf("breakpoints %+v", set.Breakpoints)
		}
	})
}

// TestProxyBreaksDelve makes Delve stop at the start of a region, by a breakpoint at an instruction of the
// runtime. LLVM's runtime is loaded but not initialized before the program calls it: the breakpoint is set at
// the first stop after that.
func TestProxyBreaksDelve(t *testing.T) {
	tool := buildTool(t)
	for name, run := range goPrograms(t) {
		if !omptest.Turn(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c, _ := startProxy(t, tool, "--", omptest.Delve(t), "dap", "--check-go-version=false")
			daptest.Ask[any](c, "initialize", object{
				"adapterID": "go", "linesStartAt1": true, "pathFormat": "path", "supportsInvalidatedEvent": true,
			})
			environment := object{
				"LD_LIBRARY_PATH": filepath.Dir(run.Runtime.Lib), "OMPD_TRUTH": filepath.Join(t.TempDir(), "truth"),
			}
			begun := c.Send("launch", object{
				"mode": "exec", "program": run.Exe, "args": []string{"wait"}, "env": environment,
			})
			c.Event("initialized")
			daptest.Ask[any](c, "setFunctionBreakpoints", object{
				"breakpoints": []object{
					{"name": "main.main"}, {"name": "main.goMember"}, {"name": "omp parallel begin"},
				},
			})
			daptest.Ask[any](c, "configurationDone", nil)
			if m := c.Response(begun); !m.Success {
				t.Fatalf("launch: %s", m.Text)
			}
			c.Event("stopped")
			if name == "llvm" {
				c.Event("ompd/changed")
				if told := string(c.Event("breakpoint").Body); !strings.Contains(told, "no OpenMP runtime yet") {
					t.Errorf("before the program has called the runtime, it is said %s", told)
				}
				daptest.Ask[any](c, "continue", object{"threadId": 1})
			}
			awaitVerified(c)
			if name == "gnu" {
				daptest.Ask[any](c, "continue", object{"threadId": 1})
				c.Event("stopped")
				c.Event("ompd/changed")
				if !awaitEvent(c, "output", "OpenMP parallel begin") {
					t.Error("no message names the event of the stop")
				}
			}
			daptest.Ask[any](c, "disconnect", object{"terminateDebuggee": true})
		})
	}
}

// stopAtConstruct starts a program under gdb, which stops in main. It sets breakpoints on constructs and
// continues to one of them, in the returned thread.
func stopAtConstruct(
	t *testing.T, tool, suite string, run omptest.Run, option object, names ...string,
) (c *daptest.Client, thread int) {
	t.Helper()
	c, _ = startProxy(t, tool, "--", omptest.GdbOf(t, suite), "-nx", "-q", "-i", "dap")
	daptest.Ask[any](c, "initialize", object{"adapterID": "x", "supportsInvalidatedEvent": true})
	environment := object{"LD_LIBRARY_PATH": filepath.Dir(run.Runtime.Lib)}
	begun := c.Send("launch", object{"program": run.Exe, "env": environment})
	c.Event("initialized")
	breaks := []object{{"name": "main"}}
	for _, name := range names {
		breaks = append(breaks, object{"name": name})
	}
	if option != nil {
		arguments := object{"filters": []string{}, "filterOptions": []object{option}}
		daptest.Ask[any](c, "setExceptionBreakpoints", arguments)
	}
	which := object{"breakpoints": breaks}
	set := daptest.Ask[godap.SetFunctionBreakpointsResponseBody](c, "setFunctionBreakpoints", which)
	if len(set.Breakpoints) != len(breaks) {
		t.Errorf("breakpoints %+v", set.Breakpoints)
	}
	daptest.Ask[any](c, "configurationDone", nil)
	if m := c.Response(begun); !m.Success {
		t.Fatalf("launch: %s", m.Text)
	}
	at := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
	awaitVerified(c)
	daptest.Ask[any](c, "continue", object{"threadId": at.ThreadId})
	at = daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
	c.Event("ompd/changed")
	if !awaitEvent(c, "output", "OpenMP parallel begin") {
		t.Error("no message names the event of the stop")
	}
	return c, at.ThreadId
}

// awaitEvent reports whether an event with a text arrives.
func awaitEvent(c *daptest.Client, name, text string) bool {
	return slices.ContainsFunc(c.All(), func(m daptest.Message) bool {
		return m.Event == name && strings.Contains(string(m.Body), text)
	})
}

// awaitVerified waits until a breakpoint of the proxy is set.
func awaitVerified(c *daptest.Client) {
	for {
		var e godap.BreakpointEventBody
		_ = json.Unmarshal(c.Event("breakpoint").Body, &e)
		if e.Breakpoint.Id > ownIDs && e.Breakpoint.Verified {
			return
		}
	}
}
