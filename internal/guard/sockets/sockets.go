// Package sockets listens on unix sockets that only this user can connect to, and identifies the users of
// connections.
//
// The kernel records the user of a connection to a unix socket when the connection is made (SO_PEERCRED). That
// is not changed by closing either end. Nothing like it exists for TCP: /proc/net/tcp lists the owner of a
// socket only while a process has it open.
package sockets

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrOtherUser is the error of CheckUser for a connection of another user.
var ErrOtherUser = errors.New("a connection of another user")

// Default returns the default path of the socket of a verb: in the user's runtime directory, else in a directory
// of /tmp that only the user can enter. verb may be empty.
func Default(verb string) string {
	name := "ompd-inspect.sock"
	if verb != "" {
		name = "ompd-inspect-" + verb + ".sock"
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name)
	}
	return filepath.Join(fmt.Sprintf("/tmp/ompd-inspect-%d", os.Getuid()), name)
}

// Path returns the path in the address of a unix socket: unix:///PATH as the server has it, unix:PATH as Delve
// has it, or a path that contains a slash. It returns "" for other addresses.
func Path(address string) string {
	for _, prefix := range []string{"unix://", "unix:"} {
		if path, ok := strings.CutPrefix(address, prefix); ok {
			return path
		}
	}
	if strings.Contains(address, "/") && !strings.Contains(address, "://") {
		return address
	}
	return ""
}

// Listen creates a socket that only this user can connect to, and replaces a dead socket. It creates the
// directory if its parent exists. Root can connect too, so the server of a connection calls CheckUser.
func Listen(path string) (net.Listener, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("socket %q: the path must be absolute: unix:///path", path)
	}
	if err := makeDirectory(filepath.Dir(path)); err != nil {
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
	return &listener{l, path}, nil
}

// listener removes its socket when it is closed.
type listener struct {
	*net.UnixListener
	path string
}

// Close stops listening and removes the socket.
func (l *listener) Close() error {
	err := l.UnixListener.Close()
	if err == nil {
		err = os.Remove(l.path)
	}
	return err
}

// Addr returns the final address of the socket.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// makeDirectory creates the directory of a socket, for this user only. It refuses one below /tmp that belongs to
// another user, and one in which every user may replace the socket.
func makeDirectory(dir string) error {
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
	if st, err = os.Stat(dir); err == nil && st.Mode().Perm()&0o002 != 0 && st.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("directory %s: every user may replace a socket there; give a socket elsewhere", dir)
	}
	return err
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

// Peer returns the process that connected to a unix socket, as the kernel recorded it.
func Peer(conn *net.UnixConn) (*unix.Ucred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var who *unix.Ucred
	var optErr error
	err = raw.Control(func(fd uintptr) {
		who, optErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return who, errors.Join(err, optErr)
}

// CheckUser returns an error unless a connection is one to a unix socket, made by this user.
func CheckUser(conn net.Conn) error {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("%w: %T is not a unix socket", ErrOtherUser, conn)
	}
	who, err := Peer(u)
	if err != nil {
		return fmt.Errorf("the user of a connection: %w", err)
	}
	if int(who.Uid) != os.Getuid() {
		return fmt.Errorf("%w: user %d, process %d", ErrOtherUser, who.Uid, who.Pid)
	}
	return nil
}
