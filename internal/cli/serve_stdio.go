package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/front/piped"
	"github.com/ompd-inspect/ompd-inspect/server"
)

// forever is longer than any debugger waits.
const forever = 365 * 24 * time.Hour

// serveStdio serves the parent process over the pipes on its standard input and output, until the parent closes
// them.
func (c Command) serveStdio(ctx context.Context, each servedTarget) (err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	near, err1 := socketConn(fds[0])
	far, err2 := socketConn(fds[1])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	user := []int{os.Getuid()}
	s := server.New(server.Config{
		Open: each.open, Lend: each.lend, Processes: processes, Credentials: server.PeerCredentials(user),
		Memory: uint64(each.maxMemory),
		Policy: server.Policy{Dirs: []string{"/"}, UIDs: user}, Limits: server.Limits{Call: forever, Idle: forever,
			Patience: server.Patience{Admission: forever}},
		Log: slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	l := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.conn <- far
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := client.NewClient(near)
	if err != nil {
		return err
	}
	err = piped.Serve(ctx, c.Stdin, c.Stdout, piped.Config{Conn: conn.Conn(), Verb: verbAt(conn, c.Version),
		Version: c.Version})
	ending, cancel := context.WithCancel(context.Background())
	cancel() // the clients of calls in progress are gone
	err = errors.Join(err, conn.Close())
	near.Close() // if it was never dialed, its handshake would block
	s.Shutdown(ending)
	return errors.Join(err, <-served)
}

// socketConn returns a socket as a connection.
func socketConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	return net.FileConn(f)
}

// oneConn is a listener that accepts one connection.
type oneConn struct {
	conn   chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// Accept returns the connection; the second call blocks until Close.
func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the kind of the listener.
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "stdio", Net: "unix"} }

// verbAt returns a function that runs verbs on the server of a connection.
func verbAt(c *client.Client, version string) piped.Verb {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		out, outDone, err1 := fileTo(stdout)
		errs, errDone, err2 := fileTo(stderr)
		if errors.Join(err1, err2) != nil {
			return ExitError
		}
		own := Command{Version: version, Stdout: out, Stderr: errs}
		status := (&app{Command: own, beyond: beyond{at: c}, ctx: ctx}).run(args)
		outDone()
		errDone()
		return status
	}
}

// fileTo returns a file and copies its content to w. done waits until all of it is copied.
func fileTo(w io.Writer) (f *os.File, done func(), err error) {
	r, f, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(w, r) // an error means that the debugger is gone
		r.Close()
	}()
	return f, func() {
		f.Close()
		<-copied
	}, nil
}
