package server

import (
	"iter"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// tracing implements TraceService.
type tracing struct {
	ompdv1.UnimplementedTraceServiceServer
	server *Server
}

// windowOf returns the window of the given length before now.
func windowOf(h *recorded, rec *trace.Recording, last time.Duration) analyze.Window {
	w := analyze.Window{Until: h.Now(rec)}
	if last > 0 {
		w.Since = rec.Clock.TicksBefore(w.Until, last)
	}
	return w
}

// filterOf converts a client's filter.
func filterOf(rec *trace.Recording, f *ompdv1.EventFilter) *trace.Filter {
	out := &trace.Filter{Region: f.GetRegion(), Words: rec.Words(nil)}
	for _, lwp := range f.GetLwps() {
		out.LWPs = append(out.LWPs, uint32(lwp))
	}
	return out
}

// GetEvents sends the last events.
func (s *tracing) GetEvents(req *ompdv1.GetEventsRequest, stream ompdv1.TraceService_GetEventsServer) error {
	if req.GetPerThread() < 0 || req.GetLimit() < 0 || req.GetLast().AsDuration() < 0 {
		return errNegative()
	}
	h, err := historyOf(stream.Context(), req)
	if err != nil {
		return err
	}
	defer h.Close()
	return deliver(h, stream, func(yield func(*ompdv1.GetEventsResponse, error) bool) {
		rec, err := h.Read()
		if err != nil {
			yield(nil, err)
			return
		}
		if err := filterOf(rec, req.GetFilter()).Check(rec); err != nil {
			yield(nil, failure(codes.NotFound, "NO_EVENT", "%v", err))
			return
		}
		about, err := h.recording(rec)
		if !yield(&ompdv1.GetEventsResponse{Recording: about}, err) || err != nil {
			return
		}
		events := messagesOf(h.newMessageConverter(rec), h.newest(rec, req))
		for list, err := range inPieces(events, s.server.cfg.Limits.piece()) {
			if !yield(&ompdv1.GetEventsResponse{Events: list}, err) || err != nil {
				return
			}
		}
	})
}

// errNegative returns the error for numbers below 0.
func errNegative() error {
	return failure(codes.InvalidArgument, "NEGATIVE", "numbers and times of a request are not negative")
}

// inPieces groups messages into lists of at most room bytes, or a single larger message. An error is yielded
// last.
func inPieces[M any, P message[M]](messages iter.Seq2[P, error], room int) iter.Seq2[[]P, error] {
	return func(yield func([]P, error) bool) {
		var list []P
		used := 0
		for m, err := range messages {
			if err != nil {
				yield(nil, err)
				return
			}
			n := proto.Size(m)
			if used > 0 && used+n > room {
				if !yield(list, nil) {
					return
				}
				list, used = nil, 0
			}
			list, used = append(list, m), used+n
		}
		if len(list) > 0 {
			yield(list, nil)
		}
	}
}

// messagesOf converts events to messages.
func messagesOf(t *messageConverter, events iter.Seq2[*trace.Thread, *trace.Event]) iter.Seq2[*ompdv1.Event, error] {
	return func(yield func(*ompdv1.Event, error) bool) {
		for th, e := range events {
			if m, err := t.message(th, e); !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// newest returns the requested events: the newest of each thread, and of these the newest overall.
func (h *recorded) newest(rec *trace.Recording, req *ompdv1.GetEventsRequest) iter.Seq2[*trace.Thread, *trace.Event] {
	since := windowOf(h, rec, req.GetLast().AsDuration()).Since
	filter := filterOf(rec, req.GetFilter())
	skip, all := map[uint32]int64{}, int64(0) // per ring
	for _, t := range rec.Threads {
		n := int64(0)
		for e := range t.Events(since) {
			if filter.Matches(t, e) {
				n++
			}
		}
		if each := req.GetPerThread(); each > 0 && n > each {
			skip[t.Index], n = n-each, each
		}
		all += n
	}
	older := int64(0)
	if limit := req.GetLimit(); limit > 0 {
		older = max(all-limit, 0)
	}
	filter.Reset()
	return func(yield func(*trace.Thread, *trace.Event) bool) {
		for t, e := range rec.Events(since) {
			switch {
			case !filter.Matches(t, e):
			case skip[t.Index] > 0:
				skip[t.Index]--
			case older > 0:
				older--
			case !yield(t, e):
				return
			}
		}
	}
}
