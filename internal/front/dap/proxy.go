package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
)

// ProxyConfig contains the functions and options that a proxy needs from its caller.
type ProxyConfig struct {
	Config
	// Debugger describes the adapter.
	Debugger Debugger
	// OpenHeld opens a process that the debugger controls. registers requests the registers of its threads from
	// the debugger, by LWP and name.
	OpenHeld func(pid int, registers func() map[int]map[string]uint64) (*engine.Target, error)
	// Attach contains the options of opening and displaying targets. Its target replaces the process of the
	// debugger if it is set.
	Attach Attach
}

// Link is a connection to an adapter.
type Link struct {
	io.Reader
	io.Writer
	// Close closes the adapter's input.
	Close func() error
	// Ended waits until the adapter has ended, and returns how; nil if that is not known.
	Ended func() string
}

// proxy relays between one client and one adapter. One goroutine reads the client's messages, one the
// adapter's; snapshots have their own.
type proxy struct {
	front
	config  ProxyConfig
	adapter *outlet
	life    context.Context // of the session

	mu      sync.Mutex // guards the fields below
	hello   greeting
	can     map[string]bool // capabilities of the adapter, by the protocol's names
	greeted bool            // the adapter has sent its capabilities
	asked   map[int]*asked  // the client's requests without an answer
	calls   calls
	stop    *stop // the current stop; nil while the program runs
	ids     ids
	told    told
	breaks  *breaks
	held
}

// calls contains the proxy's own requests without an answer, by their numbers.
type calls struct {
	waiting map[int]chan reply
	last    int
}

// told contains the state that was sent to the client.
type told struct {
	looks   int
	verdict string // the last one
}

// held is the program of the debugger, as far as it is known, and its target.
type held struct {
	core  string
	pid   int
	local bool // pid is a process of this machine

	looking sync.Mutex // guards target
	target  *engine.Target
}

// asked is a request of the client that the adapter has not answered.
type asked struct {
	packet
	answer func(text []byte, body span) []edit // edits the answer; nil passes it unchanged
	stop   *stop                               // stop at the time of the request
}

// reply is the answer to a request of the proxy's own.
type reply struct {
	text []byte
	err  error
}

// errNoAdapter is the answer to a request if the adapter has ended.
var errNoAdapter = errors.New("the debug adapter has ended")

// Proxy relays messages between a client and an adapter, byte for byte, and adds OpenMP's state, until one of
// them ends. It returns an error if the input of one of them is invalid.
func Proxy(ctx context.Context, in io.Reader, out io.Writer, adapter Link, c ProxyConfig) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &proxy{
		front: front{client: &outlet{w: out}, logPanic: c.logPanic}, config: c,
		adapter: &outlet{w: adapter.Writer}, life: ctx, asked: map[int]*asked{},
		calls: calls{waiting: map[int]chan reply{}}, can: map[string]bool{}, ids: ids{last: ownIDs},
		held: held{core: string(c.Attach.Target)},
	}
	p.breaks = &breaks{p: p}
	defer p.close()
	client, server := make(chan error, 1), make(chan error, 1)
	go func() {
		from := newRawReader("the client", in)
		client <- p.contain(func() error { return p.relay(from, p.adapter, p.fromClient) })
	}()
	go func() {
		from := newRawReader("the debug adapter", adapter)
		server <- p.contain(func() error { return p.relay(from, p.client, p.fromAdapter) })
	}()
	select {
	case err := <-client:
		// Requests that the client sent before it closed its end are still answered, if the adapter does so.
		err = errors.Join(ignoreEnd(err), adapter.Close())
		select {
		case <-server:
		case <-time.After(lastAnswers):
		}
		return err
	case err := <-server:
		return p.reportEnd(ignoreEnd(err), adapter)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lastAnswers is the time to wait for the end of an adapter after its client has disconnected.
const lastAnswers = 5 * time.Second

// ignoreEnd returns nil for the end of a connection between two messages.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// reportEnd informs the client that the adapter has ended.
func (p *proxy) reportEnd(err error, adapter Link) error {
	how := ""
	if closeErr := adapter.Close(); adapter.Ended != nil && closeErr == nil {
		how = adapter.Ended()
	}
	p.mu.Lock()
	open := p.asked
	p.asked = map[int]*asked{}
	p.mu.Unlock()
	if len(open) == 0 && err == nil && how == "" {
		return nil
	}
	for _, seq := range slices.Sorted(maps.Keys(open)) {
		p.client.respond(seq, open[seq].Command, nil, errNoAdapter)
	}
	text := errNoAdapter.Error()
	if how != "" {
		text += ": " + how
	}
	if err != nil {
		text += ": " + err.Error()
	}
	p.client.print(important, text)
	p.client.sendEvent("terminated", nil)
	return errors.New(text)
}

// close ends the goroutines of the proxy.
func (p *proxy) close() {
	p.mu.Lock()
	p.leave()
	p.mu.Unlock()
	p.looking.Lock()
	defer p.looking.Unlock()
	if p.target != nil {
		_ = p.target.Close()
		p.target = nil
	}
}

// packet contains the parsed members of a request.
type packet struct {
	Seq       int             `json:"seq"`
	Type      string          `json:"type"`
	Command   string          `json:"command"`
	Arguments json.RawMessage `json:"arguments"`
}

// message contains the parsed members of any message.
type message struct {
	packet
	Event      string `json:"event"`
	RequestSeq int    `json:"request_seq"`
	Success    bool   `json:"success"`
}

// relay passes messages until there are no more. handle returns the changed message, or nil to drop it.
func (p *proxy) relay(from *rawReader, to *outlet, handle func(m *message, text []byte) []byte) error {
	for {
		r, err := from.read()
		if err != nil {
			return err
		}
		var m message
		if r.content == nil || json.Unmarshal(r.content, &m) != nil {
			if err := to.pass(r, from); err != nil {
				return err
			}
			continue
		}
		text := r.content
		_ = p.contain(func() error { // a message that cannot be changed passes unchanged
			text = handle(&m, r.content)
			return nil
		})
		switch {
		case text == nil:
		case &text[0] == &r.content[0] && len(text) == len(r.content):
			err = to.pass(r, from)
		default:
			to.put(text)
		}
		if err != nil {
			return err
		}
	}
}

// call sends the adapter a request of the proxy's own, and waits for the answer.
func (p *proxy) call(ctx context.Context, command string, arguments any) ([]byte, error) {
	answer := make(chan reply, 1)
	p.mu.Lock()
	p.calls.last++
	seq := ownIDs + p.calls.last
	p.calls.waiting[seq] = answer
	p.mu.Unlock()
	p.adapter.put(encode(map[string]any{"seq": seq, "type": "request", "command": command, "arguments": arguments}))
	select {
	case r := <-answer:
		return r.text, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", command, ctx.Err())
	}
}
