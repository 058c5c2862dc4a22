package dap_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestOrder attaches in each order that clients use: the stop follows both the answer to attach and
// configurationDone.
func TestOrder(t *testing.T) {
	for _, order := range [][]string{{"attach", "configurationDone"}, {"configurationDone", "attach"}} {
		c, ended := serve(t, config())
		greet := c.Send("initialize", args{"adapterID": "ompd"})
		sent := []int{greet}
		for _, command := range order {
			var how any
			if command == "attach" {
				how = golden(t, "gnu-barrier")
			}
			sent = append(sent, c.Send(command, how))
		}
		c.Event("stopped")
		place := map[string]int{}
		for i, m := range c.All() {
			place[m.Command+m.Event] = i
		}
		stop := place["stopped"]
		if place["initialize"] > place["initialized"] || place["attach"] > stop || place["configurationDone"] > stop {
			t.Errorf("%v: the order is %v", order, place)
		}
		for _, seq := range sent {
			if m := c.Response(seq); !m.Success {
				t.Errorf("%v: %+v", order, m)
			}
		}
		daptest.Ask[any](c, "disconnect", nil)
		if err := <-ended; err != nil {
			t.Errorf("the session ends with %v", err)
		}
	}
}

// TestErrorsOfExpressions checks that editors open no window for the error of an expression, and one for others.
func TestErrorsOfExpressions(t *testing.T) {
	c, stop := attach(t, golden(t, "llvm-deadlock"))
	f := stack(c, stop.ThreadId)[0]
	for command, how := range map[string]args{
		"evaluate": {"expression": "no_such_name", "frameId": f.Id}, "variables": {"variablesReference": 12345},
	} {
		m := c.Response(c.Send(command, how))
		body := daptest.BodyOf[godap.ErrorResponseBody](c, m)
		if m.Success || body.Error == nil || body.Error.ShowUser != (command == "variables") {
			t.Errorf("%s: %+v %+v", command, m, body.Error)
		}
	}
}

// TestRefusals checks the reasons of refused requests; the session continues.
func TestRefusals(t *testing.T) {
	c, _ := serve(t, config())
	refused := func(command string, how any, text string) {
		t.Helper()
		if got := c.Refused(command, how); !strings.Contains(got, text) {
			t.Errorf("%s: %q, want %q", command, got, text)
		}
	}
	refused("threads", nil, "initialize must come first")
	daptest.Ask[any](c, "initialize", args{"adapterID": "ompd"})
	refused("initialize", args{"adapterID": "ompd"}, "was sent before")
	refused("threads", nil, "nothing is attached")
	refused("attach", args{}, "which target?")
	refused("attach", args{"target": "/nowhere/core"}, "no such file")
	refused("attach", args{"target": []int{1}}, "its arguments")
	refused("launch", args{"program": "x", "args": "x"}, `its arguments: "args" must be a list, not a JSON string`)
	refused("attach", args{"target": 1, "runtimeFrames": 1}, `"runtimeFrames" must be true or false, not a JSON`)
	refused("gotoTargets", nil, "does not know this request")
	refused("ompd/nothing", nil, "does not know this request")
	daptest.Ask[any](c, "configurationDone", nil)
	daptest.Ask[any](c, "attach", golden(t, "gnu-barrier"))
	c.Event("stopped")
	refused("attach", golden(t, "gnu-barrier"), "a target is open")
	refused("stackTrace", args{"threadId": 1}, "no thread 1")
	refused("scopes", args{"frameId": 12345}, "earlier snapshot")
	refused("variables", args{"variablesReference": 12345}, "earlier snapshot")
	refused("next", args{"threadId": 1}, "a debugger does")
	b := daptest.Ask[godap.SetBreakpointsResponseBody](c, "setBreakpoints", args{
		"source": args{"path": "/src/a.c"}, "breakpoints": []args{{"line": 1}, {"line": 2}},
	})
	if len(b.Breakpoints) != 2 || b.Breakpoints[0].Verified || b.Breakpoints[0].Message == "" {
		t.Errorf("breakpoints %+v", b)
	}
	f := daptest.Ask[godap.SetFunctionBreakpointsResponseBody](c, "setFunctionBreakpoints", args{
		"breakpoints": []args{{"name": "main"}},
	})
	omptest.Equal(t, "function breakpoints", len(f.Breakpoints), 1)
	daptest.Ask[any](c, "setExceptionBreakpoints", args{"filters": []string{}})
	if n := len(threads(c)); n == 0 {
		t.Error("no threads any more")
	}
}

// TestEmptyLists accepts the arguments of clients that send an empty list for no arguments.
func TestEmptyLists(t *testing.T) {
	c, _ := serve(t, config())
	daptest.Ask[any](c, "initialize", []int{})
	daptest.Ask[any](c, "configurationDone", []int{})
	daptest.Ask[any](c, "attach", golden(t, "gnu-barrier"))
	c.Event("stopped")
	daptest.Ask[godap.ThreadsResponseBody](c, "threads", []int{})
}

