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
)

const (
	// maxDownload bounds a debug file from a server; the largest of a
	// distribution (browsers, compilers) have some 2 GiB.
	maxDownload = 4 << 30
	// defaultSilence is how long a server may be silent unless the caller
	// says otherwise.
	defaultSilence = 5 * time.Second
)

// servers asks debuginfod servers. It is safe for concurrent use.
type servers struct {
	Debuginfod
	client *http.Client

	mu   sync.Mutex
	down map[string]bool // servers that did not answer once
}

// newServers fills in what the caller left open.
func newServers(d Debuginfod) *servers {
	if d.Timeout <= 0 {
		d.Timeout = defaultSilence
	}
	if d.Disabled {
		d.URLs = nil
	}
	return &servers{Debuginfod: d, client: &http.Client{}, down: map[string]bool{}}
}

// fetch returns the debug file with a build ID, from the cache or from a
// server. Nil without an error says that no server has it, or that none is to
// be asked.
func (s *servers) fetch(id []byte) (*debugFile, error) {
	if len(s.URLs) == 0 || len(id) < 2 {
		return nil, nil
	}
	if s.CacheDir != "" {
		if df, err := openDebug(s.cached(id), id, 0); err == nil {
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

// isDown tells whether a server did not answer once.
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

// get asks one server; nil without an error says that it has no such file.
func (s *servers) get(url string, id []byte) (*debugFile, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	silent := fmt.Errorf("silent for %v", s.Timeout)
	timer := time.AfterFunc(s.Timeout, func() { cancel(silent) })
	defer timer.Stop()
	full := fmt.Sprintf("%s/buildid/%x/debuginfo", strings.TrimRight(url, "/"), id)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, full, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.setDown(url)
		return nil, fmt.Errorf("%s does not answer (%w) and is not asked again; --no-debuginfod asks none", url, because(ctx, err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, nil
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", full, resp.Status)
	case resp.ContentLength > maxDownload:
		return nil, fmt.Errorf("%s: %d bytes are over the limit of %d", full, resp.ContentLength, int64(maxDownload))
	}
	body := &patient{resp.Body, func() { timer.Reset(s.Timeout) }}
	df, err := s.store(body, resp.ContentLength, id)
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

// patient calls alive whenever something was read.
type patient struct {
	r     io.Reader
	alive func()
}

// Read reads, and tells that the server is alive if something came.
func (p *patient) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.alive()
	}
	return n, err
}

// store writes a download to a file of its own, checks it, and then gives it
// its name in the cache: nobody sees half a file there. Without a cache the
// file loses its name and lives as long as it is open.
func (s *servers) store(body io.Reader, length int64, id []byte) (*debugFile, error) {
	var dir, final string
	if s.CacheDir != "" {
		final = s.cached(id)
		dir = filepath.Dir(final)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	tmp, err := os.CreateTemp(dir, "debuginfo-*.part")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	n, err := io.Copy(tmp, io.LimitReader(body, maxDownload+1))
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	switch {
	case err != nil:
		return nil, err
	case n > maxDownload:
		return nil, fmt.Errorf("over the limit of %d bytes", int64(maxDownload))
	case length >= 0 && n != length:
		return nil, fmt.Errorf("%d of %d bytes arrived", n, length)
	}
	df, err := openDebug(tmp.Name(), id, 0)
	if err != nil {
		return nil, err
	}
	if final != "" {
		if err := os.Rename(tmp.Name(), final); err != nil && !errors.Is(err, fs.ErrExist) {
			df.closer.Close()
			return nil, err
		}
		df.path = final
	}
	return df, nil
}
