package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	peers "google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"

	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// connection is one connection with its open targets. Other comments call it a session.
type connection struct {
	server  *Server
	address string
	conn    *counted               // nil if already closed
	user    atomic.Pointer[string] // the peer, after the first call
	began   time.Time
	library ompd.Library  // of OmpdService, between Initialize and Finalize
	key     []byte        // for the seals of handles
	uses    atomic.Uint64 // of the library that have ended: handles of an earlier use are stale

	mu      sync.Mutex
	spaces  map[*target]*spaces // opened through OmpdService
	targets []*target           // in the order of opening
	ended   bool
}

type connectionKey struct{}

// connectionOf returns the connection of a call.
func connectionOf(ctx context.Context) *connection {
	s, _ := ctx.Value(connectionKey{}).(*connection)
	return s
}

// connections starts and ends the sessions of connections.
type connections struct{ server *Server }

var _ stats.Handler = connections{}

// TagConn starts a session.
func (c connections) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	s := &connection{
		server: c.server, began: time.Now(), address: addressOf(info.RemoteAddr),
		conn: c.server.conns.countedAt(info.RemoteAddr),
		key:  []byte(rand.Text()), spaces: map[*target]*spaces{},
	}
	c.server.mu.Lock()
	c.server.sessions[s] = true
	c.server.mu.Unlock()
	return context.WithValue(ctx, connectionKey{}, s)
}

// userName names the peer: a user of this machine, or an address.
func (s *connection) userName() string {
	if u := s.user.Load(); u != nil {
		return *u
	}
	return s.address
}

// userOf returns the name of a call's user, from its connection.
func userOf(ctx context.Context) string {
	p, ok := peers.FromContext(ctx)
	if !ok {
		return "somebody"
	}
	if who, ok := p.AuthInfo.(peer); ok {
		return fmt.Sprintf("user %d", who.uid)
	}
	return hostOf(p.Addr)
}

// HandleConn ends a session and frees its targets.
func (c connections) HandleConn(ctx context.Context, event stats.ConnStats) {
	s := connectionOf(ctx)
	switch event.(type) {
	case *stats.ConnBegin:
		c.server.log.Debug("connected", "peer", s.address)
	case *stats.ConnEnd:
		n := s.end()
		c.server.ended.Add(1)
		c.server.mu.Lock()
		delete(c.server.sessions, s)
		c.server.mu.Unlock()
		c.server.log.Debug("disconnected", "peer", s.address, "targets", n, "after", time.Since(s.began))
	}
}

// end frees the targets of the session. Targets with a lease stay; their lease starts now. It returns the
// number of targets.
func (s *connection) end() int {
	s.mu.Lock()
	targets := s.targets
	s.targets, s.ended = nil, true
	s.mu.Unlock()
	for _, t := range targets {
		if t.lease > 0 && t.orphan() {
			continue
		}
		s.server.release(t)
	}
	return len(targets)
}

// add adds a target to the session.
func (s *connection) add(t *target) error {
	limits, srv := s.server.cfg.Limits, s.server
	s.mu.Lock()
	defer s.mu.Unlock()
	srv.mu.Lock()
	defer srv.mu.Unlock()
	u := srv.user(s.userName())
	switch {
	case s.ended:
		return failure(codes.Canceled, "DISCONNECTED", "the connection ended")
	case len(s.targets) >= limits.Targets:
		return failure(codes.ResourceExhausted, "TOO_MANY_TARGETS", "this connection has %d targets open already: "+
			"close some", len(s.targets))
	case u.targets >= limits.User.Targets:
		return failure(codes.ResourceExhausted, "TOO_MANY_TARGETS", "%s has %d targets open on all connections, with "+
			"those that outlive theirs by a lease: close some", s.userName(), u.targets)
	case srv.targets >= limits.All.Targets:
		return failure(codes.ResourceExhausted, "TOO_MANY_TARGETS", "the server has %d targets open, which is all "+
			"that it may", srv.targets)
	}
	t.touch()
	srv.targets++
	u.targets++
	s.targets = append(s.targets, t)
	if t.shared {
		srv.shared[t.name] = t
	}
	return nil
}

// target finds a target by name: one of this session, or a shared one.
func (s *connection) target(name string) (*target, error) {
	if name == "" {
		return nil, failure(codes.InvalidArgument, "NO_TARGET", "which target? target is the name that OpenTarget gave")
	}
	s.mu.Lock()
	for _, t := range s.targets {
		if t.name == name {
			s.mu.Unlock()
			return t, nil
		}
	}
	s.mu.Unlock()
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if t := s.server.shared[name]; t != nil {
		return t, nil
	}
	return nil, failure(codes.NotFound, reasonNoTarget, "no target %q: it was closed, or opened on another "+
		"connection without a lease", name)
}

// remove removes t from the session's list.
func (s *connection) remove(t *target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.spaces, t)
	for i, o := range s.targets {
		if o == t {
			s.targets = append(s.targets[:i:i], s.targets[i+1:]...)
			return
		}
	}
}

// release closes a target once, after the call that uses it.
func (s *Server) release(t *target) {
	if !t.leave() {
		return
	}
	t.owner.remove(t)
	s.mu.Lock()
	s.targets--
	s.user(t.owner.userName()).targets--
	delete(s.shared, t.name)
	s.mu.Unlock()
	s.closing.Go(func() {
		if err := t.close(); err != nil {
			s.log.Warn("close", "target", t.name, "error", err)
		}
		s.forget(t.owner.userName())
	})
}

// countedAt returns the connection from an address; nil if it is closed.
func (s *conns) countedAt(a net.Addr) *counted {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a == nil {
		return nil
	}
	return s.all[a.String()]
}

// named is a request with the name of a target.
type named interface{ GetTarget() string }

// withTarget calls f with the target of a request, in the target's turn.
func withTarget(ctx context.Context, req named, f func(*target) error) error {
	t, err := connectionOf(ctx).target(req.GetTarget())
	if err != nil {
		return err
	}
	return t.do(ctx, func() error { return f(t) })
}
