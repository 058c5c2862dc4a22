package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// Config is what the adapter needs of the world around it.
type Config struct {
	// Open opens a target.
	Open func(ctx context.Context, a Attach) (*session.Target, error)
	// Verb runs a verb of the command line on a target that is open, and returns what it
	// prints, its errors too. Verbs are the names of those that can be run.
	Verb  func(ctx context.Context, t *session.Target, args []string) string
	Verbs []string
	// Launch starts a program. What it writes is given to stdout and stderr, by other
	// goroutines. It is nil where no programs are started.
	Launch func(l Launch, stdout, stderr func(text string)) (Program, error)
	// Log is given what the maintainers of this program need to know: where a panic was. It
	// may be nil, and is called by several goroutines.
	Log func(text string)
}

// noted has the log say where a panic was, and returns what the client is told of it, which is
// no panic any more. Another error stays what it is.
func (c Config) noted(err error) error {
	var p *contain.Panic
	if !errors.As(err, &p) {
		return err
	}
	if c.Log != nil {
		c.Log(fmt.Sprintf("%v\n%s", p, p.Stack))
	}
	const text = "a defect of ompd-inspect, please report it with what its standard error shows: panic: %v"
	return fmt.Errorf(text, p.Value)
}

// request is what a client asks for.
type request struct {
	Seq       int             `json:"seq"`
	Type      string          `json:"type"`
	Command   string          `json:"command"`
	Arguments json.RawMessage `json:"arguments"`

	ctx     context.Context
	cancel  context.CancelFunc
	dropped atomic.Bool // the client has cancelled it
}

// adapter serves one client. All but the reading is done by one goroutine.
type adapter struct {
	*wire
	config Config
	client greeting
	phase  phase
	ready  bool     // the client has sent configurationDone
	begun  bool     // the client was told of the stop
	after  []func() // what is to be done when the present request is answered
	ended  bool     // the client has disconnected

	debuggee
	view *view
	ids  ids

	life    context.Context // of the session
	waiting sync.Mutex
	pending map[int]*request // those that are not answered
}

// phase is how far a client has come.
type phase int

const (
	fresh       phase = iota // it has not sent initialize
	initialized              // it has not attached
	attached
)

// maxQueued is how many requests of a client may wait for their answers; then no more are
// read. Editors ask for the stacks of all threads at once.
const maxQueued = 256

// Serve answers one client until it disconnects, closes its end or ctx ends. Its error says
// what was wrong with what came from the client. A panic ends the answer to one request, or this
// session, and not the process: there may be others.
func Serve(ctx context.Context, in io.Reader, out io.Writer, c Config) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &adapter{wire: newWire(in, out), config: c, life: ctx, pending: map[int]*request{}}
	defer func() { err = errors.Join(err, a.debuggee.close()) }()
	requests := make(chan *request, maxQueued)
	var broken error
	go func() {
		defer close(requests)
		broken = c.noted(contain.Run(func() error { return a.listen(ctx, requests) }))
	}()
	err = contain.Run(func() error { return a.handle(ctx, requests, &broken) })
	return c.noted(err)
}

// handle answers requests until there are no more; then broken says why.
func (a *adapter) handle(ctx context.Context, requests <-chan *request, broken *error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-a.events():
			if !a.attempt(func() { a.became(e) }) && a.dying != nil {
				a.proceed()
			}
		case r, more := <-requests:
			switch {
			case !more && errors.Is(*broken, io.EOF):
				return nil
			case !more:
				a.say(important, (*broken).Error())
				a.tell("terminated", nil)
				return *broken
			}
			a.serve(r)
			if err := a.failed(); err != nil || a.ended {
				return err
			}
		}
	}
}

