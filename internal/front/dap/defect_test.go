package dap_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// defect panics.
func defect() { panic("this was not thought of") }

// log collects the texts that the adapter logs.
type log struct {
	mu   sync.Mutex
	text []string
}

func (l *log) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text)
}

// check checks the number of texts, and that each of them names the place of the panic.
func (l *log) check(t *testing.T, want int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) != want {
		t.Errorf("the log has %d texts, want %d: %q", len(l.text), want, l.text)
	}
	for _, text := range l.text {
		if !strings.Contains(text, "not thought of") || !strings.Contains(text, "defect_test.go") {
			t.Errorf("the log does not say where it was: %s", text)
		}
	}
}

// TestDefect makes requests panic: their answers are errors, and both this session and another one continue.
func TestDefect(t *testing.T) {
	core := golden(t, "llvm-deadlock")
	var l log
	c := config()
	opened := false
	open, verb := c.Open, c.Verb
	c.Log = l.add
	c.Open = func(ctx context.Context, a dap.Attach) (*engine.Target, error) {
		if !opened {
			opened = true
			defect()
		}
		return open(ctx, a)
	}
	c.Verb = func(ctx context.Context, t *engine.Target, words []string) (string, error) {
		if words[0] == "regions" {
			defect()
		}
		return verb(ctx, t, words)
	}
	other, _ := attach(t, core)
	broken, ended := serve(t, c)
	daptest.Ask[any](broken, "initialize", args{"adapterID": "ompd"})
	daptest.Ask[any](broken, "configurationDone", nil)
	if text := broken.Refused("attach", core); !strings.Contains(text, "a defect of ompd-inspect") {
		t.Errorf("attach: %s", text)
	}
	daptest.Ask[any](broken, "attach", core)
	stop := daptest.BodyOf[godap.StoppedEventBody](broken, broken.Event("stopped"))
	omptest.Equal(t, "the stop", stop.Text, "DEADLOCK: threads 0 and 1")
	verbOf := func(name string) args { return args{"expression": "omp " + name, "context": "repl"} }
	if text := broken.Refused("evaluate", verbOf("regions")); !strings.Contains(text, "not thought of") {
		t.Errorf("a verb: %s", text)
	}
	said := daptest.Ask[godap.EvaluateResponseBody](broken, "evaluate", verbOf("report"))
	omptest.Equal(t, "the next verb", said.Result, "verb report")
	for _, c := range []*daptest.Client{broken, other} {
		if n := len(threads(c)); n == 0 {
			t.Error("there are no threads")
		}
	}
	daptest.Ask[any](broken, "disconnect", nil)
	omptest.Equal(t, "the session's end", <-ended, nil)
	l.check(t, 2)
}

// dying is a program that is about to die, and cannot be opened.
type dying struct {
	events   chan dap.Event
	proceeds chan struct{}
}

func (dying) PID() int                         { return 7 }
func (d dying) Events() <-chan dap.Event       { return d.events }
func (dying) Open(int) (*engine.Target, error) { defect(); return nil, nil }
func (dying) Signal(bool)                      {}
func (dying) Close() error                     { return nil }

// TestDefectOfEvent makes the adapter panic when its program dies: the program continues.
func TestDefectOfEvent(t *testing.T) {
	var l log
	d := dying{make(chan dap.Event, 2), make(chan struct{})}
	c := config()
	c.Log = l.add
	c.Launch = func(dap.Launch, func(string), func(string)) (dap.Program, error) { return d, nil }
	client, ended := serve(t, c)
	daptest.Ask[any](client, "initialize", args{"adapterID": "ompd"})
	daptest.Ask[any](client, "configurationDone", nil)
	daptest.Ask[any](client, "launch", args{"program": "p"})
	d.events <- dap.Event{PID: 7, Death: true, Proceed: func() { close(d.proceeds) }}
	<-d.proceeds
	d.events <- dap.Event{PID: 7, Ended: true, Status: 3}
	omptest.Equal(t, "status", daptest.BodyOf[godap.ExitedEventBody](client, client.Event("exited")).ExitCode, 3)
	client.CloseWrite()
	omptest.Equal(t, "the session's end", <-ended, nil)
	l.check(t, 1)
}

// TestProxyDefect makes the snapshot of a proxy panic: the debugger's messages pass unchanged, and the user
// gets one message.
func TestProxyDefect(t *testing.T) {
	var l log
	c := dap.ProxyConfig{Attach: dap.Attach{Target: "core"}}
	c.Log = l.add
	c.Open = func(context.Context, dap.Attach) (*engine.Target, error) { defect(); return nil, nil }
	e := startProxy(t, c)
	e.greet(`{}`)
	stopped := frame(`{"seq":0,"type":"event","event":"stopped","body":{"reason":"pause","allThreadsStopped":true}}`)
	e.send(e.adapter, stopped)
	e.expect(e.toUser, stopped)
	for _, want := range []string{"a defect of ompd-inspect", "OpenMP's state cannot be shown"} {
		if _, m := e.next(e.toUser); m.Event != "output" || !strings.Contains(string(m.Body), want) {
			t.Errorf("no %q in %+v", want, m)
		}
	}
	body := `{"threads":[{ "odd": 1.50, "id":1,"name" : "x" }]}`
	omptest.Equal(t, "threads", string(e.ask("threads", `{}`, body)), body)
	for n := range 2 {
		e.send(e.client, frame(fmt.Sprintf(`{"seq":%d,"type":"request","command":"ompd/regions"}`, 20+n)))
		if _, m := e.next(e.toUser); m.Success || !strings.Contains(m.Message, "not thought of") {
			t.Errorf("what the proxy has to answer: %+v", m)
		}
	}
	l.check(t, 1)
}
