package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// unary wraps every call with a single answer.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Limits.Call)
	defer cancel()
	err = s.call(ctx, info.FullMethod, req, func() (err error) {
		if isChecked(info.FullMethod) {
			if err := checkRequest(req); err != nil {
				return err
			}
		}
		if resp, err = handler(ctx, req); err == nil {
			resp, err = applyMask(req, resp)
		}
		return err
	})
	return resp, err
}

// endless are the calls without a time limit, or with one of their own.
var endless = map[string]bool{
	ompdv1.DebuggerService_Attach_FullMethodName:          true,
	ompdv1.InspectionService_WatchTarget_FullMethodName:   true,
	ompdv1.InspectionService_ProfileTarget_FullMethodName: true,
	ompdv1.TraceService_FollowEvents_FullMethodName:       true,
}

// stream wraps every call with a stream.
func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	ctx := stream.Context()
	if strings.HasPrefix(info.FullMethod, "/ompd.") && !endless[info.FullMethod] {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.cfg.Limits.Call)
		defer cancel()
	}
	b := &bounded{ServerStream: stream, ctx: ctx, limit: s.cfg.Limits.Patience.Unread, deaf: make(chan struct{}),
		check: isChecked(info.FullMethod)}
	done := make(chan error, 1)
	go func() {
		done <- s.call(ctx, info.FullMethod, nil, func() error { return handler(srv, b) })
	}()
	select {
	case err := <-done:
		return err
	case <-b.deaf: // the end of the call ends the handler's sends
		return failure(codes.ResourceExhausted, "NOT_READ", "the client has read nothing for %v", b.limit)
	}
}

// bounded is a stream that ends after the call's time limit, or if the client does not
// read.
type bounded struct {
	grpc.ServerStream
	ctx   context.Context
	limit time.Duration // for a message to be read
	deaf  chan struct{} // closed when a message exceeded the limit
	once  sync.Once
	check bool // the requests
}

// SendMsg sends a message. A client that does not read it in time hangs, or is hostile.
func (b *bounded) SendMsg(m any) error {
	late := time.AfterFunc(b.limit, func() { b.once.Do(func() { close(b.deaf) }) })
	defer late.Stop()
	return b.ServerStream.SendMsg(m)
}

// RecvMsg receives a message and checks it.
func (b *bounded) RecvMsg(m any) error {
	err := b.ServerStream.RecvMsg(m)
	if err == nil && b.check {
		err = checkRequest(m)
	}
	return err
}

// Context returns the context of the call.
func (b *bounded) Context() context.Context { return b.ctx }

// call turns a panic into an error and an error into a status, and logs the call.
func (s *Server) call(ctx context.Context, method string, req any, f func() error) error {
	began := time.Now()
	err := contain.Run(f)
	s.logCall(ctx, method, req, err, time.Since(began))
	return statusOf(err)
}

// logCall logs a call; for a panic, also its stack.
func (s *Server) logCall(ctx context.Context, method string, req any, err error, took time.Duration) {
	code := status.Code(statusOf(err))
	attrs := []slog.Attr{slog.String("method", method), slog.String("code", code.String()), slog.Duration("took", took)}
	if sn := connectionOf(ctx); sn != nil {
		attrs = append(attrs, slog.String("peer", sn.address))
	}
	if r, ok := req.(interface{ GetTarget() string }); ok {
		attrs = append(attrs, slog.String("target", r.GetTarget()))
	}
	level := slog.LevelInfo
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	var p *contain.Panic
	if errors.As(err, &p) {
		level = slog.LevelError
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	s.log.LogAttrs(ctx, level, "call", attrs...)
}
