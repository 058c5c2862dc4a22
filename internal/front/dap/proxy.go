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

	"github.com/ompd-inspect/ompd-inspect/session"
)

// ProxyConfig is what a proxy needs of the world around it.
type ProxyConfig struct {
	Config
	// Debugger is what is known of the adapter behind the proxy.
	Debugger Debugger
	// OpenHeld opens a process that the debugger holds; registers asks the debugger for those of its
	// threads, by LWP and name.
	OpenHeld func(pid int, registers func() map[int]map[string]uint64) (*session.Target, error)
	// Attach has how targets are opened, and what is shown. Its target is what to look at instead of the
	// process of the debugger; empty for that.
	Attach Attach
}

// Link is a connection to an adapter.
type Link struct {
	io.Reader
	io.Writer
	// Close tells the adapter that no more comes.
	Close func() error
	// Ended waits until it has ended, and says how; nil where nobody can know.
	Ended func() string
}

// proxy is between one client and one adapter. One goroutine reads what the client sends, one what the
// adapter sends; looks have their own.
type proxy struct {
	front
	config  ProxyConfig
	adapter *outlet
	life    context.Context // of the session

	mu      sync.Mutex // guards what follows
	hello   greeting
	can     map[string]bool // what the adapter can do, by the protocol's names
	greeted bool            // the adapter has said it
	asked   map[int]*asked  // requests of the client that are not answered
	calls   calls
	stop    *stop // the present one; nil while the program runs
	ids     ids
	told    told
	breaks  *breaks
	held
}

// calls are the requests of the proxy's own that are not answered, by their numbers.
type calls struct {
	waiting map[int]chan reply
	last    int
}

// told is what the client was told.
type told struct {
	looks   int
	verdict string // the last one
}

// held is what the debugger holds, as far as it is known, and what is looked at for it.
type held struct {
	core  string
	pid   int
	local bool // pid is of this machine

	looking sync.Mutex // guards target
	target  *session.Target
}

// asked is a request of the client that is with the adapter.
type asked struct {
	packet
	answer func(text []byte, body span) []edit // changes its answer; nil passes it as it is
	stop   *stop                               // at which it was asked
}

// reply is the answer to a request of the proxy's own.
type reply struct {
	text []byte
	err  error
}

// errNoAdapter is the answer to what was asked when the adapter ended.
var errNoAdapter = errors.New("the debug adapter has ended")

// Proxy passes messages between a client and an adapter, byte for byte, and adds what is known of OpenMP,
// until one of them ends. Its error says what was wrong.
func Proxy(ctx context.Context, in io.Reader, out io.Writer, adapter Link, c ProxyConfig) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &proxy{
		front: front{client: &outlet{w: out}, noted: c.noted}, config: c,
		adapter: &outlet{w: adapter.Writer}, life: ctx, asked: map[int]*asked{},
		calls: calls{waiting: map[int]chan reply{}}, can: map[string]bool{}, ids: ids{last: ownIDs},
		held: held{core: string(c.Attach.Target)},
	}
	p.breaks = &breaks{p: p}
	defer p.close()
	client, server := make(chan error, 1), make(chan error, 1)
	go func() {
		from := newRawReader("the client", in)
		client <- p.contained(func() error { return p.relay(from, p.adapter, p.fromClient) })
	}()
	go func() {
		from := newRawReader("the debug adapter", adapter)
		server <- p.contained(func() error { return p.relay(from, p.client, p.fromAdapter) })
	}()
	select {
	case err := <-client:
		// What the client asked before it closed its end is still answered, as far as the adapter does.
		err = errors.Join(noEnd(err), adapter.Close())
		select {
		case <-server:
		case <-time.After(lastAnswers):
		}
		return err
	case err := <-server:
		return p.lost(noEnd(err), adapter)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lastAnswers is how long is waited for an adapter to end whose client has gone.
const lastAnswers = 5 * time.Second

// noEnd takes the end of a connection between two messages for no error.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// lost tells the client that the adapter has ended.
func (p *proxy) lost(err error, adapter Link) error {
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
	p.client.say(important, text)
	p.client.tell("terminated", nil)
	return errors.New(text)
}

// close ends what the proxy has begun.
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

// packet is what is looked at of each request.
type packet struct {
	Seq       int             `json:"seq"`
	Type      string          `json:"type"`
	Command   string          `json:"command"`
	Arguments json.RawMessage `json:"arguments"`
}

// message is what is looked at of each message.
type message struct {
	packet
	Event      string `json:"event"`
	RequestSeq int    `json:"request_seq"`
	Success    bool   `json:"success"`
}

// relay passes messages on until there are no more. handle changes one, or takes it: then it is nil.
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
		_ = p.contained(func() error { // what it cannot change passes as it is
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

// call asks the adapter something of the proxy's own, and waits for the answer.
func (p *proxy) call(ctx context.Context, command string, arguments any) ([]byte, error) {
	answer := make(chan reply, 1)
	p.mu.Lock()
	p.calls.last++
	seq := ownIDs + p.calls.last
	p.calls.waiting[seq] = answer
	p.mu.Unlock()
	p.adapter.put(encoded(map[string]any{"seq": seq, "type": "request", "command": command, "arguments": arguments}))
	select {
	case r := <-answer:
		return r.text, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", command, ctx.Err())
	}
}
