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
	// maxDownload bounds a debug file from a server, in bytes; the largest of a distribution
	// (browsers, compilers) have some 2 GiB.
	maxDownload = 4 << 30
	// defaultSilence is the default of Debuginfod.Timeout.
	defaultSilence = 5 * time.Second
	// defaultTotal is the default of Debuginfod.Total; a user waits for the answer.
	defaultTotal = 2 * time.Minute
)

// servers requests files from debuginfod servers. It is safe for concurrent use.
type servers struct {
	Debuginfod
	memory    *budget.Ledger
	transport http.RoundTripper // set by tests; nil makes one for each request

	mu    sync.Mutex
	down  map[string]bool // servers that failed to answer
	spent time.Duration   // by all downloads
	bytes int64           // of all downloads
}

// newServers applies the defaults to unset options.
func newServers(d Debuginfod, l *budget.Ledger) *servers {
	if d.Timeout <= 0 {
		d.Timeout = defaultSilence
	}
	if d.Total <= 0 {
		d.Total = defaultTotal
	}
	return &servers{Debuginfod: d, memory: l, down: map[string]bool{}}
}

// fetch returns the debug file with a build ID, from the cache or from a server. It returns nil
// without an error if no server has it, or if no server may be used.
func (s *servers) fetch(id []byte) (*debugFile, error) {
	if len(s.URLs) == 0 || len(id) < 2 {
		return nil, nil
	}
	if s.CacheDir != "" {
		if df, err := openDebug(nil, s.memory, s.cachePath(id), id, 0); err == nil {
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

// cachePath returns the path of the debug file with a build ID in the cache.
func (s *servers) cachePath(id []byte) string {
	return filepath.Join(s.CacheDir, hex.EncodeToString(id), "debuginfo")
}

// isDown reports whether a server failed to answer.
func (s *servers) isDown(url string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down[url]
}

// setDown marks a server as not to be used again.
func (s *servers) setDown(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[url] = true
}

// remaining returns the remaining time and bytes of all downloads.
func (s *servers) remaining() (time.Duration, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Total - s.spent, maxDownload - s.bytes
}

// spend adds the time and bytes of a download.
func (s *servers) spend(took time.Duration, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent, s.bytes = s.spent+took, s.bytes+n
}

// get requests a file from one server; it returns nil without an error if the server does not have
// it.
func (s *servers) get(url string, id []byte) (*debugFile, error) {
	rest, most := s.remaining()
	const again = "what arrived is in the cache, so repeat the command for more"
	if rest <= 0 {
		return nil, fmt.Errorf("%s is not asked: downloading debug files took %v already; %s", url, s.Total, again)
	}
	if most <= 0 {
		return nil, fmt.Errorf("%s is not asked: %d MiB of debug files were downloaded already; %s", url,
			maxDownload>>20, again)
	}
	began, body := time.Now(), &patient{}
	defer func() { s.spend(time.Since(began), body.n) }()
	ctx, cancel := context.WithTimeoutCause(context.Background(), rest,
		fmt.Errorf("all downloads together took %v, which is the limit", s.Total))
	defer cancel()
	return s.download(ctx, url, id, body, most)
}

// download requests a file from one server and stores the response, at most most bytes.
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
			contextCause(ctx, err))
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
		return nil, fmt.Errorf("%s: %w", full, contextCause(ctx, err))
	}
	return df, nil
}

// contextCause returns the cause of the end of a context, or err if it did not end.
func contextCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// patient calls alive after each successful read, and counts bytes.
type patient struct {
	r     io.Reader
	alive func()
	n     int64
}

// Read reads, and reports that the server is alive if it read anything.
func (p *patient) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if p.n += int64(n); n > 0 {
		p.alive()
	}
	return n, err
}

// store writes a download to an unnamed file, checks it, and then links it into the cache. So the
// cache never has a partial file, and no file remains if this process is killed. Without a cache
// the file exists as long as it is open.
func (s *servers) store(body io.Reader, length, most int64, id []byte) (*debugFile, error) {
	var dir, final string
	if s.CacheDir != "" {
		final = s.cachePath(id)
		dir = filepath.Dir(final)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	tmp, err := createUnnamed(dir)
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
		if errors.Is(err, fs.ErrExist) && os.Remove(final) == nil { // a damaged file, or another process was first
			err = unix.Linkat(unix.AT_FDCWD, open, unix.AT_FDCWD, final, unix.AT_SYMLINK_FOLLOW)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) { // use the file once, without the cache
			return df, nil
		}
		df.path = final
	}
	return df, nil
}

// createUnnamed creates a file without a name in a directory, or in that for temporary files.
func createUnnamed(dir string) (*os.File, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), dir), nil
	}
	f, err := os.CreateTemp(dir, "debuginfo-*.part") // the file system does not support O_TMPFILE
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
