package server

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/watch"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// Counting is an Opened that counts the use of CPU time by its threads.
type Counting interface {
	// Usage returns the use of each thread since its start.
	Usage() ([]picture.Use, error)
}

// watching is one call of WatchTarget.
type watching struct {
	*inspection
	req    *ompdv1.WatchTargetRequest
	stream ompdv1.InspectionService_WatchTargetServer
	looks  watch.Series
}

// WatchTarget sends a picture of each new stop.
func (s *inspection) WatchTarget(req *ompdv1.WatchTargetRequest,
	stream ompdv1.InspectionService_WatchTargetServer) error {
	w := &watching{inspection: s, req: req, stream: stream}
	interval := max(req.GetInterval().AsDuration(), watch.Interval)
	for n := int64(1); ; n++ {
		if err := w.once(n > 1); err != nil || n == req.GetCount() {
			return err
		}
		if err := w.rest(time.Now().Add(interval)); err != nil {
			return err
		}
	}
}

// rest waits for the time of the next look.
func (w *watching) rest(until time.Time) error {
	ctx := w.stream.Context()
	if w.req.GetCompare() {
		if err := pause(ctx, watch.Settle); err != nil {
			return err
		}
		err := withTarget(ctx, w.req, func(t *target) error {
			total, _ := used(t) // the next look reports the end of a process
			w.looks.Rest(total)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return pause(ctx, time.Until(until))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func used(t *target) ([]picture.Use, error) {
	c, ok := t.opened.(Counting)
	if !ok || !t.opened.Living() {
		return nil, failure(codes.FailedPrecondition, "NO_PROCESS", "%s is not a process that can be watched", t.name)
	}
	return c.Usage()
}

// once sends one picture; of a new stop if refresh is set.
func (w *watching) once(refresh bool) error {
	ctx, cancel := context.WithTimeout(w.stream.Context(), w.server.cfg.Limits.Call)
	defer cancel()
	pic, look := new(ompdv1.Picture), (*ompdv1.Look)(nil)
	var stop uint32
	err := withTarget(ctx, w.req, func(t *target) (err error) {
		if refresh || w.req.GetCompare() {
			t.refresh()
		}
		if stop = t.stop; w.req.GetCompare() {
			look, err = w.compared(t, pic)
		} else {
			pic, err = t.picture(w.req.GetParts())
		}
		return err
	})
	if err != nil {
		return err
	}
	return pieces(pic, w.server.cfg.Limits.piece(), func(p *ompdv1.Picture, last bool) error {
		resp := &ompdv1.WatchTargetResponse{Stop: stop, Picture: p, Last: last}
		if last {
			resp.Look = look
		}
		return w.stream.Send(resp)
	})
}

// compared turns pic into a report's picture and returns the changes.
func (w *watching) compared(t *target, pic *ompdv1.Picture) (*ompdv1.Look, error) {
	total, err := used(t)
	if err != nil {
		return nil, err
	}
	v, err := t.look()
	if err != nil {
		return nil, err
	}
	a := v.snapshot.Ask(engine.Query{Parts: picture.ReportParts(), Trace: true})
	l := *w.looks.Look(a.Picture, a.Trace, time.Now(), total)
	if w.looks.Conclude() {
		l.Result = w.looks.Last().Result
	}
	l.Picture = nil
	m := new(ompdv1.Look)
	return m, errors.Join(wire.Pack(a.Picture, pic), wire.Pack(&l, m))
}
