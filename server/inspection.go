package server

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// inspection implements InspectionService.
type inspection struct {
	ompdv1.UnimplementedInspectionServiceServer
	server *Server
}

// OpenTarget opens a target.
func (s *inspection) OpenTarget(ctx context.Context, req *ompdv1.OpenTargetRequest) (*ompdv1.OpenTargetResponse,
	error) {
	if name := req.GetSpec().GetDebugger(); name != "" { // knowing the name permits the use
		info, err := s.GetTarget(ctx, &ompdv1.GetTargetRequest{Target: name})
		return &ompdv1.OpenTargetResponse{Target: info.GetTarget()}, err
	}
	spec, err := s.server.cfg.Policy.allow(req.GetSpec())
	if err != nil {
		return nil, err
	}
	if err := s.server.full(); err != nil {
		return nil, err
	}
	means, memory := s.server.means(connectionOf(ctx).userName())
	opened, err := s.open(ctx, spec, means, memory)
	if err != nil {
		return nil, err
	}
	lease := min(max(req.GetLease().AsDuration(), 0), s.server.cfg.Limits.Lease)
	t := newTarget(connectionOf(ctx), opened, spec, lease)
	t.memory = memory
	if err := t.owner.add(t); err != nil {
		t.leave()
		_ = t.free() // err has more detail
		return nil, err
	}
	return &ompdv1.OpenTargetResponse{Target: t.info()}, nil
}

// open opens the target of spec. If ctx ends first, the target is closed as soon as it is open.
func (s *inspection) open(ctx context.Context, spec *ompdv1.TargetSpec, means Means, memory *budget.Ledger) (Opened,
	error) {
	type result struct {
		opened Opened
		err    error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.err = contain.Run(func() (err error) {
			r.opened, err = s.server.cfg.Open(ctx, spec, means)
			return err
		})
		done <- r
	}()
	select {
	case r := <-done:
		if r.err != nil {
			memory.Close()
		}
		return r.opened, r.err
	case <-ctx.Done():
		s.server.closing.Go(func() {
			if r := <-done; r.err == nil {
				_ = r.opened.Close() // the caller has gone
			}
			memory.Close()
		})
		return nil, ctx.Err()
	}
}

// GetTarget describes an open target.
func (s *inspection) GetTarget(ctx context.Context, req *ompdv1.GetTargetRequest) (*ompdv1.GetTargetResponse, error) {
	resp := &ompdv1.GetTargetResponse{}
	return resp, withTarget(ctx, req, func(t *target) error {
		resp.Target = t.info()
		return nil
	})
}

// ListTargets lists the targets of the connection.
func (s *inspection) ListTargets(ctx context.Context, req *ompdv1.ListTargetsRequest) (*ompdv1.ListTargetsResponse,
	error) {
	session := connectionOf(ctx)
	session.mu.Lock()
	targets := slices.Clone(session.targets)
	session.mu.Unlock()
	infos := make([]*ompdv1.OpenTargetInfo, 0, len(targets))
	for _, t := range targets {
		if err := t.do(ctx, func() error { infos = append(infos, t.info()); return nil }); err != nil &&
			!errors.Is(err, errGone()) {
			return nil, err
		}
	}
	page, next, err := pageOf(s.server.cfg.Limits, req, 0, infos, nil)
	return &ompdv1.ListTargetsResponse{Targets: page, NextPageToken: next}, err
}

// RefreshTarget moves a target to its present stop.
func (s *inspection) RefreshTarget(ctx context.Context,
	req *ompdv1.RefreshTargetRequest) (*ompdv1.RefreshTargetResponse, error) {
	resp := &ompdv1.RefreshTargetResponse{}
	return resp, withTarget(ctx, req, func(t *target) error {
		t.refresh()
		// A process may have ended; other reasons why it cannot be read are those of the next call.
		if _, err := t.lookAtProcess(); errors.Is(err, engine.ErrExited) {
			return err
		}
		resp.Target = t.info()
		return nil
	})
}

// CloseTarget frees a target.
func (s *inspection) CloseTarget(ctx context.Context, req *ompdv1.CloseTargetRequest) (*ompdv1.CloseTargetResponse,
	error) {
	t, err := connectionOf(ctx).target(req.GetTarget())
	if err != nil {
		return nil, err
	}
	s.server.release(t)
	return &ompdv1.CloseTargetResponse{}, nil
}

// ReadMemory reads memory of a target.
func (s *inspection) ReadMemory(ctx context.Context, req *ompdv1.ReadMemoryRequest) (*ompdv1.ReadMemoryResponse,
	error) {
	switch limit := s.server.cfg.Limits.Memory; {
	case !s.server.cfg.Policy.Memory:
		return nil, failure(codes.PermissionDenied, "MEMORY_NOT_ALLOWED",
			"this server does not return memory; it was started without --allow-memory")
	case int64(req.GetSize()) > int64(limit):
		return nil, failure(codes.InvalidArgument, "TOO_LARGE", "%d bytes at once, at most %d", req.GetSize(), limit)
	}
	resp := &ompdv1.ReadMemoryResponse{}
	return resp, withTarget(ctx, req, func(t *target) error {
		v, err := t.look()
		if err != nil {
			return err
		}
		resp.Data, err = readMemory(v.snapshot.Target(), req.GetAddress(), req.GetSize())
		return err
	})
}
