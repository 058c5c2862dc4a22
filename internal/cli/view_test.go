package cli

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync"
	"testing"
)

// startPages starts a server with the numbers of snapshots as its pages. It returns the count and a function
// that stops the server.
func startPages(t *testing.T, says io.Writer) (s *pageServer, looks *int, ends func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	s = newPageServer(l.Addr().String(), func(context.Context) ([]byte, error) {
		if n++; n > 2 {
			return nil, errors.New("process 7 has ended")
		}
		return []byte("look"), nil
	})
	s.log = log.New(says, "", 0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, l) }()
	ends = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(ends)
	return s, &n, ends
}

// fetch returns the status and the body of a page.
func fetch(t *testing.T, c *http.Client, method, address, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("%s %s: headers %v", method, address, answer.Header)
	}
	return answer.StatusCode, string(b)
}

// newBrowser returns a client that keeps cookies.
func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// TestViewServer admits one browser, once, and shows one page per snapshot; then the reason why it is missing.
func TestViewServer(t *testing.T) {
	s, looks, _ := startPages(t, io.Discard)
	first, second := newBrowser(t), newBrowser(t)
	page := "http://" + s.address + "/"
	refuse := func(what string, c *http.Client, method, address, host string, want int) {
		t.Helper()
		if status, body := fetch(t, c, method, address, host); status != want {
			t.Errorf("%s: status %d, want %d: %s", what, status, want, body)
		}
	}
	refuse("no token", first, "GET", page, "", http.StatusForbidden)
	refuse("another token", first, "GET", page+"?token=x", "", http.StatusForbidden)
	refuse("another name", first, "GET", s.invitation(), "evil.example", http.StatusMisdirectedRequest)
	if status, body := fetch(t, first, "GET", s.invitation(), ""); status != http.StatusOK || body != "look" {
		t.Fatalf("the first: status %d, %s", status, body)
	}
	refuse("the token again", second, "GET", s.invitation(), "", http.StatusForbidden)
	refuse("no cookie", second, "GET", page, "", http.StatusForbidden)
	refuse("to write", first, "POST", page, "", http.StatusMethodNotAllowed)
	refuse("another path", first, "GET", page+"favicon.ico", "", http.StatusNotFound)
	if *looks != 1 {
		t.Errorf("%d looks for one page", *looks)
	}
	refuse("the second page", first, "GET", page, "", http.StatusOK)
	status, body := fetch(t, first, "GET", page, "")
	if status != http.StatusBadGateway || !strings.Contains(body, "has ended") {
		t.Errorf("a process that has ended: status %d, %s", status, body)
	}
}

// TestViewErrors checks that wrong arguments are reported before a snapshot, and that an unreadable target
// opens no browser.
func TestViewErrors(t *testing.T) {
	for args, want := range map[string]string{
		"view":                            "which core or process",
		"view core --interval 10ms":       "at least 1s",
		"view core --listen 0.0.0.0:4711": "--listen 0.0.0.0:4711",
	} {
		status, msg := runTool(t, strings.Fields(args)...)
		if status == ExitOK || !strings.Contains(msg, want) {
			t.Errorf("%s: exit status %d, %s", args, status, msg)
		}
	}
}

// TestViewDefect makes a page panic: the next one is served.
func TestViewDefect(t *testing.T) {
	var text strings.Builder
	s, looks, ends := startPages(t, &text)
	page := s.page
	s.page = func(ctx context.Context) ([]byte, error) {
		if *looks == 1 {
			*looks = 0
			panic("a defect")
		}
		return page(ctx)
	}
	b := newBrowser(t)
	// on a kept connection, a client would repeat the request itself
	b.Transport = &http.Transport{DisableKeepAlives: true}
	if status, body := fetch(t, b, "GET", s.invitation(), ""); status != http.StatusOK || body != "look" {
		t.Fatalf("the first: status %d, %s", status, body)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := b.Do(r); err == nil {
		answer.Body.Close()
		t.Errorf("a page that panics: %s", answer.Status)
	}
	if status, body := fetch(t, b, "GET", "http://"+s.address+"/", ""); status != http.StatusOK || body != "look" {
		t.Errorf("the next: status %d, %s", status, body)
	}
	ends() // stops the writer of the log, too
	if !strings.Contains(text.String(), "a defect") || !strings.Contains(text.String(), "view_test.go") {
		t.Errorf("the log does not say where it was: %s", &text)
	}
}
