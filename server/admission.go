package server

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"
)

// A client is admitted before anything of it is read: its token is checked when the
// headers of a call have come, before the message, and a connection that has made no
// call that was let in within Limits.Patience.Admission is closed. Connections that are not
// admitted yet are few: when a new one comes and there are Limits.Strangers, the oldest
// gives way, so that who keeps connections open without a word locks nobody out. Of a
// unix socket the kernel says who connects, and no user gets all connections.

// admit checks the token of a call before its message is read.
func (s *Server) admit(ctx context.Context, info *tap.Info) (context.Context, error) {
	if err := s.authorize(info.Header); err != nil {
		s.logCall(ctx, info.FullMethodName, nil, err, 0)
		return ctx, statusOf(err)
	}
	if sn := sessionOf(ctx); sn != nil {
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

// authorize checks the token, if there must be one.
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

// conns are the open connections.
type conns struct {
	limits Limits
	full   func() error // whether there is no memory for more

	mu        sync.Mutex
	number    int64
	all       map[string]*counted // by their addresses
	of        map[string]int      // how many each user has, or each machine over TCP
	strangers []*counted          // those that have made no call that was let in, the oldest first
}

// enter adds a connection, which is closed if no call of it is let in in time. It is nil
// if its user has as many as one may. free is called when it is closed.
func (s *conns) enter(conn net.Conn, free func()) *counted {
	who := endOf(conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[who] >= s.limits.UserConnections {
		return nil
	}
	s.number++
	c := &counted{Conn: conn, who: who, address: endpoint{conn.RemoteAddr(), s.number}, owner: s}
	c.leave = sync.OnceFunc(func() { // before anybody else has c, and may close it
		free()
		s.leave(c)
	})
	if _, vouched := conn.(*net.UnixConn); !vouched && len(s.strangers) >= s.limits.Strangers {
		go s.strangers[0].Close() // takes s.mu
		s.strangers = slices.Delete(s.strangers, 0, 1)
	}
	s.of[who]++
	s.all[c.address.String()] = c
	s.strangers = append(s.strangers, c)
	c.timer = time.AfterFunc(s.limits.Patience.Admission, func() { c.Close() })
	return c
}

// admit lets a connection stay.
func (s *conns) admit(c *counted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.strangers, c); i >= 0 {
		c.timer.Stop()
		s.strangers = slices.Delete(s.strangers, i, i+1)
	}
}

// leave takes out a connection that is closed.
func (s *conns) leave(c *counted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.timer.Stop()
	s.strangers = slices.DeleteFunc(s.strangers, func(o *counted) bool { return o == c })
	delete(s.all, c.address.String())
	if s.of[c.who]--; s.of[c.who] <= 0 {
		delete(s.of, c.who)
	}
}

// countedAt is the connection from an address; nil if it is closed.
func (s *conns) countedAt(a net.Addr) *counted {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a == nil {
		return nil
	}
	return s.all[a.String()]
}

// endOf names who is at the other end of a connection: a user, or a machine.
func endOf(conn net.Conn) string {
	if u, ok := conn.(*net.UnixConn); ok {
		if who, err := peerOf(u); err == nil {
			return fmt.Sprintf("user %d", who.Uid)
		}
	}
	return hostOf(conn.RemoteAddr())
}

// endpoint is the address of one connection: that of a unix socket has no name, so that it
// gets a number.
type endpoint struct {
	net.Addr
	number int64
}

// String tells connections apart.
func (e endpoint) String() string {
	if e.Addr != nil && e.Network() != "unix" {
		return e.Addr.String()
	}
	return fmt.Sprintf("unix#%d", e.number)
}

// limited is a listener that has so many connections at a time as free has room
// for; others wait to be accepted.
type limited struct {
	net.Listener
	free  chan struct{}
	conns *conns
}

// Accept waits for room and then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			<-l.free
			return nil, err
		}
		if c := l.conns.enter(conn, func() { <-l.free }); c != nil {
			return c, nil
		}
		conn.Close()
	}
}

// counted is a connection that makes room when it is closed.
type counted struct {
	net.Conn
	who     string // is at the other end
	address endpoint
	leave   func()
	timer   *time.Timer  // closes it if it is not admitted
	pending atomic.Int64 // bytes that have come since a message was whole, or one was sent
	owner   *conns
}

// RemoteAddr is an address that no other connection has.
func (c *counted) RemoteAddr() net.Addr { return c.address }

// little is how many bytes may be pending on a connection in any case.
const little = 128 << 10

// errGreedy says that bytes come and come and make no message.
var errGreedy = errors.New("more bytes than a message has")

// Read reads, unless what is pending is more than messages need, or more than there is
// memory for. Frames of one byte, which nobody but this can tell from larger ones, take
// some hundred times as much memory as they have bytes.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	pending := c.pending.Add(int64(n))
	if pending > little && (pending > 4*int64(c.owner.limits.Message) || c.owner.full() != nil) {
		return 0, errGreedy
	}
	return n, err
}

// Close closes the connection and makes room for another.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