// TestLines counts lines as the client does.
func TestLines(t *testing.T) {
	c, _ := serve(t, config())
	daptest.Ask[any](c, "initialize", args{"adapterID": "ompd", "linesStartAt1": false})
	daptest.Ask[any](c, "configurationDone", nil)
	daptest.Ask[any](c, "attach", golden(t, "llvm-deadlock"))
	stop := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
	f := stack(c, stop.ThreadId)[1]
	omptest.Equal(t, "line, counted from 0", f.Line, 12)
	omptest.Equal(t, "column, counted from 0", f.Column, 0)
}

// TestGarbage sends invalid input: the session ends with the reason, which is sent to the client if possible.
func TestGarbage(t *testing.T) {
	head := func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n", n) }
	for name, bad := range map[string]struct{ bytes, text string }{
		"words":           {"hello, world, this is not what you want\n", "not the Debug Adapter Protocol"},
		"no length":       {"Content-Type: x\r\n\r\n{}", "without Content-Length"},
		"negative":        {"Content-Length: -5\r\n\r\n{}", `Content-Length " -5"`},
		"endless line":    {strings.Repeat("x", 1<<16), "a line of more than"},
		"endless headers": {strings.Repeat("A: b\r\n", 100), "more than 16 lines"},
		"100 MB":          {head(100 << 20), "a message of 104857600 bytes: 1048576 is the limit"},
		"half a message":  {head(100) + `{"seq":`, "within a message of 100 bytes"},
		"half a header":   {"Content-Le", "before a message"},
	} {
		t.Run(name, func(t *testing.T) {
			c, ended := serve(t, config())
			daptest.Ask[any](c, "initialize", args{"adapterID": "ompd"})
			c.Write(bad.bytes)
			c.CloseWrite()
			if err := <-ended; err == nil || !strings.Contains(err.Error(), bad.text) {
				t.Errorf("the session ends with %v, want %q", err, bad.text)
			}
			told := daptest.BodyOf[godap.OutputEventBody](c, c.Event("output"))
			if told.Category != "important" || !strings.Contains(told.Output, bad.text) {
				t.Errorf("the client is told %+v, want %q", told, bad.text)
			}
			c.Event("terminated")
		})
	}
}

// TestNoRequest ignores messages that are not requests; the session continues.
func TestNoRequest(t *testing.T) {
	for _, content := range []string{
		"{", "[]", `"x"`, "{}", `{"type":"event","event":"x"}`, `{"seq":"one","type":"request"}`,
	} {
		c, _ := serve(t, config())
		c.Write(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(content), content))
		told := daptest.BodyOf[godap.OutputEventBody](c, c.Event("output"))
		if !strings.Contains(told.Output, "not a request") {
			t.Errorf("%s: %+v", content, told)
		}
		daptest.Ask[any](c, "initialize", args{"adapterID": "ompd"})
	}
}

// TestGone makes the client disappear while the adapter answers: the adapter ends.
func TestGone(t *testing.T) {
	in, toAdapter := io.Pipe()
	fromAdapter, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- dap.Serve(t.Context(), in, out, config()) }()
	go func() {
		message := `{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}`
		_ = godap.WriteBaseMessage(toAdapter, []byte(message))
	}()
	fromAdapter.Close()
	if err := <-done; err == nil {
		t.Error("the session ends without an error")
	}
	toAdapter.Close()
}

// TestClosed answers all requests that were sent before the client closed its end.
func TestClosed(t *testing.T) {
	c, ended := serve(t, config())
	c.Send("initialize", args{"adapterID": "ompd"})
	c.Send("configurationDone", nil)
	c.Send("attach", golden(t, "gnu-barrier"))
	last := c.Send("threads", nil)
	c.CloseWrite()
	if err := <-ended; err != nil {
		t.Errorf("the session ends with %v", err)
	}
	if m := c.Response(last); !m.Success {
		t.Errorf("threads: %s", m.Text)
	}
}

// TestCancel cancels a request that waits for another one. It is answered as the protocol requires, and the one
// after it normally.
func TestCancel(t *testing.T) {
	entered := make(chan struct{})
	slow := config()
	slow.Verb = func(ctx context.Context, _ *engine.Target, _ []string) (string, error) {
		close(entered)
		<-ctx.Done()
		return "", nil
	}
	c, _ := serve(t, slow)
	daptest.Ask[any](c, "initialize", args{"adapterID": "ompd"})
	daptest.Ask[any](c, "configurationDone", nil)
	daptest.Ask[any](c, "attach", golden(t, "gnu-barrier"))
	running := c.Send("evaluate", args{"expression": "omp report"})
	<-entered
	behind := c.Send("threads", nil)
	cancel := c.Send("cancel", args{"requestId": behind})
	stop := c.Send("cancel", args{"requestId": running})
	for _, seq := range []int{running, behind} {
		if m := c.Response(seq); m.Success || m.Text != "cancelled" {
			t.Errorf("a cancelled request is answered by %+v", m)
		}
	}
	for _, seq := range []int{cancel, stop} {
		if m := c.Response(seq); !m.Success {
			t.Errorf("cancel: %+v", m)
		}
	}
	if len(threads(c)) == 0 {
		t.Error("no threads any more")
	}
}
