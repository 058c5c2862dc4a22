package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

const (
	// followInterval is the time between two copies of the rings. A ring of 32,768 records is full after 33 ms
	// if its thread writes a million records a second.
	followInterval = 20 * time.Millisecond
	// followRate is the default number of events sent per second, followMost the maximum: more cannot be read
	// or drawn.
	followRate, followMost = 2000, 20_000
)

// following is one call of FollowEvents.
type following struct {
	*recorded
	server *Server
	req    *ompdv1.FollowEventsRequest
	most   int // sent events per copy
	filter *trace.Filter
}

// FollowEvents sends new events as they are recorded.
func (s *tracing) FollowEvents(req *ompdv1.FollowEventsRequest, stream ompdv1.TraceService_FollowEventsServer) error {
	if req.GetRate() < 0 {
		return errNegative()
	}
	h, err := historyOf(stream.Context(), req)
	if err != nil {
		return err
	}
	defer h.Close()
	rate := followRate
	if req.GetRate() > 0 {
		rate = int(min(req.GetRate(), followMost))
	}
	most := max(1, rate*int(followInterval/time.Millisecond)/1000)
	f := &following{recorded: h, server: s.server, req: req, most: most}
	resp := new(ompdv1.FollowEventsResponse)
	err = f.turn(func() error {
		if !h.target.opened.Living() {
			const says = "%s is not a process that can be followed"
			return failure(codes.FailedPrecondition, "NO_PROCESS", says, h.target.name)
		}
		rec, err := h.Latest(0) // skip the existing events
		if err != nil {
			return err
		}
		f.filter = filterOf(rec, req.GetFilter())
		resp.Recording, err = h.recording(rec)
		return err
	})
	for err == nil {
		if err = f.send(resp, stream); err == nil {
			resp, err = f.next()
		}
	}
	if errors.Is(err, trace.ErrDamaged) {
		return nil // the process has ended
	}
	return err
}

// send sends an answer, in pieces if it is large.
func (f *following) send(resp *ompdv1.FollowEventsResponse, stream sender[ompdv1.FollowEventsResponse]) error {
	events := resp.GetEvents()
	for {
		n, room := 0, f.server.cfg.Limits.piece()
		for ; n < len(events); n++ {
			if room -= proto.Size(events[n]); room < 0 && n > 0 {
				break
			}
		}
		resp.Events, events = events[:n], events[n:]
		if err := stream.Send(resp); err != nil || len(events) == 0 {
			return err
		}
		resp = new(ompdv1.FollowEventsResponse)
	}
}

// turn calls f in the target's turn, within the time limit of one call.
func (f *following) turn(work func() error) error {
	ctx, cancel := context.WithTimeout(f.ctx, f.server.cfg.Limits.Call)
	defer cancel()
	return f.do(ctx, work)
}

// next waits until events arrive or are lost.
func (f *following) next() (*ompdv1.FollowEventsResponse, error) {
	for {
		if err := pause(f.ctx, followInterval); err != nil {
			return nil, err
		}
		var resp *ompdv1.FollowEventsResponse
		if err := f.turn(func() (err error) {
			resp, err = f.copied()
			return err
		}); err != nil {
			return nil, err
		}
		if len(resp.GetEvents()) > 0 || resp.GetLost() > 0 || resp.GetSkipped() > 0 {
			return resp, nil
		}
	}
}

// copied returns the events since the last copy.
func (f *following) copied() (*ompdv1.FollowEventsResponse, error) {
	rec, err := f.copy()
	if err != nil {
		return nil, err
	}
	resp := new(ompdv1.FollowEventsResponse)
	resp.Lost, _ = rec.Lost()
	for _, t := range rec.Threads {
		resp.Skipped += t.Main.Passed + t.Rare.Passed
	}
	kept := make([]keptEvent, 0, f.most) // the newest, a ring buffer from at
	at := 0
	for t, e := range rec.Events(0) {
		switch {
		case !f.filter.Matches(t, e):
		case len(kept) < f.most:
			kept = append(kept, keptEvent{t, *e})
		default:
			kept[at] = keptEvent{t, *e}
			at = (at + 1) % f.most
			resp.Skipped++
		}
	}
	converter := f.newMessageConverter(rec)
	for _, k := range slices.Concat(kept[at:], kept[:at]) {
		m, err := converter.message(k.thread, &k.event)
		if err != nil {
			return nil, err
		}
		resp.Events = append(resp.Events, m)
	}
	return resp, nil
}

// keptEvent is an event to send.
type keptEvent struct {
	thread *trace.Thread
	event  trace.Event
}

// copy copies the events to send; without a filter the others are only counted.
func (f *following) copy() (*trace.Recording, error) {
	if want := f.req.GetFilter(); len(want.GetLwps()) > 0 || want.GetRegion() != "" {
		return f.New()
	}
	return f.Latest(uint64(f.most))
}