// listen reads requests until the client closes its end, or sends what cannot be read.
func (a *adapter) listen(ctx context.Context, to chan<- *request) error {
	for {
		content, err := a.wire.read()
		if err != nil {
			return err
		}
		r := &request{}
		if err := json.Unmarshal(content, r); err != nil || r.Type != "request" {
			if r.Type != "response" { // which nobody waits for
				a.say("stderr", fmt.Sprintf("a message that is no request was left out: %.80q", content))
			}
			continue
		}
		r.ctx, r.cancel = context.WithCancel(ctx)
		a.wait(r)
		select {
		case to <- r:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait notes a request that is to be answered. What ends others, or the looks that they
// make, does so at once.
func (a *adapter) wait(r *request) {
	a.waiting.Lock()
	defer a.waiting.Unlock()
	a.pending[r.Seq] = r
	switch r.Command {
	case "cancel":
		var args godap.CancelArguments
		if json.Unmarshal(r.Arguments, &args) == nil && a.pending[args.RequestId] != nil {
			a.pending[args.RequestId].dropped.Store(true)
			a.pending[args.RequestId].cancel()
		}
	case "disconnect", "terminate":
		for _, other := range a.pending {
			if other != r {
				other.cancel()
			}
		}
	}
}

// errCancelled is the answer to a request that was cancelled, in the protocol's word.
var errCancelled = errors.New("cancelled")

// serve answers one request.
func (a *adapter) serve(r *request) {
	var body any
	err := a.contained(func() (err error) {
		body, err = a.answer(r)
		return err
	})
	if errors.Is(err, context.Canceled) {
		err = errCancelled
	}
	a.waiting.Lock()
	if a.pending[r.Seq] == r {
		delete(a.pending, r.Seq)
	}
	a.waiting.Unlock()
	r.cancel()
	a.respond(r, body, err)
	todo := a.after
	a.after = nil
	for _, f := range todo {
		a.attempt(f)
	}
}

// contained does what a client has asked for. A panic is an error, and has been noted.
func (a *adapter) contained(f func() error) error { return a.config.noted(contain.Run(f)) }

// attempt does what no request waits for; the client is told of a panic.
func (a *adapter) attempt(f func()) (ok bool) {
	err := a.contained(func() error { f(); return nil })
	if err != nil {
		a.say(important, err.Error())
	}
	return err == nil
}

// later has f done after the answer to the present request.
func (a *adapter) later(f func()) { a.after = append(a.after, f) }

// answer is the body of the answer to a request.
func (a *adapter) answer(r *request) (any, error) {
	h, ok := handlers()[r.Command]
	switch {
	case !ok:
		return nil, fmt.Errorf("%q: this adapter does not know this request", r.Command)
	case r.dropped.Load():
		return nil, errCancelled
	case a.phase < h.needs && a.phase == fresh:
		return nil, fmt.Errorf("%s: initialize comes first", r.Command)
	case a.phase < h.needs:
		return nil, fmt.Errorf("%s: nothing is attached: attach or launch comes first", r.Command)
	}
	return h.answer(a, r)
}

// handler answers the requests of one command.
type handler struct {
	needs  phase // that the client must have come to
	answer func(a *adapter, r *request) (any, error)
}

// emptyList is how some clients write arguments that have nothing in them.
const emptyList = "[]"

// on makes a handler of a method with the types of the protocol.
func on[A, B any](needs phase, f func(*adapter, context.Context, A) (B, error)) handler {
	return handler{needs, func(a *adapter, r *request) (any, error) {
		var args A
		if len(r.Arguments) > 0 && string(r.Arguments) != emptyList {
			if err := json.Unmarshal(r.Arguments, &args); err != nil {
				return nil, fmt.Errorf("%s: its arguments: %w", r.Command, err)
			}
		}
		body, err := f(a, r.ctx, args)
		if _, none := any(body).(*nothing); none {
			return nil, err
		}
		return body, err
	}}
}

// shown makes a handler of a method that needs only what the last look showed.
func shown[A, B any](f func(*view, context.Context, A) (B, error)) handler {
	return on(attached, func(a *adapter, ctx context.Context, args A) (B, error) { return f(a.view, ctx, args) })
}

// nothing stands for arguments that are not looked at; nil of it is an answer without a body.
type nothing struct{}

// UnmarshalJSON takes whatever arguments there are.
func (*nothing) UnmarshalJSON([]byte) error { return nil }

// Categories of output events.
const (
	important = "important"
	console   = "console"
)

// say shows a text to the user.
func (a *adapter) say(category, text string) {
	a.tell("output", godap.OutputEventBody{Category: category, Output: text + "\n"})
}
