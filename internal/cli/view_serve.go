package cli

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// pageServer serves one page to one browser.
type pageServer struct {
	address string // host and port
	page    func(context.Context) ([]byte, error)
	token   string      // lets a browser in, once
	used    atomic.Bool // the token
	secret  string      // what the browser shows from then on
	log     *log.Logger // of what goes wrong; a page that panics ends its connection
}

// newPageServer makes the server of a page at an address.
func newPageServer(address string, page func(context.Context) ([]byte, error)) *pageServer {
	return &pageServer{address: address, page: page, token: rand.Text(), secret: rand.Text()}
}

// invitation is the address to open.
func (s *pageServer) invitation() string {
	u := url.URL{Scheme: "http", Host: s.address, Path: "/", RawQuery: url.Values{"token": {s.token}}.Encode()}
	return u.String()
}

// Bounds of what a browser may ask, and for how long.
const (
	maxPageHeader  = 16 << 10
	pageHeaderTime = 10 * time.Second
)

// serve serves until ctx ends.
func (s *pageServer) serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s, MaxHeaderBytes: maxPageHeader, ReadHeaderTimeout: pageHeaderTime,
		ErrorLog: s.log, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(ownListener{l}); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// ownListener accepts connections of this user only.
type ownListener struct{ net.Listener }

// Accept implements net.Listener.
func (l ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || sameUser(conn) == nil {
			return conn, err
		}
		conn.Close()
	}
}

// ServeHTTP implements http.Handler.
func (s *pageServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch {
	case r.Host != s.address: // a name of somebody else's that leads here
		http.Error(w, "this is not "+s.address, http.StatusMisdirectedRequest)
	case r.URL.Path != "/":
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
	case r.URL.Query().Has("token"):
		s.admit(w, r)
	case !s.knows(r):
		http.Error(w, "this address lets nobody in: start `ompd-inspect view` again, and open what it prints",
			http.StatusForbidden)
	default:
		s.show(w, r)
	}
}

// cookie is the name of what the browser shows. Cookies know no ports, so it has that.
func (s *pageServer) cookie() string {
	_, port, _ := net.SplitHostPort(s.address)
	return "ompd_view_" + port
}

// admit lets the first in who has the token.
func (s *pageServer) admit(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("token")
	if !same(given, s.token) || s.used.Swap(true) {
		http.Error(w, "this address was for one use: start `ompd-inspect view` again", http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie(), Value: s.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// knows reports whether a request is of the browser that was let in.
func (s *pageServer) knows(r *http.Request) bool {
	c, err := r.Cookie(s.cookie())
	return err == nil && same(c.Value, s.secret)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// show shows the page, or why there is none.
func (s *pageServer) show(w http.ResponseWriter, r *http.Request) {
	page, err := s.page(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // who has gone needs no page
}
