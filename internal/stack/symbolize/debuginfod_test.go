package symbolize

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// startServer starts a server that answers /buildid/ID/debuginfo with handle and counts the requests.
func startServer(t *testing.T, id string, handle http.HandlerFunc) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method != http.MethodGet || r.URL.Path != "/buildid/"+id+"/debuginfo" {
			t.Errorf("asked for %s %s", r.Method, r.URL)
		}
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// serverOptions returns options that use only servers.
func serverOptions(t *testing.T, cache string, urls ...string) Options {
	return Options{DebugDirs: []string{t.TempDir()}, Debuginfod: Debuginfod{URLs: urls, CacheDir: cache,
		Timeout: time.Minute}}
}

// strippedAlone returns a program, its stripped copy, alone in its directory, and its debug file.
func strippedAlone(t *testing.T) (full, stripped, debug string) {
	t.Helper()
	full = compileProgram(t)
	made, debug := stripProgram(t, full)
	return full, copyFile(t, made, filepath.Join(t.TempDir(), "small")), debug
}

func TestDebuginfod(t *testing.T) {
	full, stripped, debug := strippedAlone(t)
	id := buildID(t, full)
	none, askedNone := startServer(t, id, http.NotFound)
	url, asked := startServer(t, id, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, debug) })
	cache := t.TempDir()
	o := serverOptions(t, cache, none, url+"/")
	s := openWith(t, o, loadModule(t, stripped, bias))
	if asked.Load() != 0 {
		t.Error("a server was asked before anything was needed")
	}
	sameFrames(t, full, s, openSymbolizer(t, full))
	noWarnings(t, s)
	if asked.Load() != 1 || askedNone.Load() != 1 {
		t.Errorf("the servers were asked %d and %d times, want once each", askedNone.Load(), asked.Load())
	}
	wantCache(t, cache, filepath.Join(id, "debuginfo"))

	s = openWith(t, o, loadModule(t, stripped, bias))
	sameFrames(t, full, s, openSymbolizer(t, full))
	if asked.Load() != 1 {
		t.Error("the server was asked for what the cache has")
	}

	o.Debuginfod.URLs = nil
	s = openWith(t, o, loadModule(t, stripped, bias))
	wantNothing(t, s, full)

	s = openWith(t, serverOptions(t, "", url), loadModule(t, stripped, bias))
	sameFrames(t, full, s, openSymbolizer(t, full))
	if asked.Load() != 2 {
		t.Errorf("without a cache the server was asked %d times, want 1", asked.Load()-1)
	}
}

// TestDebuginfodForNames checks that servers are not used for names that the module exports, nor
// for symbols of any module.
func TestDebuginfodForNames(t *testing.T) {
	lib := compile(t, "small.cc", "clang++-16", "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id=sha1")
	made, _ := stripProgram(t, lib)
	stripped := copyFile(t, made, filepath.Join(t.TempDir(), "small"))
	url, asked := startServer(t, buildID(t, lib), http.NotFound)
	s := openWith(t, serverOptions(t, "", url), loadModule(t, stripped, bias))
	if f, err := s.Function(addressOf(t, lib, "c_name") + 1); err != nil || f.Function != "c_name" ||
		f.Source != SourceDynsym {
		t.Errorf("c_name: %+v, %v", f, err)
	}
	if _, ok := s.Lookup("no_such_symbol", ""); ok || asked.Load() != 0 {
		t.Errorf("found %v, server asked %d times; want neither", ok, asked.Load())
	}
	if _, ok := s.Lookup("no_such_symbol", "small"); ok || asked.Load() != 1 {
		t.Errorf("found %v, server asked %d times; want once for a module that is named", ok, asked.Load())
	}
}

func TestDebuginfodTroubles(t *testing.T) {
	full, stripped, debug := strippedAlone(t)
	b, err := os.ReadFile(debug)
	if err != nil {
		t.Fatal(err)
	}
	other := compileProgram(t, "-DOTHER", "-O2")
	for name, tt := range map[string]struct {
		handle  http.HandlerFunc
		warning string
	}{
		"not found": {http.NotFound, "install"},
		"error": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "sorry", http.StatusBadGateway) },
			"502 Bad Gateway"},
		"wrong build ID": {func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, other) },
			"belongs to another build"},
		"not a program": {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>login please</html>")) },
			"not an ELF file"},
		"truncated": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			w.Write(b[:1000])
		}, "unexpected EOF"},
		"cut without a length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Write(b[:40])
			w.(http.Flusher).Flush()
		}, "ELF file is truncated"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999999")
			w.WriteHeader(http.StatusOK)
		}, "over the limit"},
		"redirects to itself": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path,
				http.StatusFound)
		},
			"more than 5 redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			url, _ := startServer(t, buildID(t, full), tt.handle)
			s := openWith(t, serverOptions(t, cache, url), loadModule(t, stripped, bias))
			wantNothing(t, s, full)
			wantWarning(t, s, tt.warning)
			wantCache(t, cache)
		})
	}
}

// pipes is a listener with pipes of this process as connections.
type pipes chan net.Conn

