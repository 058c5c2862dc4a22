package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// Lent is a target that a debugger lends.
type Lent interface {
	Opened
	// Stopped reports a new stop of the program; about may be nil.
	Stopped(about *ompdv1.Target) error
	// RoundTrips returns the number of requests to the debugger.
	RoundTrips() uint64
}

// Asker sends questions to a debugger that lends a target. It is safe for concurrent use.
type Asker interface {
	// Ask sends questions together, in one round trip, and returns their answers in order. The error is that of
	// the connection, or of ctx.
	Ask(ctx context.Context, questions []*ompdv1.Question) ([]*ompdv1.Answer, error)
}

// debuggers implements DebuggerService.
type debuggers struct {
	ompdv1.UnimplementedDebuggerServiceServer
	server *Server
}

// Attach lends a program until the stream ends.
func (d *debuggers) Attach(stream ompdv1.DebuggerService_AttachServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	hello := first.GetHello()
	switch {
	case hello == nil:
		return failure(codes.InvalidArgument, "NO_HELLO", "the first message must be hello")
	case d.server.cfg.Lend == nil:
		return failure(codes.Unimplemented, "NO_DEBUGGERS", "this server accepts no debuggers")
	}
	spec := hello.GetSpec()
	if spec == nil {
		spec = &ompdv1.TargetSpec{}
	}
	beside := proto.CloneOf(spec)
	if err := d.server.cfg.Policy.checkFiles(spec, beside); err != nil {
		return err
	}
	hello.Spec = beside
	if err := d.server.full(); err != nil {
		return err
	}
	owner := connectionOf(stream.Context())
	means, memory := d.server.means(owner.userName())
	w := &link{stream: stream, waiting: map[uint64]chan []*ompdv1.Answer{}, ended: make(chan struct{}),
		stops: make(chan *ompdv1.Stopped, 1)}
	lent, err := d.server.cfg.Lend(hello, w, means)
	if err != nil {
		memory.Close()
		return failure(codes.InvalidArgument, "BAD_HELLO", "%v", err)
	}
	t := newTarget(owner, lent, beside, 0)
	t.shared, t.trips, t.memory = true, lent.RoundTrips, memory
	if err := t.owner.add(t); err != nil {
		t.leave()
		return errors.Join(err, t.free())
	}
	defer d.server.release(t)
	defer w.end()
	go w.follow(t, lent)
	if err := w.tell(t.info()); err != nil {
		return err
	}
	return w.listen(t, lent)
}

// link carries questions and answers over the stream of a debugger.
type link struct {
	stream ompdv1.DebuggerService_AttachServer
	send   sync.Mutex // for one message at a time

	mu      sync.Mutex
	id      uint64
	waiting map[uint64]chan []*ompdv1.Answer
	ended   chan struct{}
	stops   chan *ompdv1.Stopped // the newest stop that follow has not taken yet
}

// listen receives the debugger's messages until it leaves.
func (w *link) listen(t *target, lent Lent) error {
	for {
		req, err := w.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch m := req.GetMessage().(type) {
		case *ompdv1.AttachRequest_Answers:
			w.deliver(m.Answers)
		case *ompdv1.AttachRequest_Stopped:
			t.interrupt() // calls in progress concern an older stop
			w.newest(m.Stopped)
		default:
			return failure(codes.InvalidArgument, "BAD_MESSAGE", "%T after hello", m)
		}
	}
}

// newest hands a stop to follow, in place of an older one that was not taken.
func (w *link) newest(s *ompdv1.Stopped) {
	for {
		select {
		case w.stops <- s:
			return
		default:
		}
		select {
		case <-w.stops:
		default:
		}
	}
}

// follow processes each new stop until the debugger leaves.
func (w *link) follow(t *target, lent Lent) {
	for {
		select {
		case <-w.ended:
			return
		case s := <-w.stops:
			w.moved(t, lent, s)
		}
	}
}

// moved switches to a new stop, in the target's turn, and notifies the debugger.
func (w *link) moved(t *target, lent Lent, s *ompdv1.Stopped) {
	_ = t.do(w.stream.Context(), func() error { // the only possible error is the end of the stream
		t.refresh()
		if err := lent.Stopped(s.GetAbout()); err != nil {
			return err
		}
		return w.tell(t.info())
	})
}

// tell sends the target and its stop.
func (w *link) tell(info *ompdv1.OpenTargetInfo) error {
	return w.write(&ompdv1.AttachResponse{Message: &ompdv1.AttachResponse_Target{Target: info}})
}

// Ask sends questions to the debugger and waits for the answers.
func (w *link) Ask(ctx context.Context, questions []*ompdv1.Question) ([]*ompdv1.Answer, error) {
	answers := make(chan []*ompdv1.Answer, 1)
	w.mu.Lock()
	w.id++
	id := w.id
	w.waiting[id] = answers
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.waiting, id)
		w.mu.Unlock()
	}()
	if err := w.ask(&ompdv1.Questions{Id: id, Questions: questions}); err != nil {
		return nil, errLeft
	}
	select {
	case a := <-answers:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.ended:
		return nil, errLeft
	}
}

var errLeft = fmt.Errorf("the debugger has left: %w", callbacks.CallbackError)

func (w *link) ask(q *ompdv1.Questions) error {
	return w.write(&ompdv1.AttachResponse{Message: &ompdv1.AttachResponse_Questions{Questions: q}})
}

// write sends one message.
func (w *link) write(m *ompdv1.AttachResponse) error {
	w.send.Lock()
	defer w.send.Unlock()
	return w.stream.Send(m)
}

// deliver passes answers to the waiting call, if it was not cancelled.
func (w *link) deliver(a *ompdv1.Answers) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.waiting[a.GetId()]; c != nil {
		delete(w.waiting, a.GetId())
		c <- a.GetAnswers()
	}
}

// end marks that no more answers will arrive.
func (w *link) end() { close(w.ended) }
