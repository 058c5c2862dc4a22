package server

import (
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/export"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/history"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// GetStatistics sums up the recorded events.
func (s *tracing) GetStatistics(
	req *ompdv1.GetStatisticsRequest, stream ompdv1.TraceService_GetStatisticsServer,
) error {
	last := req.GetLast().AsDuration()
	if last < 0 {
		return errNegative()
	}
	h, err := historyOf(stream.Context(), req)
	if err != nil {
		return err
	}
	defer h.Close()
	return deliver(h, stream, func(yield func(*ompdv1.GetStatisticsResponse, error) bool) {
		rec, err := h.Read()
		if err != nil {
			yield(nil, err)
			return
		}
		about, err := h.recording(rec)
		whole := new(ompdv1.Statistics)
		if err := errors.Join(err, wire.Pack(h.Statistics(rec, windowOf(h, rec, last)), whole)); err != nil {
			yield(nil, err)
			return
		}
		for part := range partsOf(whole, s.server.cfg.Limits.piece()) {
			if !yield(&ompdv1.GetStatisticsResponse{Recording: about, Statistics: part}, nil) {
				return
			}
			about = nil
		}
	})
}

// partsOf returns parts of statistics of at most room bytes each, unless one element is larger.
func partsOf(whole *ompdv1.Statistics, room int) iter.Seq[*ompdv1.Statistics] {
	return func(yield func(*ompdv1.Statistics) bool) {
		part := proto.CloneOf(whole)
		part.Rows, part.LockOrders = nil, nil
		used, going := 0, true
		add := func(m proto.Message) bool { // makes room for m
			n := proto.Size(m)
			if used > 0 && used+n > room {
				going = yield(part)
				part, used = new(ompdv1.Statistics), 0
			}
			used += n
			return going
		}
		for _, row := range whole.GetRows() {
			if !add(row) {
				return
			}
			part.Rows = append(part.Rows, row)
		}
		for _, order := range whole.GetLockOrders() {
			if !add(order) {
				return
			}
			part.LockOrders = append(part.LockOrders, order)
		}
		yield(part)
	}
}

// ExportEvents sends a file.
func (s *tracing) ExportEvents(req *ompdv1.ExportEventsRequest, stream ompdv1.TraceService_ExportEventsServer) error {
	suffix := wire.Suffix(req.GetFormat())
	if suffix == "" {
		return failure(codes.InvalidArgument, "NO_FORMAT", "which format? There is no number %d", req.GetFormat())
	}
	last := req.GetLast().AsDuration()
	if last < 0 {
		return errNegative()
	}
	h, err := historyOf(stream.Context(), req)
	if err != nil {
		return err
	}
	defer h.Close()
	return deliver(h, stream, func(yield func(*ompdv1.ExportEventsResponse, error) bool) {
		rec, err := h.Read()
		if err != nil {
			yield(nil, err)
			return
		}
		write, err := export.Writer(suffix)
		if err == nil {
			out := &exported{room: s.server.cfg.Limits.piece(), send: func(b []byte) bool {
				return yield(&ompdv1.ExportEventsResponse{Data: b}, nil)
			}}
			o := export.Options{
				Window: windowOf(h, rec, last), Program: h.Program(), Names: h.Names(), Name: history.EventName,
			}
			if err = write(out, rec, o); out.over {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	})
}

// exported sends the written bytes in pieces.
type exported struct {
	room int
	send func([]byte) bool
	over bool // the client has left
}

// Write sends b.
func (e *exported) Write(b []byte) (n int, err error) {
	for n < len(b) {
		piece := b[n:min(n+e.room, len(b))]
		if !e.send(append([]byte(nil), piece...)) {
			e.over = true
			return n, io.ErrClosedPipe
		}
		n += len(piece)
	}
	return n, nil
}