func (c pipes) Accept() (net.Conn, error) {
	conn, ok := <-c
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (c pipes) Close() error   { close(c); return nil }
func (c pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// dial connects the client.
func (c pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	c <- theirs
	return ours, nil
}

// TestDebuginfodSilence has servers that stop: before the answer, and within. Time passes only when
// all goroutines wait.
func TestDebuginfodSilence(t *testing.T) {
	full, stripped, debug := strippedAlone(t)
	b, err := os.ReadFile(debug)
	if err != nil {
		t.Fatal(err)
	}
	first, second := loadModule(t, stripped, bias), loadModule(t, stripped, 2*bias)
	for name, head := range map[string]int{"at once": 0, "within": 1000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, done, near := 0, make(chan struct{}), make(pipes)
				silent := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked++
					if head > 0 {
						w.Write(b[:head])
						w.(http.Flusher).Flush()
					}
					<-done
				})}
				go silent.Serve(near)
				s := openWith(t, serverOptions(t, t.TempDir(), "http://silent"), first, second)
				s.finder.servers.transport = &http.Transport{DialContext: near.dial, DisableKeepAlives: true}
				wantNothing(t, s, full)
				wantWarning(t, s, "silent for 1m0s")
				if head == 0 {
					s.Code(addressOf(t, full, "main") + bias)
					wantWarning(t, s, "is not asked again; --no-debuginfod asks none")
				}
				close(done)
				silent.Shutdown(t.Context())
				if asked != 1 {
					t.Errorf("a silent server was asked %d times, want once", asked)
				}
			})
		})
	}
}

// TestDebuginfodSlow has a server that always sends and never ends.
func TestDebuginfodSlow(t *testing.T) {
	full, stripped, _ := strippedAlone(t)
	mod := loadModule(t, stripped, bias)
	synctest.Test(t, func(t *testing.T) {
		near, began := make(pipes), time.Now()
		slow := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				w.Write([]byte{0})
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.NewTimer(2 * time.Second).C:
				}
			}
		})}
		go slow.Serve(near)
		cache := t.TempDir()
		s := openWith(t, serverOptions(t, cache, "http://slow"), mod)
		s.finder.servers.transport = &http.Transport{DialContext: near.dial, DisableKeepAlives: true}
		wantNothing(t, s, full)
		wantWarning(t, s, "all downloads together took 2m0s, which is the limit")
		if took := time.Since(began); took < 2*time.Minute || took > 3*time.Minute {
			t.Errorf("it took %v, want 2 minutes", took)
		}
		wantCache(t, cache)
		slow.Shutdown(t.Context())
	})
}

// TestDebuginfodLimits has downloads reach the limit of bytes or that of time: the message names the limit.
func TestDebuginfodLimits(t *testing.T) {
	full, stripped, _ := strippedAlone(t)
	for _, tt := range []struct {
		took    time.Duration
		bytes   int64
		warning string
	}{
		{time.Second, maxDownload, "4096 MiB of debug files were downloaded already"},
		{time.Minute, 1, "downloading debug files took 1m0s already"},
	} {
		url, asked := startServer(t, buildID(t, full), http.NotFound)
		o := serverOptions(t, "", url)
		o.Debuginfod.Total = time.Minute
		s := openWith(t, o, loadModule(t, stripped, bias))
		s.finder.servers.spend(tt.took, tt.bytes)
		wantNothing(t, s, full)
		wantWarning(t, s, tt.warning)
		if asked.Load() != 0 {
			t.Errorf("%s: the server was asked %d times", tt.warning, asked.Load())
		}
	}
}

// TestRedirects checks to which servers a server may redirect a request.
func TestRedirects(t *testing.T) {
	request := func(url string) *http.Request {
		r, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"http://a/", "http://b/", true}, {"http://a/", "https://b/", true}, {"https://a/", "https://b/", true},
		{"https://a/", "http://a/", false}, {"http://a/", "file:///etc/passwd", false},
	} {
		err := clientOf(request(c.from)).CheckRedirect(request(c.to), []*http.Request{request(c.from)})
		if (err == nil) != c.ok {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here := l.Addr().String()
	if _, err := (&dialer{server: "debuginfod.example:443"}).connect(t.Context(), "tcp", here); !errors.Is(err,
		errInside) {
		t.Errorf("from a server elsewhere to this machine: %v", err)
	}
	own := &dialer{server: here}
	for range 2 {
		c, err := own.connect(t.Context(), "tcp", here)
		if err != nil {
			t.Fatalf("to the server itself: %v", err)
		}
		c.Close()
		own.server = "127.0.0.1:1" // from a server here to another port here
	}
}

func TestDebuginfodNobodyThere(t *testing.T) {
	full, stripped, _ := strippedAlone(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := openWith(t, serverOptions(t, "", gone.URL, "http://[bad"), loadModule(t, stripped, bias))
	wantNothing(t, s, full)
	wantWarning(t, s, "connection refused")
}

// wantCache checks that a cache has exactly the given files, at most one.
func wantCache(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, strings.TrimPrefix(p, dir+"/"))
		}
		return err
	})
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the cache has %q, want %q", got, want)
	}
}
