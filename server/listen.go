package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"
)

// DefaultAddress returns the default address: a socket in the user's runtime directory, else in a directory of
// /tmp that only the user can enter.
func DefaultAddress() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return "unix://" + filepath.Join(dir, "ompd-inspect.sock")
	}
	return fmt.Sprintf("unix:///tmp/ompd-inspect-%d/ompd-inspect.sock", os.Getuid())
}

// Listen opens a listener on unix:///path or tcp://host:port, and returns the credentials for its connections.
// Over a unix socket, the peer must be one of the users uids. Over TCP, the credentials are secure, which may
// be nil only for a loopback address.
func Listen(address string, uids []int, secure credentials.TransportCredentials) (net.Listener,
	credentials.TransportCredentials, error) {
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		l, err := listenUnix(path)
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

// listenUnix creates a socket that only the user can connect to. It replaces a dead socket.
func listenUnix(path string) (net.Listener, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("socket %q: the path must be absolute: unix:///path", path)
	}
	if err := ownDirectory(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := removeDead(path); err != nil {
		return nil, err
	}
	// The socket must never exist with wider rights, so it is created under another name.
	fresh := fmt.Sprintf("%s.%d", path, os.Getpid())
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	err = os.Chmod(fresh, 0o600)
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(fresh))
	}
	return &unixListener{l, path}, nil
}

// unixListener removes its socket when it is closed.
type unixListener struct {
	*net.UnixListener
	path string
}

// Close stops listening and removes the socket.
func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	if err == nil {
		err = os.Remove(l.path)
	}
	return err
}

// Addr returns the final address of the socket.
func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// ownDirectory creates the directory of a socket, for this user only. It refuses one below /tmp that belongs to
// another user.
func ownDirectory(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if filepath.Dir(dir) == os.TempDir() && (!ok || int(sys.Uid) != os.Getuid() || st.Mode().Perm()&0o077 != 0 ||
		!st.IsDir()) {
		return fmt.Errorf("directory %s: it must be this user's own, with mode 0700; remove it or give another socket",
			dir)
	}
	return nil
}

// removeDead removes a socket without a listener.
func removeDead(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("socket %s: a file of another kind is there", path)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return fmt.Errorf("socket %s: another server listens there", path)
	}
	return os.Remove(path)
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
	who, err := peerOf(u)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(p.uids, int(who.Uid)) {
		return nil, nil, fmt.Errorf("user %d may not use this server", who.Uid)
	}
	common := credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}
	return c, peer{common, int(who.Uid), int(who.Pid)}, nil
}

// peerOf returns the kernel's credentials of the peer.
func peerOf(u *net.UnixConn) (*unix.Ucred, error) {
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, err
	}
	var who *unix.Ucred
	var optErr error
	if err := raw.Control(func(fd uintptr) {
		who, optErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET,
			unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return who, optErr
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
