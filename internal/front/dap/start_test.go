package dap_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
)

// burst is a client that handles all messages that have arrived before it continues, as an event loop does.
type burst struct {
	t        *testing.T
	toServer io.Writer
	arrived  chan godap.Message
	seq      int
}

// newBurst starts an adapter and returns its client. It runs in a bubble of synctest.
func newBurst(t *testing.T) *burst {
	fromClient, toAdapter := io.Pipe()
	fromAdapter, toClient := io.Pipe()
	b := &burst{t: t, toServer: toAdapter, arrived: make(chan godap.Message, 100)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = dap.Serve(t.Context(), fromClient, toClient, config())
		toClient.Close()
	}()
	go func() {
		defer close(b.arrived)
		for in := bufio.NewReader(fromAdapter); ; {
			m, err := godap.ReadProtocolMessage(in)
			if err != nil {
				return
			}
			b.arrived <- m
		}
	}()
	t.Cleanup(func() {
		toAdapter.Close()
		<-served
	})
	return b
}

// send sends a request.
func (b *burst) send(command string) {
	b.seq++
	text := fmt.Sprintf(`{"seq":%d,"type":"request","command":%q,"arguments":{"adapterID":"ompd"}}`, b.seq, command)
	if _, err := fmt.Fprintf(b.toServer, "Content-Length: %d\r\n\r\n%s", len(text), text); err != nil {
		b.t.Error(err)
	}
}

// take returns the names of the messages that the adapter has sent when it has nothing more to do.
func (b *burst) take() string {
	synctest.Wait()
	var out []string
	for len(b.arrived) > 0 {
		switch m := (<-b.arrived).(type) {
		case godap.ResponseMessage:
			out = append(out, m.GetResponse().Command)
		case godap.EventMessage:
			out = append(out, "event "+m.GetEvent().Event)
		}
	}
	return strings.Join(out, ", ")
}

// TestInitialized requires that a client gets the answer to initialize before the event "initialized", not together
// with it: VS Code's test client chooses the request that ends the configuration when the event comes, by the
// capabilities that it has stored until then.
func TestInitialized(t *testing.T) {
	t.Run("client that sends more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBurst(t)
			b.send("initialize")
			if got := b.take(); got != "initialize" {
				t.Fatalf("the answer comes with %q", got)
			}
			b.send("attach") // refused, since it names no target
			if got := b.take(); !strings.HasPrefix(got, "event initialized, ") || !strings.HasSuffix(got, "attach") {
				t.Errorf("the next messages are %q", got)
			}
			b.send("configurationDone")
			if got := b.take(); got != "configurationDone" {
				t.Errorf("the next messages are %q", got)
			}
			time.Sleep(time.Hour)
			if got := b.take(); got != "" {
				t.Errorf("it sends %q again", got)
			}
		})
	})
	t.Run("client that waits for the event", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBurst(t)
			b.send("initialize")
			if got := b.take(); got != "initialize" {
				t.Fatalf("the answer comes with %q", got)
			}
			time.Sleep(time.Second)
			if got := b.take(); got != "event initialized" {
				t.Errorf("the event does not come: %q", got)
			}
		})
	})
}

// consoleText returns the texts that a client's console shows.
func consoleText(t *testing.T, c *daptest.Client) (text string) {
	t.Helper()
	for _, m := range c.All() {
		var e godap.OutputEvent
		if err := json.Unmarshal(m.Raw, &e); err != nil {
			t.Fatal(err)
		}
		if m.Event == "output" {
			text += e.Body.Output
		}
	}
	return text
}

// TestUnknownKeys requires a message, and no error, for each key of a configuration that has no effect.
func TestUnknownKeys(t *testing.T) {
	c, _ := serve(t, config())
	daptest.Ask[godap.Capabilities](c, "initialize", args{"adapterID": "ompd"})
	how := golden(t, "gnu-barrier")
	more := args{
		"name": "x", "type": "ompd", "request": "attach", "__sessionId": "1", "presentation": nil, "hold": false,
		"stopOnEntry": true, "sourcemap": nil, "sysrooot": "/", "coreFile": "core", "program": "p", "console": "x",
		"args": []string{}, "colour": "blue", "environment": nil,
	}
	maps.Copy(how, more)
	daptest.Ask[any](c, "attach", how)
	want := `attach: "args" has no effect
attach: "colour" has no effect
attach: "console" has no effect: the program's output appears in the debug console
attach: "coreFile" has no effect: here it is "target"
attach: "environment" has no effect
attach: "program" has no effect: "target" is the core file or the process, "exe" the program's file
attach: "sourcemap" has no effect: did you mean "sourceMap"?
attach: "stopOnEntry" has no effect: programs are not stopped at their start, only when they hang or crash
attach: "sysrooot" has no effect: did you mean "sysroot"?
`
	if got := consoleText(t, c); got != want {
		t.Errorf("the console shows\n%s, want\n%s", got, want)
	}
}

// TestUnknownKeysOfLaunch requires that keys of attach are named in a configuration that starts a program.
func TestUnknownKeysOfLaunch(t *testing.T) {
	c, _ := serve(t, config())
	daptest.Ask[godap.Capabilities](c, "initialize", args{"adapterID": "ompd"})
	how := args{"program": "/bin/true", "target": 1, "processId": 1, "environment": nil}
	for n := range 12 {
		how[fmt.Sprintf("zz%02d", n)] = n
	}
	c.Refused("launch", how) // this adapter starts no programs
	got := consoleText(t, c)
	for _, want := range []string{
		`launch: "environment" has no effect: here it is "env"`,
		`launch: "processId" has no effect on a program that is started: it belongs to "request": "attach"`,
		`launch: "target" has no effect on a program that is started: it belongs to "request": "attach"`,
		"launch: 5 more keys have no effect\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
