package server

import (
	"context"
	"crypto/subtle"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"
)

// A client is admitted before any message of it is read. Its token is checked when the headers of a call
// arrive, and a connection without an admitted call is closed after Limits.Patience.Admission. At most
// Limits.Strangers connections may be unadmitted: a new one replaces the oldest, so that silent connections
// lock no client out. The kernel names the peer of a unix socket, and no user can take all connections.

// admit checks the token of a call before the message is read.
func (s *Server) admit(ctx context.Context, info *tap.Info) (context.Context, error) {
	if err := s.authorize(info.Header); err != nil && info.FullMethodName == healthv1.Health_Check_FullMethodName {
		return ctx, nil // probes have no token, and their connections stay those of strangers
	} else if err != nil {
		s.logCall(ctx, info.FullMethodName, nil, err, 0)
		return ctx, statusOf(err)
	}
	if sn := connectionOf(ctx); sn != nil {
		if sn.user.Load() == nil {
			user := userOf(ctx)
			sn.user.Store(&user)
		}
		s.conns.admit(sn.conn)
		if err := s.room(sn.userName(), info.FullMethodName); err != nil {
			s.logCall(ctx, info.FullMethodName, nil, err, 0)
			return ctx, statusOf(err)
		}
	}
	return ctx, nil
}

// authorize checks the token, if the server requires one.
func (s *Server) authorize(md metadata.MD) error {
	if s.cfg.Token == "" {
		return nil
	}
	for _, v := range md.Get("authorization") {
		token, ok := strings.CutPrefix(v, "Bearer ")
		if ok && subtle.ConstantTimeCompare([]byte(token), []byte(s.cfg.Token)) == 1 {
			return nil
		}
	}
	return failure(codes.Unauthenticated, "NO_TOKEN", "this server requires a token: `authorization: Bearer …`")
}

// admit keeps a connection open.
func (s *conns) admit(c *counted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.strangers, c); i >= 0 {
		c.timer.Stop()
		s.strangers = slices.Delete(s.strangers, i, i+1)
	}
}
