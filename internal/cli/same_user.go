package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// errOtherUser is the error of a connection that is not proved to belong to this user.
var errOtherUser = errors.New("it is not of this user")

// sameUser returns an error unless the other end of a connection is a socket of this user, on a loopback
// address of this machine.
func sameUser(conn net.Conn) error { return ownedBy(conn, os.Getuid()) }

// ownedBy returns an error unless the kernel lists the other end of a connection as an established socket of a
// user. Root gets no exception: the kernel also lists user 0 for a socket that its process has closed.
//
// The kernel reads the state of a socket before its user, and the process may close it in between. So the
// socket must be listed twice: if it is still established the second time, the user of the first time was its
// user, because a closed socket is never established again. This end must be established after that. If the
// other end of a connection is closed while the connection waits to be accepted, a socket of another user may
// get the same port.
func ownedBy(conn net.Conn, uid int) error {
	local, err1 := netip.ParseAddrPort(conn.LocalAddr().String())
	far, err2 := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !local.Addr().Unmap().IsLoopback() || !far.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%w: it is not on a loopback address", errOtherUser)
	}
	for range 2 {
		owner, err := establishedOwner(far, local)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: the kernel lists no open socket at its other end", errOtherUser)
		case err != nil:
			return err
		case owner != uid:
			return errOtherUser
		}
	}
	return stillOpen(conn)
}

// stillOpen returns an error unless a connection is established at this end: neither end has closed it or reset
// it.
func stillOpen(conn net.Conn) error {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return fmt.Errorf("%w: it is not a socket", errOtherUser)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var info *unix.TCPInfo
	var infoErr error
	err = raw.Control(func(fd uintptr) { info, infoErr = unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO) })
	if err := errors.Join(err, infoErr); err != nil {
		return fmt.Errorf("state of the connection: %w", err)
	}
	if info.State != unix.BPF_TCP_ESTABLISHED {
		return fmt.Errorf("%w: its other end has closed it", errOtherUser)
	}
	return nil
}

// establishedOwner returns the user of the established socket from one address to another. It returns
// fs.ErrNotExist if the kernel lists no such entry.
func establishedOwner(from, to netip.AddrPort) (uid int, err error) {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if uid, err = ownerIn(table, from, to); !errors.Is(err, fs.ErrNotExist) {
			return uid, err
		}
	}
	return 0, err
}

// established is TCP_ESTABLISHED in the kernel's tables of sockets.
const established = "01"

// ownerIn implements establishedOwner for one table of the kernel.
func ownerIn(table string, from, to netip.AddrPort) (uid int, err error) {
	f, err := os.Open(table)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // number, local, remote, state, queues, timer, retransmits, user, …
		const state, user = 3, 7
		if len(fields) > user && fields[state] == established &&
			isAddress(fields[1], from) && isAddress(fields[2], to) {
			return strconv.Atoi(fields[user])
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fs.ErrNotExist
}

// isAddress reports whether text is the address a in the kernel's form: words of the machine's byte order in
// hexadecimal, and the port.
func isAddress(text string, a netip.AddrPort) bool {
	words, port, _ := strings.Cut(text, ":")
	if n, err := strconv.ParseUint(port, 16, 16); err != nil || uint16(n) != a.Port() {
		return false
	}
	var b []byte
	for ; len(words) >= 8; words = words[8:] {
		n, err := strconv.ParseUint(words[:8], 16, 32)
		if err != nil {
			return false
		}
		b = append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	ip, ok := netip.AddrFromSlice(b)
	return ok && ip.Unmap() == a.Addr().Unmap()
}
