package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/sockets"
)

// maxEditors is the limit of sessions at a time; more connections wait.
const maxEditors = 16

// listenAt listens at an address of --listen. vouched reports whether it is a unix socket, whose connections
// are known to be this user's.
func listenAt(address string, remote bool) (l net.Listener, vouched bool, err error) {
	path := sockets.Path(address)
	if path == "" {
		l, err = listenTCP(address, remote)
		return l, false, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, true, err
	}
	if l, err = sockets.Listen(path); err != nil {
		return nil, true, fmt.Errorf("listen: %w", err)
	}
	return l, true, nil
}

// listenTCP listens on a TCP address. Unless remote is set, it must be an address of the loopback interface.
func listenTCP(address string, remote bool) (net.Listener, error) {
	address = strings.TrimPrefix(address, "tcp://")
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		const why = "--listen %q: it must be the path of a unix socket, or HOST:PORT: %w"
		return nil, usageError{fmt.Errorf(why, address, err)}
	}
	if ip, err := netip.ParseAddr(host); !remote && host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, usageError{fmt.Errorf("--listen %s: it is not a loopback address: other machines can connect, and "+
			"read what is sent", address)}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	// localhost may be mapped to any address
	if a, ok := l.Addr().(*net.TCPAddr); !remote && (!ok || !a.IP.IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("listen: %s is %v here, which is not a loopback address", host, l.Addr()),
			l.Close())
	}
	return l, nil
}

// addressOf returns the address of a listener as clients write it.
func addressOf(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return "unix:" + l.Addr().String()
	}
	return l.Addr().String()
}

// accept prints the address and a hint, and calls serve for each connection, in a goroutine of its own, until a
// signal arrives. It serves as many connections at a time as limit says; more wait. serve closes the connection,
// and accept the listener. Connections of other users to a unix socket are closed before a byte of them is read.
func (a *app) accept(
	ctx context.Context, l net.Listener, limit int, hint string, serve func(context.Context, net.Conn),
) error {
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM)
	defer stop()
	end := sync.OnceFunc(func() { l.Close() })
	defer context.AfterFunc(ctx, end)()
	defer end()
	if _, err := fmt.Fprintf(a.Stdout, "listening on %s\n%s", addressOf(l), hint); err != nil {
		return err
	}
	var sessions sync.WaitGroup
	defer sessions.Wait()
	places := make(chan struct{}, limit)
	for {
		places <- struct{}{}
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		if l.Addr().Network() == "unix" {
			if err := sockets.CheckUser(conn); err != nil {
				conn.Close()
				fmt.Fprintf(a.Stderr, "ompd-inspect: refused: %v\n", err)
				<-places
				continue
			}
		}
		sessions.Go(func() {
			defer func() { <-places }()
			logPanic(a.Stderr, contain.Run(func() error { serve(ctx, conn); return nil }))
		})
	}
}

// logPanic writes the stack of a panic that ended the work for one client to a log.
func logPanic(log io.Writer, err error) {
	var p *contain.Panic
	if errors.As(err, &p) {
		fmt.Fprintf(log, "ompd-inspect: %v\n%s\n", p, p.Stack)
	}
}

// restoreGC restores the garbage collector's settings that main changes for a process that ends soon.
func restoreGC() {
	debug.SetMemoryLimit(math.MaxInt64)
	debug.SetGCPercent(100)
}
