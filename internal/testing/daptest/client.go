// Package daptest implements a client of debug adapters for tests: it speaks the protocol, keeps all messages,
// and validates each by the protocol's own schema.
package daptest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	godap "github.com/google/go-dap"
)

// Message is a message of an adapter.
type Message struct {
	Seq        int             `json:"seq"`
	Type       string          `json:"type"`
	Event      string          `json:"event"`
	Command    string          `json:"command"`
	RequestSeq int             `json:"request_seq"`
	Success    bool            `json:"success"`
	Text       string          `json:"message"`
	Body       json.RawMessage `json:"body"`
	Raw        []byte          `json:"-"` // the whole text
}

// Client is one connection to an adapter. Its methods fail the test if the adapter sends an invalid message, or
// ends before the awaited one.
type Client struct {
	tb     testing.TB
	schema *Schema
	out    io.WriteCloser
	seq    int
	sent   [][]byte
	behind int // smaller numbers are messages of another adapter, which a proxy forwards; they are not checked

	mu    sync.Mutex
	came  *sync.Cond
	all   []Message
	taken int // number of events that Event has returned
	ended error
}

// New starts to read the messages of an adapter.
func New(tb testing.TB, in io.Reader, out io.WriteCloser) *Client {
	tb.Helper()
	return start(&Client{tb: tb, schema: loadSchema(tb), out: out}, in)
}

// NewProxied is New for a proxy that numbers its own messages from above + 1 on: only those are validated.
func NewProxied(tb testing.TB, in io.Reader, out io.WriteCloser, above int) *Client {
	tb.Helper()
	return start(&Client{tb: tb, schema: loadSchema(tb), out: out, behind: above}, in)
}

func start(c *Client, in io.Reader) *Client {
	c.came = sync.NewCond(&c.mu)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.listen(bufio.NewReader(in))
	}()
	c.tb.Cleanup(func() {
		c.out.Close()
		<-done
	})
	return c
}

// listen keeps all incoming messages.
func (c *Client) listen(in *bufio.Reader) {
	for {
		content, err := godap.ReadBaseMessage(in)
		var m Message
		if err == nil {
			err = json.Unmarshal(content, &m)
			m.Raw = content
		}
		if err == nil && m.Seq > c.behind {
			err = c.schema.Check(content)
		}
		c.mu.Lock()
		if err != nil {
			if c.ended = err; !closed(err) {
				c.tb.Errorf("%v: %s", err, content)
			}
			c.came.Broadcast()
			c.mu.Unlock()
			return
		}
		if want := len(c.all) + 1; c.behind == 0 && m.Seq != want {
			c.tb.Errorf("message %d has the number %d", want, m.Seq)
		}
		c.all = append(c.all, m)
		c.came.Broadcast()
		c.mu.Unlock()
	}
}

// closed reports whether a connection was closed between two messages, by either side.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET)
}

// await waits for the first message, from number from on, that is wanted.
func (c *Client) await(what string, from int, wanted func(Message) bool) (Message, int) {
	c.tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := from; ; at++ {
		for at >= len(c.all) && c.ended == nil {
			c.came.Wait()
		}
		if at >= len(c.all) {
			c.tb.Fatalf("no %s came before the end (%v) of:\n%s", what, c.ended, show(c.all))
		}
		if wanted(c.all[at]) {
			return c.all[at], at
		}
	}
}

// show formats messages in a line each, truncated.
func show(list []Message) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%d %s %s%s %.200s %s\n", m.Seq, m.Type, m.Event, m.Command, m.Body, m.Text)
	}
	return b.String()
}

// Send sends a request and returns its number.
func (c *Client) Send(command string, arguments any) int {
	c.tb.Helper()
	c.seq++
	m := map[string]any{"seq": c.seq, "type": "request", "command": command}
	if arguments != nil {
		m["arguments"] = arguments
	}
	content, err := json.Marshal(m)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.sent = append(c.sent, content)
	if err := godap.WriteBaseMessage(c.out, content); err != nil {
		c.tb.Fatal(err)
	}
	return c.seq
}

// Write sends raw bytes.
func (c *Client) Write(b string) {
	c.tb.Helper()
	if _, err := io.WriteString(c.out, b); err != nil {
		c.tb.Logf("the adapter reads no more: %v", err)
	}
}

// CloseWrite closes the stream to the adapter.
func (c *Client) CloseWrite() { c.out.Close() }

// Response waits for the answer to a request.
func (c *Client) Response(seq int) Message {
	c.tb.Helper()
	m, _ := c.await(fmt.Sprintf("response to %d", seq), 0, func(m Message) bool {
		return m.Type == "response" && m.RequestSeq == seq
	})
	return m
}

// Event waits for the next event of a name, and returns it.
func (c *Client) Event(name string) Message {
	c.tb.Helper()
	m, at := c.await("event "+name, c.taken, func(m Message) bool { return m.Type == "event" && m.Event == name })
	c.taken = at + 1
	return m
}

// All returns all messages so far.
func (c *Client) All() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// Sent returns the requests as they were written.
func (c *Client) Sent() [][]byte { return c.sent }

// Await waits until the adapter has closed its end.
func (c *Client) Await() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.ended == nil {
		c.came.Wait()
	}
}

// Refused sends a request and returns the text of its error response.
func (c *Client) Refused(command string, arguments any) string {
	c.tb.Helper()
	m := c.Response(c.Send(command, arguments))
	if m.Success || m.Text == "" {
		c.tb.Fatalf("%s %v is answered by %+v, want an error", command, arguments, m)
	}
	return m.Text
}

// Ask sends a request and returns the body of its response.
func Ask[T any](c *Client, command string, arguments any) T {
	c.tb.Helper()
	m := c.Response(c.Send(command, arguments))
	if !m.Success {
		c.tb.Fatalf("%s %v: %s", command, arguments, m.Text)
	}
	return BodyOf[T](c, m)
}

// BodyOf decodes the body of a message.
func BodyOf[T any](c *Client, m Message) (body T) {
	c.tb.Helper()
	if len(m.Body) == 0 {
		return body
	}
	if err := json.Unmarshal(m.Body, &body); err != nil {
		c.tb.Fatalf("%+v: %v", m, err)
	}
	return body
}
