package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
)

// Config contains the functions that the adapter needs from its caller.
type Config struct {
	// Open opens a target.
	Open func(ctx context.Context, a Attach) (*engine.Target, error)
	// Verb runs a verb of the command line on an open target, and returns its output. The error is that of a verb
	// without output, such as a wrong flag. Several goroutines call it. Verbs lists the names of the verbs; one may
	// be profile.
	Verb  func(ctx context.Context, t *engine.Target, args []string) (string, error)
	Verbs []string
	// Launch starts a program. It passes the program's output to stdout and stderr, which other goroutines
	// call. It is nil if the adapter starts no programs.
	Launch func(l Launch, stdout, stderr func(text string)) (Program, error)
	// Admit returns an error for the secret of a client that may not open a target or start a program. It is nil
	// if all clients may. A refused client's session ends.
	Admit func(secret string) error
	// Log receives reports for the developers of this program: the place of a panic. It may be nil, and several
	// goroutines call it.
	Log func(text string)
}

// logPanic logs the place of a panic, and returns an error for the client that is not a contain.Panic. It
// returns any other error unchanged.
func (c Config) logPanic(err error) error {
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

// request is a request of a client.
type request struct {
	Seq       int             `json:"seq"`
	Type      string          `json:"type"`
	Command   string          `json:"command"`
	Arguments json.RawMessage `json:"arguments"`

	ctx     context.Context
	cancel  context.CancelFunc
	dropped atomic.Bool // the client has cancelled it
}

// adapter serves one client. One goroutine reads the requests; another one does everything else.
type adapter struct {
	*wire
	config  Config
	client  greeting
	phase   phase
	quiet   <-chan time.Time // ends the wait for a request after initialize; nil before and after
	ready   bool             // the client has sent configurationDone
	begun   bool             // the client got the event of the stop
	current *request         // that is being answered
	after   []func()         // functions to call after the answer to the current request
	ended   bool             // the client has disconnected
	over    bool             // the client got the event of the session's end

	debuggee
	view *view
	ids  ids

	exited  bool            // the attached process has ended
	gone    <-chan struct{} // closed when the attached process has ended; nil for other targets
	life    context.Context // of the session
	samples sync.WaitGroup  // the profile in progress
	profile *request        // the last one that started a profile; nil before
	waiting sync.Mutex
	pending map[int]*request // requests without an answer
}

// phase is the progress of a client through the start of a session.
type phase int

const (
	fresh       phase = iota // before initialize
	initialized              // initialize was answered, nothing is attached
	attach
)

// maxQueued is the number of a client's requests that may wait for an answer; after that, no more are read.
// Editors request the stacks of all threads at once.
const maxQueued = 256

// Serve serves one client until it disconnects, closes its end, or ctx is canceled. It returns an error if the
// client's input is invalid. A panic ends only the answer to one request, or this session: other sessions in
// the process continue.
func Serve(ctx context.Context, in io.Reader, out io.Writer, c Config) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	a := &adapter{wire: newWire(in, out), config: c, life: ctx, pending: map[int]*request{}}
	defer func() {
		cancel()
		a.samples.Wait()
		err = errors.Join(err, a.debuggee.close())
	}()
	requests := make(chan *request, maxQueued)
	var broken error
	go func() {
		defer close(requests)
		broken = c.logPanic(contain.Run(func() error { return a.listen(ctx, requests) }))
	}()
	err = contain.Run(func() error { return a.handle(ctx, requests, &broken) })
	return c.logPanic(err)
}

// handle answers requests until there are no more; then broken is the reason.
func (a *adapter) handle(ctx context.Context, requests <-chan *request, broken *error) error {
	for {
		select {
		case <-ctx.Done():
			if a.over { // an editor may end the adapter then
				return nil
			}
			return ctx.Err()
		case <-a.quiet:
			a.attempt(a.announce)
		case <-a.gone:
			a.attempt(a.processEnded)
		case e := <-a.programEvents():
			if !a.attempt(func() { a.handleEvent(e) }) && a.dying != nil {
				a.proceed()
			}
		case r, more := <-requests:
			switch {
			case !more && errors.Is(*broken, io.EOF):
				return nil
			case !more:
				a.print(important, (*broken).Error())
				a.endSession()
				return *broken
			}
			a.attempt(a.announce)
			a.serve(r)
			if err := a.writeError(); err != nil || a.ended {
				return err
			}
		}
	}
}

// listen reads requests until the client closes its end or sends invalid input.
func (a *adapter) listen(ctx context.Context, to chan<- *request) error {
	for {
		content, err := a.wire.read()
		if err != nil {
			return err
		}
		r := &request{}
		if err := json.Unmarshal(content, r); err != nil || r.Type != "request" {
			if r.Type != "response" { // no request of the adapter waits for a response
				a.print("stderr", fmt.Sprintf("ignored a message that is not a request: %.80q", content))
			}
			continue
		}
		r.ctx, r.cancel = context.WithCancel(ctx)
		a.enqueue(r)
		select {
		case to <- r:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// enqueue records a request before it is answered. A cancel request takes effect immediately, also for a
// snapshot in progress.
func (a *adapter) enqueue(r *request) {
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

// errCancelled is the answer to a cancelled request, in the protocol's word.
var errCancelled = errors.New("cancelled")

// errLater is the error of a handler whose request is answered later, by finish.
var errLater = errors.New("the request is answered later")

// serve answers one request.
func (a *adapter) serve(r *request) {
	var body any
	a.current = r
	err := a.contain(func() (err error) {
		body, err = a.answer(r)
		return err
	})
	if !errors.Is(err, errLater) {
		a.finish(r, body, err)
	}
	todo := a.after
	a.after = nil
	for _, f := range todo {
		a.attempt(f)
	}
}

// finish sends the answer to a request. Any goroutine may call it.
func (a *adapter) finish(r *request, body any, err error) {
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
}

// contain calls f for a client's request. It turns a panic into an error and logs it.
func (a *adapter) contain(f func() error) error { return a.config.logPanic(contain.Run(f)) }

// attempt calls f for an event without a request. The client gets a message about a panic.
func (a *adapter) attempt(f func()) (ok bool) {
	err := a.contain(func() error { f(); return nil })
	if err != nil {
		a.print(important, err.Error())
	}
	return err == nil
}

// admit returns an error for a client with a wrong secret, and ends its session after the answer. Before attach
// and launch, which call it, no request reads a target or starts a program.
func (a *adapter) admit(secret string) error {
	if a.config.Admit == nil {
		return nil
	}
	err := a.config.Admit(secret)
	a.ended = err != nil
	return err
}

// addDeferred defers f until the current request is answered.
func (a *adapter) addDeferred(f func()) { a.after = append(a.after, f) }

// answer returns the body of the answer to a request.
func (a *adapter) answer(r *request) (any, error) {
	h, ok := handlers()[r.Command]
	switch {
	case !ok:
		return nil, fmt.Errorf("%q: this adapter does not know this request", r.Command)
	case r.dropped.Load():
		return nil, errCancelled
	case a.phase < h.needs && a.phase == fresh:
		return nil, fmt.Errorf("%s: initialize must come first", r.Command)
	case a.phase < h.needs:
		return nil, fmt.Errorf("%s: nothing is attached: attach or launch must come first", r.Command)
	}
	return h.answer(a, r)
}

// Categories of output events.
const (
	important = "important"
	console   = "console"
)

// print sends a text to the user.
func (a *adapter) print(category, text string) {
	a.sendEvent("output", godap.OutputEventBody{Category: category, Output: text + "\n"})
}
