package cli

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
)

// maxStrangers is the limit of connections over TCP that have not sent the secret yet. A new one replaces the
// oldest, so that other users cannot keep editors out.
const maxStrangers = 16

// listenFlags contains the flags of dap for --listen.
type listenFlags struct {
	address    string
	remote     bool
	secretFile string
}

// listen serves editors until a signal arrives. Over TCP, they must send a secret.
func (e editors) listen(ctx context.Context, f listenFlags) error {
	l, vouched, err := listenAt(f.address, f.remote)
	if err != nil {
		return err
	}
	if vouched {
		return e.accept(ctx, l, maxEditors, "", func(ctx context.Context, conn net.Conn) {
			e.session(ctx, conn, e.config())
		})
	}
	secret, err := readToken("secret", f.secretFile)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	hint := ""
	if secret == "" {
		secret = rand.Text()
		hint = "secret: " + secret + "\n"
	}
	g := &gate{Listener: l, secret: secret}
	const limit = maxEditors + maxStrangers + 1 // the last one replaces a stranger
	return e.accept(ctx, g, limit, hint, func(ctx context.Context, conn net.Conn) { e.serveStranger(ctx, conn, g) })
}

// serveStranger serves an editor that must send the secret before it can open anything.
func (e editors) serveStranger(ctx context.Context, conn net.Conn, g *gate) {
	defer g.leave(conn)
	c := e.config()
	c.Admit = func(secret string) error { return g.admit(conn, secret) }
	e.session(ctx, conn, c)
}

// session serves one editor.
func (e editors) session(ctx context.Context, conn net.Conn, c dap.Config) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	err := dap.Serve(ctx, conn, conn, c)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(e.Stderr, "ompd-inspect: %v: %v\n", conn.RemoteAddr(), err)
	}
}

// gate is a listener that admits the clients that send a secret.
type gate struct {
	net.Listener
	secret string

	mu        sync.Mutex
	strangers []net.Conn // connections without the secret so far, the oldest first
	admitted  []net.Conn
}

// Accept accepts a connection and adds it before the next one is accepted, so that strangers that came before an
// editor cannot push it out.
func (g *gate) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err == nil {
		g.enter(conn)
	}
	return conn, err
}

// enter adds a connection, and closes the oldest one that has not sent the secret if there are too many.
func (g *gate) enter(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.strangers) == maxStrangers {
		g.strangers[0].Close()
		g.strangers = slices.Delete(g.strangers, 0, 1)
	}
	g.strangers = append(g.strangers, conn)
}

// leave removes a connection.
func (g *gate) leave(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	is := func(other net.Conn) bool { return other == conn }
	g.strangers, g.admitted = slices.DeleteFunc(g.strangers, is), slices.DeleteFunc(g.admitted, is)
}

// Errors of admit.
var (
	errSecret   = errors.New(`the secret is missing or wrong: "secret" in the configuration must be the one of --listen`)
	errSessions = fmt.Errorf("%d editors have a session already", maxEditors)
)

// admit admits a connection, or returns the reason why it does not.
func (g *gate) admit(conn net.Conn, secret string) error {
	if subtle.ConstantTimeCompare([]byte(secret), []byte(g.secret)) != 1 {
		return errSecret
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch at := slices.Index(g.strangers, conn); {
	case slices.Contains(g.admitted, conn):
		return nil
	case at < 0: // closed meanwhile, as the oldest stranger
		return net.ErrClosed
	case len(g.admitted) == maxEditors:
		return errSessions
	default:
		g.strangers = slices.Delete(g.strangers, at, at+1)
		g.admitted = append(g.admitted, conn)
		return nil
	}
}
