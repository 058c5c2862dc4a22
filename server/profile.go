package server

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// Profiled is an Opened whose process can be profiled, such as a session.Target.
type Profiled interface {
	// Profile samples the process until ctx ends or a limit is reached.
	Profile(ctx context.Context, o session.ProfileOptions) (*picture.Profile, error)
}

// profiling is one call of ProfileTarget.
type profiling struct {
	*inspection
	stream ompdv1.InspectionService_ProfileTargetServer
}

// ProfileTarget samples a process. It opens the process once more for that, so that other calls can use the target
// meanwhile.
func (s *inspection) ProfileTarget(stream ompdv1.InspectionService_ProfileTargetServer) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	if req.GetDuration().AsDuration() < 0 || req.GetSamples() < 0 {
		return failure(codes.InvalidArgument, "NEGATIVE", "duration and samples are not negative")
	}
	var of *target
	err = withTarget(stream.Context(), req, func(t *target) error {
		if of = t; t.spec.GetPid() == 0 {
			return notProfiled(t)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p := &profiling{s, stream}
	found, err := p.sample(of, req)
	if err != nil {
		return err
	}
	whole := new(ompdv1.Profile)
	if err := wire.Pack(found, whole); err != nil {
		return err
	}
	return p.send(whole)
}

// notProfiled returns the error for a target that is not a process.
func notProfiled(t *target) error {
	return failure(codes.FailedPrecondition, "NO_PROCESS", "%s is not a process that can be profiled", t.name)
}

// sample takes the samples, until the request's end, the client's, or that of the target.
func (p *profiling) sample(t *target, req *ompdv1.ProfileTargetRequest) (found *picture.Profile, err error) {
	ctx := p.stream.Context()
	if err := p.server.full(); err != nil {
		return nil, err
	}
	means, memory := p.server.means(connectionOf(ctx).userName())
	opened, err := p.open(ctx, t.spec, means, memory)
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	defer func() { err = errors.Join(err, opened.Close()) }()
	process, ok := opened.(Profiled)
	if !ok {
		return nil, notProfiled(t)
	}
	sampling, end := context.WithCancel(ctx)
	defer end()
	go p.awaitEnd(end)
	go func() {
		select {
		case <-t.gone:
			end()
		case <-sampling.Done():
		}
	}()
	limit := p.server.cfg.Limits.Profile
	o := session.ProfileOptions{For: limit, Samples: int(min(req.GetSamples(), maxProfileSamples)),
		Budget: p.server.cfg.Limits.Work}
	if d := req.GetDuration().AsDuration(); d > 0 {
		o.For = min(d, limit)
	}
	o.Started = func() { _ = p.stream.Send(&ompdv1.ProfileTargetResponse{}) } // the next message has the error
	err = contain.Run(func() (err error) {
		found, err = process.Profile(sampling, o)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, session.ErrNotWatched):
		return nil, notProfiled(t)
	}
	return found, err
}

// maxProfileSamples bounds the samples of a profile, so that the number of a request fits.
const maxProfileSamples = 1 << 30

// awaitEnd ends the samples when the client asks for it.
func (p *profiling) awaitEnd(end func()) {
	for {
		req, err := p.stream.Recv()
		switch {
		case err == nil && !req.GetEnd():
			continue
		case errors.Is(err, io.EOF): // it has nothing more to say; the end of the call ends the samples
			return
		}
		end()
		return
	}
}

// send sends a profile in pieces.
func (p *profiling) send(whole *ompdv1.Profile) error {
	c := &cutter[*ompdv1.Profile]{
		piece: new(ompdv1.Profile), more: func() *ompdv1.Profile { return new(ompdv1.Profile) },
		room: p.server.cfg.Limits.piece(),
		send: func(m *ompdv1.Profile, _ bool) error {
			return p.stream.Send(&ompdv1.ProfileTargetResponse{Profile: m})
		},
	}
	c.scalars(whole.ProtoReflect(), c.piece.ProtoReflect())
	c.lists(whole.ProtoReflect(), func() protoreflect.Message { return c.piece.ProtoReflect() })
	if c.err != nil {
		return c.err
	}
	return c.send(c.piece, true)
}

// profileLimit is the default of Limits.Profile.
const profileLimit = 10 * time.Minute
