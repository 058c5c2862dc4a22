package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

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
	w := &link{stream: stream, waiting: map[uint64]*asked{}, unheard: map[uint64]bool{}, ended: make(chan struct{}),
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
	waiting map[uint64]*asked
	unheard map[uint64]bool // ids of questions whose call ended before the answer
	ended   chan struct{}
	wrong   error                // the reason if the server ended the stream, set before ended is closed
	stops   chan *ompdv1.Stopped // the newest stop that follow has not taken yet
}

// asked are questions that wait for their answers.
type asked struct {
	questions []*ompdv1.Question
	answers   chan []*ompdv1.Answer
}

// maxUnheard bounds the number of cancelled questions that a debugger has not answered: one that answers in order
// has a few.
const maxUnheard = 1 << 16

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
			if err := w.deliver(m.Answers); err != nil {
				w.wrong = err
				return err
			}
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
	select {
	case <-w.ended:
		return nil, w.left()
	default:
	}
	call := &asked{questions, make(chan []*ompdv1.Answer, 1)}
	w.mu.Lock()
	w.id++
	id := w.id
	w.waiting[id] = call
	w.mu.Unlock()
	defer w.forget(id)
	if err := w.ask(&ompdv1.Questions{Id: id, Questions: questions}); err != nil {
		return nil, errLeft
	}
	select {
	case a := <-call.answers:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.ended:
		return nil, w.left()
	}
}

// left returns the error of calls after the end of the stream.
func (w *link) left() error {
	if w.wrong != nil {
		return fmt.Errorf("%w: %w", callbacks.CallbackError, w.wrong)
	}
	return errLeft
}

// forget records that no call waits for the answers any more.
func (w *link) forget(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[id] != nil {
		delete(w.waiting, id)
		w.unheard[id] = true
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

// deliver passes answers to the waiting call, if it was not cancelled. Answers to other questions are an error, because
// the call would wait for its deadline, or ask again.
func (w *link) deliver(a *ompdv1.Answers) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := a.GetId()
	call := w.waiting[id]
	switch {
	case call != nil:
		if err := checkAnswers(call.questions, a.GetAnswers()); err != nil {
			return failure(codes.InvalidArgument, "WRONG_ANSWER", "the answers to questions %d: %v", id, err)
		}
		delete(w.waiting, id)
		call.answers <- a.GetAnswers()
	case !w.unheard[id]:
		return failure(codes.InvalidArgument, "UNKNOWN_ID", "no questions %d wait for answers: the id must be that "+
			"of the questions, which are answered once", id)
	default:
		delete(w.unheard, id)
	}
	if len(w.unheard) > maxUnheard {
		return failure(codes.ResourceExhausted, "UNANSWERED", "more than %d cancelled questions were never answered",
			maxUnheard)
	}
	return nil
}

// checkAnswers returns an error for answers whose number or kind is not that of the questions.
func checkAnswers(questions []*ompdv1.Question, answers []*ompdv1.Answer) error {
	if len(answers) != len(questions) {
		return fmt.Errorf("%d answers to %d questions", len(answers), len(questions))
	}
	for i, q := range questions {
		want, got := choice(q, "question"), choice(answers[i], "answer")
		if got != want && got != "error" {
			return fmt.Errorf("answer %d is of the kind %q, its question of the kind %q", i, got, want)
		}
	}
	return nil
}

// choice returns the name of the set member of a oneof.
func choice(m proto.Message, oneof protoreflect.Name) protoreflect.Name {
	r := m.ProtoReflect()
	f := r.WhichOneof(r.Descriptor().Oneofs().ByName(oneof))
	if f == nil {
		return ""
	}
	return f.Name()
}

// end marks that no more answers will arrive.
func (w *link) end() { close(w.ended) }
