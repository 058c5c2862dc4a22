package server

import (
	"context"
	"errors"
	"iter"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/history"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// recorded is a target's recorder during one call. The call reads in turns, so that others can use the target
// while it sends or waits.
type recorded struct {
	ctx    context.Context
	target *target
	*history.History
	stops []func() // called in the target's turn when the call ends
}

// historyOf finds the recorder of the target in a request. The caller must close it.
func historyOf(ctx context.Context, req named) (*recorded, error) {
	t, err := connectionOf(ctx).target(req.GetTarget())
	if err != nil {
		return nil, err
	}
	h := &recorded{ctx: ctx, target: t}
	if err := h.do(ctx, h.open); err != nil {
		h.Close() // the call may still open it if it ended before its turn
		return nil, err
	}
	return h, nil
}

// open finds the recorder, in the target's turn.
func (h *recorded) open() error {
	var source history.Source
	switch opened := h.target.opened.(type) {
	case *session.Target:
		source = (*engine.Target)(opened)
	case history.Source:
		source = opened
	default:
		return errNotRecorded(trace.ErrNone)
	}
	found, err := history.Open(source)
	if err != nil {
		return errNotRecorded(err)
	}
	h.History = found
	h.target.histories[h] = true
	return nil
}

// errNotRecorded returns the error for a target without a recorder.
func errNotRecorded(err error) error {
	if errors.Is(err, trace.ErrNone) || errors.Is(err, engine.ErrNoMemory) {
		return failure(codes.FailedPrecondition, "NOT_RECORDED", "%v", err)
	}
	return err
}

// do calls f in the call's turn. If f is not called, the history may be closed.
func (h *recorded) do(ctx context.Context, f func() error) error { return h.target.do(ctx, f) }

// Close ends the use of the recorder, after the call's pending work. Closing the target closes the rest.
func (h *recorded) Close() {
	h.target.owner.server.closing.Go(func() {
		select {
		case h.target.turn <- struct{}{}:
			h.end()
			<-h.target.turn
		case <-h.target.gone:
		}
	})
}

// end closes the history in the target's turn.
func (h *recorded) end() {
	for _, stop := range h.stops {
		stop()
	}
	h.stops = nil
	if h.History != nil {
		_ = h.History.Close() // only read
	}
	h.History = nil
	delete(h.target.histories, h)
}

// recording returns the description of a copy as a message.
func (h *recorded) recording(rec *trace.Recording) (*ompdv1.Recording, error) {
	m := new(ompdv1.Recording)
	return m, wire.Pack(h.About(rec), m)
}

// sender is a stream of answers.
type sender[R any] interface{ Send(*R) error }

// deliver sends the values of pieces. Each piece is made in the target's turn and sent outside it, so that a
// client that does not read blocks no other.
func deliver[R any](h *recorded, stream sender[R], pieces iter.Seq2[*R, error]) error {
	next, stop := iter.Pull2(pieces)
	err := h.do(h.ctx, func() error { h.stops = append(h.stops, stop); return nil })
	for err == nil {
		var piece *R
		var more bool
		err = h.do(h.ctx, func() (err error) {
			piece, err, more = next()
			return err
		})
		switch {
		case err != nil:
			return err
		case !more:
			return nil
		}
		err = stream.Send(piece)
	}
	return err
}

// messageConverter converts events to messages.
type messageConverter struct {
	*history.EventConverter
	frames map[*picture.Frame]*ompdv1.Frame // for the places cached by the converter
}

func (h *recorded) newMessageConverter(rec *trace.Recording) *messageConverter {
	return &messageConverter{h.NewEventConverter(rec, history.EventName), map[*picture.Frame]*ompdv1.Frame{}}
}

// message converts an event. There may be millions, so each field is set individually.
func (t *messageConverter) message(th *trace.Thread, e *trace.Event) (*ompdv1.Event, error) {
	event := t.Event(th, e)
	m := &ompdv1.Event{
		Time: event.Time, Ago: event.Ago, Lwp: int64(event.LWP), Code: int64(event.Code), Event: event.Name,
		Text: strings.ToValidUTF8(event.Text, "\uFFFD"), Kind: int64(event.Kind), Endpoint: int64(event.Endpoint),
		Value: int64(event.Value), Pc: (*uint64)(event.PC), Region: event.Region, Task: event.Task,
		Lock: (*uint64)(event.Lock), TeamSize: int64(event.TeamSize),
	}
	if event.ThreadNum != nil {
		num := int64(*event.ThreadNum)
		m.ThreadNum = &num
	}
	if event.Frame == nil {
		return m, nil
	}
	m.Frame = t.frames[event.Frame]
	if m.Frame != nil {
		return m, nil
	}
	m.Frame = new(ompdv1.Frame)
	if len(t.frames) < history.PlacesMax {
		t.frames[event.Frame] = m.Frame
	}
	return m, wire.Pack(event.Frame, m.Frame)
}
