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

// args contains the arguments of a request.
type args = map[string]any

// config returns a configuration that opens targets as the command line does. Its verb repeats its words.
func config() dap.Config {
	return dap.Config{
		Open: func(ctx context.Context, a dap.Attach) (*engine.Target, error) {
			o := engine.Options{Exe: a.Exe, Sysroot: a.Sysroot, DebugDirs: a.DebugDirs}
			return engine.Open(ctx, string(a.Target), o)
		},
		Verb: func(_ context.Context, _ *engine.Target, words []string) (string, error) {
			return fmt.Sprintf("verb %s\n", strings.Join(words, " ")), nil
		},
		Verbs: []string{"regions", "report"},
	}
}

// serve starts an adapter and returns its client. ended receives the error of Serve.
func serve(t testing.TB, c dap.Config) (client *daptest.Client, ended <-chan error) {
	t.Helper()
	return serveUntil(t.Context(), t, c)
}

// serveUntil is serve for an adapter that ctx ends.
func serveUntil(ctx context.Context, t testing.TB, c dap.Config) (client *daptest.Client, ended <-chan error) {
	t.Helper()
	fromClient, toAdapter := io.Pipe()
	fromAdapter, toClient := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := dap.Serve(ctx, fromClient, toClient, c)
		fromClient.Close()
		toClient.Close()
		done <- err
	}()
	return daptest.New(t, fromAdapter, toAdapter), done
}

// golden unpacks a golden core, and returns the arguments that attach to it.
func golden(t *testing.T, name string) args {
	t.Helper()
	g, err := omptest.UnpackGolden("../../../testdata/golden", name, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return args{"target": g.Core, "exe": g.Exe, "sysroot": g.Sysroot}
}

// attach returns a client that has attached, and the event of the stop.
func attach(t testing.TB, arguments args) (*daptest.Client, godap.StoppedEventBody) {
	t.Helper()
	c, _ := serve(t, config())
	daptest.Ask[godap.Capabilities](c, "initialize", args{"adapterID": "ompd"})
	c.Event("initialized")
	attach := c.Send("attach", arguments)
	daptest.Ask[any](c, "configurationDone", nil)
	if m := c.Response(attach); !m.Success {
		t.Fatalf("attach: %s", m.Text)
	}
	return c, daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
}

// threads returns the threads of the target.
func threads(c *daptest.Client) []godap.Thread {
	return daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads
}

// stack returns a thread's whole stack.
func stack(c *daptest.Client, id int) []godap.StackFrame {
	return frames(c, args{"threadId": id}).StackFrames
}

// frames returns a part of a thread's stack.
func frames(c *daptest.Client, which args) godap.StackTraceResponseBody {
	return daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", which)
}

// scope returns the variables in a frame's scope with the given name, by name.
func scope(t testing.TB, c *daptest.Client, frame int, name string) map[string]godap.Variable {
	t.Helper()
	for _, s := range daptest.Ask[godap.ScopesResponseBody](c, "scopes", args{"frameId": frame}).Scopes {
		if s.Name == name {
			return parts(c, s.VariablesReference)
		}
	}
	t.Fatalf("frame %d has no scope %q", frame, name)
	return nil
}

// parts returns the parts of a variable, by name.
func parts(c *daptest.Client, reference int) map[string]godap.Variable {
	out := map[string]godap.Variable{}
	which := args{"variablesReference": reference}
	for _, v := range daptest.Ask[godap.VariablesResponseBody](c, "variables", which).Variables {
		out[v.Name] = v
	}
	return out
}
