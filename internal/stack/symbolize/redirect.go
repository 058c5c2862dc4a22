package symbolize

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
)

// maxRedirects bounds how often a server may send a question elsewhere.
const maxRedirects = 5

// errInside refuses a redirect into the network that the user is in.
var errInside = errors.New("a redirect to an address of this machine or of a private network is not followed")

// clientOf is a client for one question. A server can send it elsewhere, but neither to
// another scheme (other than from http to https) nor, unless the server is there itself,
// to this machine or a private network: what answers there was not asked by the user.
func clientOf(req *http.Request) *http.Client {
	c := &http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case len(via) > maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		case to.URL.Scheme != via[0].URL.Scheme && to.URL.Scheme != "https":
			return fmt.Errorf("a redirect from %s to %s is not followed", via[0].URL.Scheme, to.URL.Scheme)
		}
		return nil
	}}
	if proxy, err := http.ProxyFromEnvironment(req); err != nil || proxy != nil {
		return c // the proxy says what may be reached
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.DialContext = (&dialer{server: hostPort(req)}).dial
	c.Transport = t
	return c
}

// hostPort is the address that a question goes to, as a dialer gets it.
func hostPort(req *http.Request) string {
	if req.URL.Port() != "" {
		return req.URL.Host
	}
	return net.JoinHostPort(req.URL.Hostname(), map[string]string{"http": "80", "https": "443"}[req.URL.Scheme])
}

// dialer connects to the server of a question, and to where that sends it.
type dialer struct {
	server string
	inside atomic.Bool // the server has an address of this machine or of a private network
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var plain net.Dialer
	if address == d.server {
		c, err := plain.DialContext(ctx, network, address)
		if err == nil {
			host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			d.inside.Store(isInside(net.ParseIP(host)))
		}
		return c, err
	}
	plain.Control = func(_, resolved string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(resolved)
		if ip := net.ParseIP(host); err != nil || isInside(ip) && !d.inside.Load() {
			return errInside
		}
		return nil
	}
	return plain.DialContext(ctx, network, address)
}

// isInside reports whether an address is of this machine or of a private network; one
// that cannot be told counts as such.
func isInside(ip net.IP) bool {
	return ip == nil || ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() ||
		ip.IsMulticast() || isShared(ip)
}

// isShared reports whether an address is of those that providers and clouds use inside
// (100.64.0.0/10, RFC 6598).
func isShared(ip net.IP) bool {
	v4 := ip.To4()
	return v4 != nil && v4[0] == 100 && v4[1]&0xc0 == 64
}
