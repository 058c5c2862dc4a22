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
	token   string      // admits a browser, once
	used    atomic.Bool // whether the token was used
	secret  string      // the browser's cookie from then on
	log     *log.Logger // errors; a page that panics ends its connection
}

// newPageServer returns the server of a page at an address.
func newPageServer(address string, page func(context.Context) ([]byte, error)) *pageServer {
	return &pageServer{address: address, page: page, token: rand.Text(), secret: rand.Text()}
}

// invitation returns the URL to open.
func (s *pageServer) invitation() string {
	u := url.URL{Scheme: "http", Host: s.address, Path: "/", RawQuery: url.Values{"token": {s.token}}.Encode()}
	return u.String()
}

// Limits of a browser's requests.
const (
	maxPageHeader  = 16 << 10
	pageHeaderTime = 10 * time.Second
	pageIdleTime   = time.Minute // between two requests of a connection
)

// serve serves until ctx is canceled.
func (s *pageServer) serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s, MaxHeaderBytes: maxPageHeader, ReadHeaderTimeout: pageHeaderTime, ReadTimeout: pageHeaderTime,
		IdleTimeout: pageIdleTime,
		ErrorLog:    s.log, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
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
	case r.Host != s.address: // a foreign host name that resolves to this address
		http.Error(w, "this is not "+s.address, http.StatusMisdirectedRequest)
	case r.URL.Path != "/":
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "this page is read-only", http.StatusMethodNotAllowed)
	case r.URL.Query().Has("token"):
		s.admit(w, r)
	case !s.isAdmitted(r):
		http.Error(w, "this address has no valid token: start `ompd-inspect view` again, and open the address that "+
			"it prints",
			http.StatusForbidden)
	default:
		s.show(w, r)
	}
}

// cookie returns the name of the browser's cookie. It contains the port, because cookies are shared between
// ports.
func (s *pageServer) cookie() string {
	_, port, _ := net.SplitHostPort(s.address)
	return "ompd_view_" + port
}

// admit admits the first browser with the token.
func (s *pageServer) admit(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("token")
	if !same(given, s.token) || s.used.Swap(true) {
		http.Error(w, "this address works only once: start `ompd-inspect view` again", http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie(), Value: s.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// isAdmitted reports whether a request is from the admitted browser.
func (s *pageServer) isAdmitted(r *http.Request) bool {
	c, err := r.Cookie(s.cookie())
	return err == nil && same(c.Value, s.secret)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// show shows the page, or the reason why it is missing.
func (s *pageServer) show(w http.ResponseWriter, r *http.Request) {
	page, err := s.page(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // the browser may have disconnected
}
