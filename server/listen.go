package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/sockets"
)

// DefaultAddress returns the default address: a socket in the user's runtime directory, else in a directory of
// /tmp that only the user can enter.
func DefaultAddress() string { return "unix://" + sockets.Default("") }

// Listen opens a listener on unix:///path or tcp://host:port, and returns the credentials for its connections.
// Over a unix socket, the peer must be one of the users uids. Over TCP, the credentials are secure, which may
// be nil only for a loopback address.
func Listen(address string, uids []int, secure credentials.TransportCredentials) (net.Listener,
	credentials.TransportCredentials, error) {
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		l, err := sockets.Listen(path)
		return l, PeerCredentials(uids), err
	}
	hostport, ok := strings.CutPrefix(address, "tcp://")
	if !ok {
		return nil, nil, fmt.Errorf("address %q: it is unix:///path or tcp://host:port", address)
	}
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, nil, fmt.Errorf("address %q: %w", address, err)
	}
	if secure == nil && !loopback(host) {
		return nil, nil, fmt.Errorf("address %q: over TCP and not on a loopback address, a token would be readable "+
			"by others: give --tls-cert and --tls-key", address)
	}
	l, err := net.Listen("tcp", hostport)
	return l, secure, err
}

// loopback reports whether host is only reachable from this machine.
func loopback(host string) bool {
	ips := []net.IP{net.ParseIP(host)}
	if ips[0] == nil {
		var err error
		if ips, err = net.LookupIP(host); err != nil || len(ips) == 0 {
			return false
		}
	}
	return !slices.ContainsFunc(ips, func(ip net.IP) bool { return !ip.IsLoopback() })
}

// PeerCredentials returns credentials for a unix socket that serve only the users uids. The kernel identifies
// the peer.
func PeerCredentials(uids []int) credentials.TransportCredentials { return peerCredentials{uids} }

// peerCredentials are the credentials of a unix socket, checked by the kernel.
type peerCredentials struct{ uids []int }

// peer identifies the other end of a connection.
type peer struct {
	credentials.CommonAuthInfo
	uid, pid int
}

// AuthType returns the kind of check.
func (peer) AuthType() string { return "unix" }

// ServerHandshake refuses users that are not allowed.
func (p peerCredentials) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	under := c
	if l, ok := c.(*counted); ok {
		under = l.Conn
	}
	u, ok := under.(*net.UnixConn)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a unix socket", under)
	}
	who, err := sockets.Peer(u)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(p.uids, int(who.Uid)) {
		return nil, nil, fmt.Errorf("user %d may not use this server", who.Uid)
	}
	common := credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}
	return c, peer{common, int(who.Uid), int(who.Pid)}, nil
}

// ClientHandshake always fails: these credentials are for servers only.
func (peerCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("credentials of a server")
}

// Info returns the protocol.
func (peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "unix"}
}

// Clone copies the credentials.
func (p peerCredentials) Clone() credentials.TransportCredentials { return p }

// OverrideServerName has no effect: a socket has no name.
func (peerCredentials) OverrideServerName(string) error { return nil }
