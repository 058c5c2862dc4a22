package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/export"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/history"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/legacy"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// servedTrace shows the recorded events of a target of a server.
type servedTrace struct {
	*tracing
	ctx    context.Context
	trace  ompdv1.TraceServiceClient
	target string
	p      *text.Events // nil for JSON
	json   *json.Encoder
	places map[uint64]picture.Frame // by code address
}

// place returns the place of an event, from the server's answers.
func (s *servedTrace) place(pc uint64) picture.Frame { return s.places[pc] }

// withServed calls f with a target of the server that the flags name.
func (t *tracing) withServed(name string, f func(*servedTrace) error) (err error) {
	ctx, stop := t.interruptible()
	defer stop()
	target, err := openServed(ctx, t.app, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	s := &servedTrace{tracing: t, ctx: ctx, trace: target.Trace(), target: target.Name,
		places: map[uint64]picture.Frame{}}
	if t.isJSON() {
		s.json = report.NewJSON(t.Stdout)
	} else if t.out == "" {
		if s.p, err = t.textPrinter(t.Stdout, s.place); err != nil {
			return err
		}
	}
	err = client.Explain(f(s))
	if t.follow && ctx.Err() != nil {
		return nil
	}
	return err
}

// each calls f with each message of a stream, until its end.
func each[R any](stream grpc.ServerStreamingClient[R], err error, f func(*R) error) error {
	for err == nil {
		var r *R
		if r, err = stream.Recv(); err == nil {
			err = f(r)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// lastDuration returns the value of --last as a message; nil if it is unset.
func (s *servedTrace) lastDuration() *durationpb.Duration {
	if s.last == 0 {
		return nil
	}
	return durationpb.New(s.last)
}

// filter returns the filter that --thread and --region select.
func (s *servedTrace) filter() *ompdv1.EventFilter {
	f := &ompdv1.EventFilter{Region: s.region}
	if s.thread != 0 {
		f.Lwps = []int64{int64(s.thread)}
	}
	return f
}

// show shows the last events, follows them, or writes them into a file.
func (s *servedTrace) show() error {
	switch {
	case s.out != "":
		return s.save(s.export)
	case s.follow:
		return s.followEvents()
	}
	req := &ompdv1.GetEventsRequest{
		Target: s.target, Filter: s.filter(), Last: s.lastDuration(), PerThread: int64(s.events),
	}
	shown := 0
	stream, err := s.trace.GetEvents(s.ctx, req)
	err = each(stream, err, func(r *ompdv1.GetEventsResponse) error {
		shown += len(r.GetEvents())
		if m := r.GetRecording(); m != nil && s.p != nil {
			about := new(picture.Recording)
			if err := wire.Unpack(m, about); err != nil {
				return err
			}
			s.p.Recorded(about)
			s.p.EventHeading()
		}
		return s.print(r.GetEvents())
	})
	if err == nil && shown == 0 && s.p != nil {
		s.p.None(noEvent)
		err = s.p.Err()
	} else if err == nil && s.p != nil {
		s.p.End()
		err = s.p.Err()
	}
	return err
}

// print prints events.
func (s *servedTrace) print(list []*ompdv1.Event) error {
	for _, m := range list {
		e := new(picture.Event)
		if err := wire.Unpack(m, e); err != nil {
			return err
		}
		if s.names != 0 {
			e.Name = s.nameOf(legacy.Event{Code: uint8(e.Code), Kind: uint8(e.Kind), Endpoint: uint8(e.Endpoint)})
		}
		if s.p == nil {
			if err := s.json.Encode(lineOf(e)); err != nil {
				return err
			}
			continue
		}
		if s.named {
			e.Text = e.Name
		}
		pc := uint64(0)
		if e.PC != nil && e.Frame != nil {
			if pc = uint64(*e.PC); len(s.places) >= history.PlacesMax {
				clear(s.places)
			}
			s.places[pc] = *e.Frame
		}
		member := text.Member{Size: uint32(e.TeamSize)}
		if e.ThreadNum != nil {
			member.Num = uint32(*e.ThreadNum)
		}
		s.p.Event(time.Duration(e.Ago), uint32(e.LWP), member, []byte(e.Text), pc)
	}
	if s.p == nil {
		return nil
	}
	return s.p.Err()
}

// lineOf returns an event as a line of JSON.
func lineOf(e *picture.Event) export.Line {
	out := export.Line{
		Time: e.Time, LWP: uint32(e.LWP), Name: e.Name, Text: e.Text, Kind: uint8(e.Kind),
		Endpoint: uint8(e.Endpoint), Value: uint32(e.Value), Region: e.Region, Task: e.Task,
		Details: export.Details{Dependences: e.Dependences, Mapped: e.Mapped, Truncated: e.Truncated,
			Operation: e.Operation, Loaded: e.Loaded},
	}
	if e.PC != nil {
		out.PC = fmt.Sprintf("%#x", uint64(*e.PC))
	}
	if e.Lock != nil {
		out.Lock = fmt.Sprintf("%#x", uint64(*e.Lock))
	}
	if at := e.Frame; at != nil {
		if out.Function, out.File, out.Line = at.Function, at.File, at.Line; at.In != "" {
			out.Function = at.In
		}
	}
	return out
}

// followEvents shows new events as they arrive.
func (s *servedTrace) followEvents() error {
	req := &ompdv1.FollowEventsRequest{Target: s.target, Filter: s.filter(), Rate: int64(s.rate)}
	if s.maxShown() == 0 {
		req.Rate = math.MaxInt64 // as many as the server sends
	}
	stream, err := s.trace.FollowEvents(s.ctx, req)
	err = each(stream, err, func(r *ompdv1.FollowEventsResponse) error {
		if s.p != nil {
			s.p.Skipped(r.GetLost(), overwritten)
			s.p.Skipped(r.GetSkipped(), rateLimited)
		}
		return s.print(r.GetEvents())
	})
	if err == nil {
		fmt.Fprintln(s.Stderr, processEnded)
	}
	return err
}

// statistics shows statistics.
func (s *servedTrace) statistics() error {
	about, whole := new(picture.Recording), new(picture.Statistics)
	whole.Rows = []picture.Statistic{}
	stream, err := s.trace.GetStatistics(s.ctx, &ompdv1.GetStatisticsRequest{Target: s.target, Last: s.lastDuration()})
	err = each(stream, err, func(r *ompdv1.GetStatisticsResponse) error {
		if m := r.GetRecording(); m != nil {
			if err := wire.Unpack(m, about); err != nil {
				return err
			}
		}
		part := new(picture.Statistics)
		if err := wire.Unpack(r.GetStatistics(), part); err != nil {
			return err
		}
		rows, orders := append(whole.Rows, part.Rows...), append(whole.LockOrders, part.LockOrders...)
		if part.Threads > 0 {
			whole = part
		}
		whole.Rows, whole.LockOrders = rows, orders
		return nil
	})
	if err != nil {
		return err
	}
	return s.showStatistics(about, whole)
}

// export writes a file in the format of its extension.
func (s *servedTrace) export(w io.Writer) error {
	if s.names != 0 {
		return usageError{errors.New("a server names events as OpenMP 5.1 does: leave out --names, or use --json")}
	}
	req := &ompdv1.ExportEventsRequest{Target: s.target, Last: s.lastDuration(), Format: wire.FormatOf(s.exportName())}
	stream, err := s.trace.ExportEvents(s.ctx, req)
	return each(stream, err, func(r *ompdv1.ExportEventsResponse) error {
		_, err := w.Write(r.GetData())
		return err
	})
}
