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

// maxRedirects bounds the redirects of one request.
const maxRedirects = 5

// errInside refuses a redirect into the user's network.
var errInside = errors.New("a redirect to an address of this machine or of a private network is not followed")

// clientOf returns a client for one request. A server can redirect it, but not to another scheme
// (other than from http to https). It cannot redirect it to this machine or a private network
// either, unless the server is there itself: the user did not ask for a service there.
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
		return c // the proxy decides which hosts may be reached
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.DialContext = (&dialer{server: hostPort(req)}).connect
	c.Transport = t
	return c
}

// hostPort returns the address of a request as a dialer gets it.
func hostPort(req *http.Request) string {
	if req.URL.Port() != "" {
		return req.URL.Host
	}
	return net.JoinHostPort(req.URL.Hostname(), map[string]string{"http": "80", "https": "443"}[req.URL.Scheme])
}

// dialer connects to the server of a request, and to redirect targets.
type dialer struct {
	server string
	inside atomic.Bool // the server has an address of this machine or of a private network
}

func (d *dialer) connect(ctx context.Context, network, address string) (net.Conn, error) {
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

// isInside reports whether an address is of this machine or of a private network; unknown ones
// count as such.
func isInside(ip net.IP) bool {
	return ip == nil || ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() ||
		ip.IsMulticast() || isShared(ip)
}

// isShared reports whether an address is in the shared range of providers and clouds
// (100.64.0.0/10, RFC 6598).
func isShared(ip net.IP) bool {
	v4 := ip.To4()
	return v4 != nil && v4[0] == 100 && v4[1]&0xc0 == 64
}
