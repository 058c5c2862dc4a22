package symbolize

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

const (
	// maxDownload bounds a debug file from a server; the largest of a
	// distribution (browsers, compilers) have some 2 GiB.
	maxDownload = 4 << 30
	// defaultSilence is how long a server may be silent unless the caller
	// says otherwise.
	defaultSilence = 5 * time.Second
	// defaultTotal is how long all downloads of a Symbolizer together may take unless
	// the caller says otherwise: somebody waits for the answer.
	defaultTotal = 2 * time.Minute
)

// servers asks debuginfod servers. It is safe for concurrent use.
type servers struct {
	Debuginfod
	memory    *budget.Ledger
	transport http.RoundTripper // of tests; nil makes one for each question

	mu    sync.Mutex
	down  map[string]bool // servers that did not answer once
	spent time.Duration   // by all downloads
	bytes int64           // of all downloads
}

// newServers fills in what the caller left open.
func newServers(d Debuginfod, l *budget.Ledger) *servers {
	if d.Timeout <= 0 {
		d.Timeout = defaultSilence
	}
	if d.Total <= 0 {
		d.Total = defaultTotal
	}
	if d.Disabled {
		d.URLs = nil
	}
	return &servers{Debuginfod: d, memory: l, down: map[string]bool{}}
}

// fetch returns the debug file with a build ID, from the cache or from a
// server. Nil without an error says that no server has it, or that none is to
// be asked.
func (s *servers) fetch(id []byte) (*debugFile, error) {
	if len(s.URLs) == 0 || len(id) < 2 {
		return nil, nil
	}
	if s.CacheDir != "" {
		if df, err := openDebug(nil, s.memory, s.cached(id), id, 0); err == nil {
			return df, nil
		}
	}
	var errs []error
	for _, url := range s.URLs {
		if s.isDown(url) {
			continue
		}
		df, err := s.get(url, id)
		if df != nil {
			return df, nil
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return nil, errors.Join(errs...)
}

// cached is where the cache keeps the debug file with a build ID.
func (s *servers) cached(id []byte) string {
	return filepath.Join(s.CacheDir, hex.EncodeToString(id), "debuginfo")
}

// isDown reports whether a server did not answer once.
func (s *servers) isDown(url string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down[url]
}

// setDown keeps a server that does not answer from being asked again.
func (s *servers) setDown(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[url] = true
}

// left is what all downloads may still take.
func (s *servers) left() (time.Duration, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Total - s.spent, maxDownload - s.bytes
}

// spend counts what a download took.
func (s *servers) spend(took time.Duration, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent, s.bytes = s.spent+took, s.bytes+n
}

// get asks one server; nil without an error says that it has no such file.
func (s *servers) get(url string, id []byte) (*debugFile, error) {
	rest, most := s.left()
	if rest <= 0 || most <= 0 {
		return nil, fmt.Errorf("%s is not asked: downloading debug files took %v already; what arrived is in the "+
			"cache, so repeat the command for more", url, s.Total)
	}
	began, body := time.Now(), &patient{}
	defer func() { s.spend(time.Since(began), body.n) }()
	ctx, cancel := context.WithTimeoutCause(context.Background(), rest,
		fmt.Errorf("all downloads together took %v, which is the limit", s.Total))
	defer cancel()
	return s.download(ctx, url, id, body, most)
}

// download asks one server and keeps what it sends, most bytes at most.
func (s *servers) download(ctx context.Context, url string, id []byte, body *patient, most int64) (*debugFile, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := fmt.Errorf("silent for %v", s.Timeout)
	timer := time.AfterFunc(s.Timeout, func() { cancel(silent) })
	defer timer.Stop()
	full := fmt.Sprintf("%s/buildid/%x/debuginfo", strings.TrimRight(url, "/"), id)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, full, nil)
	if err != nil {
		return nil, err
	}
	client := clientOf(req)
	if s.transport != nil {
		client.Transport = s.transport
	}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		s.setDown(url)
		return nil, fmt.Errorf("%s does not answer (%w) and is not asked again; --no-debuginfod asks none", url,
			because(ctx, err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, nil
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", full, resp.Status)
	case resp.ContentLength > most:
		return nil, fmt.Errorf("%s: %d bytes are over the limit of %d", full, resp.ContentLength, most)
	}
	body.r, body.alive = resp.Body, func() { timer.Reset(s.Timeout) }
	df, err := s.store(body, resp.ContentLength, most, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", full, because(ctx, err))
	}
	return df, nil
}

// because is the cause of the end of a context, or err if it did not end.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// patient calls alive whenever something was read, and counts it.
type patient struct {
	r     io.Reader
	alive func()
	n     int64
}

// Read reads, and tells that the server is alive if something came.
func (p *patient) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if p.n += int64(n); n > 0 {
		p.alive()
	}
	return n, err
}

// store writes a download to a file without a name, checks it, and then gives it its
// name in the cache: nobody sees half a file there, and nothing is left of one when this
// process is killed. Without a cache the file lives as long as it is open.
func (s *servers) store(body io.Reader, length, most int64, id []byte) (*debugFile, error) {
	var dir, final string
	if s.CacheDir != "" {
		final = s.cached(id)
		dir = filepath.Dir(final)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	tmp, err := nameless(dir)
	if err != nil {
		return nil, err
	}
	defer tmp.Close()
	n, err := io.Copy(tmp, io.LimitReader(body, most+1))
	switch {
	case err != nil:
		return nil, err
	case n > most:
		return nil, fmt.Errorf("over the limit of %d bytes", most)
	case length >= 0 && n != length:
		return nil, fmt.Errorf("%d of %d bytes arrived", n, length)
	}
	open := fmt.Sprintf("/proc/self/fd/%d", tmp.Fd())
	df, err := openDebug(nil, s.memory, open, id, 0)
	if err != nil {
		return nil, err
	}
	if final != "" {
		err := unix.Linkat(unix.AT_FDCWD, open, unix.AT_FDCWD, final, unix.AT_SYMLINK_FOLLOW)
		if errors.Is(err, fs.ErrExist) && os.Remove(final) == nil { // it is damaged, or another came first
			err = unix.Linkat(unix.AT_FDCWD, open, unix.AT_FDCWD, final, unix.AT_SYMLINK_FOLLOW)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) { // as if there were no cache: the file serves once
			return df, nil
		}
		df.path = final
	}
	return df, nil
}

// nameless makes a file without a name in a directory, or in that for temporary files.
func nameless(dir string) (*os.File, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), dir), nil
	}
	f, err := os.CreateTemp(dir, "debuginfo-*.part") // the file system has no such files
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
