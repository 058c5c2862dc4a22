package server

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/sockets"
)

// limited is a listener with at most as many connections at a time as free has room for; others wait to be
// accepted.
type limited struct {
	net.Listener
	free  chan struct{}
	conns *conns
}

// Accept waits for room, then for a connection.
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

// conns are the open connections.
type conns struct {
	limits Limits
	full   func() error // reports whether memory for another connection is missing

	mu        sync.Mutex
	number    int64
	all       map[string]*counted // by address
	of        map[string]int      // number per user, or per machine over TCP
	strangers []*counted          // without an admitted call, the oldest first
}

// enter adds a connection and closes it unless a call of it is admitted in time. It returns nil if the user has
// reached the limit. free is called when the connection is closed.
func (s *conns) enter(conn net.Conn, free func()) *counted {
	who := endOf(conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[who] >= s.limits.UserConnections {
		return nil
	}
	s.number++
	c := &counted{Conn: conn, who: who, address: endpoint{conn.RemoteAddr(), s.number}, owner: s}
	c.leave = sync.OnceFunc(func() { // before any other goroutine has c and may close it
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

// leave removes a closed connection.
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

// counted is a connection that makes room when it is closed.
type counted struct {
	net.Conn
	who     string // the peer
	address endpoint
	leave   func()
	timer   *time.Timer  // closes the connection if it is not admitted
	pending atomic.Int64 // bytes received since the last complete message or the last sent one
	owner   *conns
}

// RemoteAddr returns an address that is unique among the connections.
func (c *counted) RemoteAddr() net.Addr { return c.address }

// little is the number of bytes that may always be pending on a connection.
const little = 128 << 10

// errGreedy reports more pending bytes than any message has.
var errGreedy = errors.New("more bytes than a message has")

// Read refuses to read if more bytes are pending than messages need, or than memory allows. Frames of one byte
// take about a hundred times their size in memory; only this layer can count them.
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

// endOf names the peer of a connection: a user, or a machine.
func endOf(conn net.Conn) string {
	if u, ok := conn.(*net.UnixConn); ok {
		if who, err := sockets.Peer(u); err == nil {
			return fmt.Sprintf("user %d", who.Uid)
		}
	}
	return hostOf(conn.RemoteAddr())
}

// endpoint is the address of one connection. A unix socket's peer has no name, so it gets a number.
type endpoint struct {
	net.Addr
	number int64
}

// String returns a text that is unique per connection.
func (e endpoint) String() string {
	if e.Addr != nil && e.Network() != "unix" {
		return e.Addr.String()
	}
	return fmt.Sprintf("unix#%d", e.number)
}

// hostOf returns the machine of an address.
func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(addressOf(a))
	if err != nil {
		return addressOf(a)
	}
	return host
}

// addressOf names the peer's address; that of a unix socket has no name.
func addressOf(a net.Addr) string {
	if a == nil || a.String() == "" || a.Network() == "unix" {
		return "unix"
	}
	return a.String()
}
