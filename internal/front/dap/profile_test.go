package dap_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// profiler returns a configuration whose verb profiles, and a channel that receives a value after each first sample.
func profiler() (dap.Config, <-chan bool) {
	started, c := make(chan bool, 1), config()
	c.Verbs = append(c.Verbs, "profile")
	c.Verb = func(ctx context.Context, t *engine.Target, words []string) (string, error) {
		p, err := t.Profile(ctx, engine.ProfileOptions{Started: func() { started <- true }})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s: %s after %v samples", strings.Join(words, " "), p.End, p.Samples > 0), nil
	}
	return c, started
}

// TestProfile profiles a process in the console. Other requests are answered meanwhile. Cancel and pause end the
// profile, and the answer is the profile so far; the end of the session discards it.
func TestProfile(t *testing.T) {
	omptest.Needs(t, "a compiler")
	p := omptest.Start(t, deadlocks(t)["libomp"])
	conf, started := profiler()
	c, ended := serve(t, conf)
	daptest.Ask[any](c, "initialize", args{"adapterID": "ompd"})
	daptest.Ask[any](c, "configurationDone", nil)
	daptest.Ask[any](c, "attach", args{"target": p.PID, "hold": false})
	c.Event("stopped")
	begin := func(line string) int {
		seq := c.Send("evaluate", args{"expression": line})
		<-started
		return seq
	}
	check := func(seq int, want string) {
		t.Helper()
		m := c.Response(seq)
		body := daptest.BodyOf[godap.EvaluateResponseBody](c, m)
		if !m.Success || body.Result != want {
			t.Errorf("%q, %s, want %q", body.Result, m.Text, want)
		}
	}
	seq := begin("omp profile 1h")
	if n := len(threads(c)); n == 0 {
		t.Error("no thread is listed during the samples")
	}
	if text := c.Refused("evaluate", args{"expression": "omp profile"}); !strings.Contains(text, "in progress") {
		t.Errorf("a second profile: %q", text)
	}
	daptest.Ask[any](c, "cancel", args{"requestId": seq})
	check(seq, "profile --quiet --for=1h0m0s: interrupted after true samples")

	seq = begin("omp profile --samples 9 --json")
	pause := c.Send("pause", args{"threadId": 0})
	check(seq, "profile --quiet --samples 9 --json: interrupted after true samples")
	if m := c.Response(pause); !m.Success {
		t.Errorf("pause: %s", m.Text)
	}
	omptest.Equal(t, "held after pause", isTraced(t, p), true)
	if text := c.Refused("evaluate", args{"expression": "omp profile"}); !strings.Contains(text, "stopped") {
		t.Errorf("a stopped process: %q", text)
	}
	daptest.Ask[any](c, "continue", args{"threadId": 0})
	begin("omp profile")
	c.CloseWrite()
	if err := <-ended; err != nil {
		t.Errorf("the session ends with %v", err)
	}
	omptest.Equal(t, "held when the client is gone", isTraced(t, p), false)
}

// TestNoProfile refuses to profile a core.
func TestNoProfile(t *testing.T) {
	conf, _ := profiler()
	c, _ := serve(t, conf)
	daptest.Ask[any](c, "initialize", args{"adapterID": "ompd"})
	daptest.Ask[any](c, "configurationDone", nil)
	daptest.Ask[any](c, "attach", golden(t, "llvm-deadlock"))
	if text := c.Refused("evaluate", args{"expression": "omp profile"}); !strings.Contains(text, "core stands still") {
		t.Errorf("a core: %q", text)
	}
}
