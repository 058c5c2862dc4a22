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
	if a, ok := l.Addr().(*net.TCPAddr); !remote && (!ok || !a.IP.IsLoopback()) { // localhost is a name like others
		return nil, errors.Join(fmt.Errorf("listen: %s is %v here, which is no loopback address", host, l.Addr()),
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
			fmt.Fprintf(e.Stderr, "ompd-inspect: a connection of %v is refused: %v\n", conn.RemoteAddr(), err)
			return
		}
	}
	err := dap.Serve(ctx, conn, conn, e.config())
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(e.Stderr, "ompd-inspect: %v: %v\n", conn.RemoteAddr(), err)
	}
}

// unhurried takes back what main sets for a process that ends soon.
func unhurried() {
	debug.SetMemoryLimit(math.MaxInt64)
	debug.SetGCPercent(100)
}
