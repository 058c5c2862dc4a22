package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/contain"
)

// maxEditors is how many sessions there are at a time; more connections wait.
const maxEditors = 16

// listen serves editors that connect, until a signal comes.
func (e editors) listen(ctx context.Context, address string, remote bool) error {
	return e.accept(ctx, address, remote, func(ctx context.Context, conn net.Conn) { e.session(ctx, conn, remote) })
}

// accept calls serve, in a goroutine of its own, with each connection to an address, until a
// signal comes; serve closes it.
func (e editors) accept(ctx context.Context, address string, remote bool, serve func(context.Context, net.Conn)) error {
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM)
	defer stop()
	l, err := listenFor(address, remote)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	if _, err := fmt.Fprintf(e.Stdout, "listening on %s\n", l.Addr()); err != nil {
		return err
	}
	var sessions sync.WaitGroup
	defer sessions.Wait()
	places := make(chan struct{}, maxEditors)
	for {
		places <- struct{}{}
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		sessions.Go(func() {
			defer func() { <-places }()
			noted(e.Stderr, contain.Run(func() error { serve(ctx, conn); return nil }))
		})
	}
}

// noted writes to a log where a panic was that ended what was done for one client.
func noted(log io.Writer, err error) {
	var p *contain.Panic
	if errors.As(err, &p) {
		fmt.Fprintf(log, "ompd-inspect: %v\n%s\n", p, p.Stack)
	}
}

// listenFor listens on an address, which is of the loopback interface unless others may
// connect.
func listenFor(address string, remote bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usageError{fmt.Errorf("--listen %q: %w", address, err)}
	}
	if ip, err := netip.ParseAddr(host); !remote && host != "localhost" && (err != nil || !ip.IsLoopback()) {
		const why = "who connects can look at your processes and start programs; --allow-remote lets other machines in"
		return nil, usageError{fmt.Errorf("--listen %s: %s", address, why)}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// session serves one editor.
func (e editors) session(ctx context.Context, conn net.Conn, remote bool) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if !remote {
		if err := sameUser(conn); err != nil {
			fmt.Fprintf(e.Stderr, "ompd-inspect: a connection of %v is refused: %v\n", conn.RemoteAddr(), err)
			return
		}
	}
	err := dap.Serve(ctx, conn, conn, e.config())
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(e.Stderr, "ompd-inspect: %v: %v\n", conn.RemoteAddr(), err)
	}
}

// errOtherUser says that somebody else has connected.
var errOtherUser = errors.New("it is not of this user")

// sameUser is an error unless the other end of a connection on this machine is a socket of
// this user, or of root, as the kernel lists it.
func sameUser(conn net.Conn) error {
	local, err1 := netip.ParseAddrPort(conn.LocalAddr().String())
	far, err2 := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		uid, err := socketOwner(table, far, local)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case uid == 0 || uid == os.Getuid():
			return nil
		default:
			return errOtherUser
		}
	}
	return errOtherUser
}

// socketOwner is the user of the socket that is connected from one address to another, as a
// table of the kernel says. A socket that is not there is fs.ErrNotExist.
func socketOwner(table string, from, to netip.AddrPort) (int, error) {
	f, err := os.Open(table)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // number, local, remote, state, queues, timer, retransmits, user, …
		const user = 7
		if len(fields) <= user || !isAddress(fields[1], from) || !isAddress(fields[2], to) {
			continue
		}
		return strconv.Atoi(fields[user])
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fs.ErrNotExist
}

// isAddress reports whether the kernel's form of an address, words of the machine's byte
// order in hexadecimal and the port, is that of an address.
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

// unhurried takes back what main sets for a process that ends soon.
func unhurried() {
	debug.SetMemoryLimit(math.MaxInt64)
	debug.SetGCPercent(100)
}
