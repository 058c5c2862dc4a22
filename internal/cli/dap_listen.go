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
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
)

// maxEditors is the limit of sessions at a time; more connections wait.
const maxEditors = 16

// listen serves editors until a signal arrives.
func (e editors) listen(ctx context.Context, address string, remote bool) error {
	return e.accept(ctx, address, remote, func(ctx context.Context, conn net.Conn) { e.session(ctx, conn, remote) })
}

// accept calls serve for each connection to an address, in a goroutine of its own, until a signal arrives.
// serve closes the connection.
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
			logPanic(e.Stderr, contain.Run(func() error { serve(ctx, conn); return nil }))
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

// listenFor listens on an address. Unless remote is set, it must be an address of the loopback interface.
func listenFor(address string, remote bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usageError{fmt.Errorf("--listen %q: %w", address, err)}
	}
	if ip, err := netip.ParseAddr(host); !remote && host != "localhost" && (err != nil || !ip.IsLoopback()) {
		const why = "a client can inspect your processes and start programs; --allow-remote accepts clients of " +
			"other machines"
		return nil, usageError{fmt.Errorf("--listen %s: %s", address, why)}
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

// session serves one editor.
func (e editors) session(ctx context.Context, conn net.Conn, remote bool) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if !remote {
		if err := sameUser(conn); err != nil {
			fmt.Fprintf(e.Stderr, "ompd-inspect: refused a connection from %v: %v\n", conn.RemoteAddr(), err)
			return
		}
	}
	err := dap.Serve(ctx, conn, conn, e.config())
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(e.Stderr, "ompd-inspect: %v: %v\n", conn.RemoteAddr(), err)
	}
}

// restoreGC restores the garbage collector's settings that main changes for a process that ends soon.
func restoreGC() {
	debug.SetMemoryLimit(math.MaxInt64)
	debug.SetGCPercent(100)
}
