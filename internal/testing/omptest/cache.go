package omptest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Limits of a directory of the cache.
const (
	// keepUnused is the time after which an unused entry is removed.
	keepUnused = 3 * 24 * time.Hour
	// keepBytes is the limit of the size on disk: a run of all tests needs a little less.
	keepBytes = 8 << 30
	// keepUsed is the time for which a test may still read an entry: younger ones stay at any size.
	keepUsed = 30 * time.Minute
)

// cacheDir returns the root of all files that this package keeps between runs.
func cacheDir(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv("OMPD_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		tb.Fatalf("no cache directory: set OMPD_CACHE: %v", err)
	}
	return filepath.Join(dir, "ompd-inspect")
}

// keyOf returns a short name for the hash of all inputs.
func keyOf(inputs ...any) string {
	sum := sha256.New()
	for _, in := range inputs {
		fmt.Fprintf(sum, "%v\x00", in)
	}
	return hex.EncodeToString(sum.Sum(nil))[:20]
}

// hashFile returns a hash of a file's content.
func hashFile(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return keyOf(string(data))
}

// cached returns the directory kind/name of the cache. If it is missing, fill writes its content into a new
// directory first, which is then renamed, complete, to its name. One process fills, others wait. A fill that ends
// the test leaves no files.
func cached(tb testing.TB, kind, name string, fill func(dir string)) string {
	tb.Helper()
	Needs(tb, "what the tests are made of")
	parent := filepath.Join(cacheDir(tb), kind)
	final := filepath.Join(parent, name)
	if touch(final) {
		return final
	}
	must(tb, os.MkdirAll(parent, 0o755))
	unlock := lock(tb, filepath.Join(parent, "."+name+".lock"))
	defer unlock()
	if touch(final) {
		return final
	}
	tmp, err := os.MkdirTemp(parent, ".new-"+name+"-")
	must(tb, err)
	defer os.RemoveAll(tmp)
	must(tb, os.Chmod(tmp, 0o755))
	fill(tmp)
	if err := os.Rename(tmp, final); err != nil && !touch(final) {
		tb.Fatal(err)
	}
	return final
}

// touch marks a directory of the cache as used now; false if it is missing.
func touch(dir string) bool {
	now := time.Now()
	return os.Chtimes(dir, now, now) == nil
}

// lock acquires an exclusive lock across processes, and returns a function that releases it.
func lock(tb testing.TB, path string) (unlock func()) {
	tb.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	must(tb, err)
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	must(tb, err)
	return func() { f.Close() }
}

// pruneAfter is the number of bytes on disk that a process adds to the cache before it prunes it again: that visits
// every file of thousands of cores.
const pruneAfter = 1 << 30

var (
	firstPrune sync.Once
	unpruned   atomic.Int64 // bytes on disk that this process has added since it last pruned
)

// addCore prunes the cores of the cache if that is due. The process is adding one of that size on disk.
func addCore(tb testing.TB, size int64) {
	tb.Helper()
	firstPrune.Do(func() { prune(tb, "cores") })
	if unpruned.Add(size) >= pruneAfter {
		unpruned.Store(0)
		prune(tb, "cores")
	}
}

// prune removes entries of a directory of the cache that were unused for a while, including unfinished ones of
// killed processes, and the least recently used ones if all are too big. Lock files stay: another process may
// hold one.
func prune(tb testing.TB, kind string) {
	tb.Helper()
	parent := filepath.Join(cacheDir(tb), kind)
	listed, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	var entries []entry
	for _, d := range listed {
		if info, err := d.Info(); err == nil && d.IsDir() {
			dir := filepath.Join(parent, d.Name())
			entries = append(entries, entry{dir: dir, used: info.ModTime(), size: sizeOf(dir)})
		}
	}
	for _, e := range surplus(entries, time.Now(), keepBytes) {
		// Another process may have used it in the meantime.
		if info, err := os.Stat(e.dir); err == nil && info.ModTime().Equal(e.used) {
			discard(e.dir)
		}
	}
}

// discard removes a directory of the cache such that no process finds a part of it.
func discard(dir string) {
	if gone, err := os.MkdirTemp(filepath.Dir(dir), ".gone-"); err == nil {
		_ = os.Rename(dir, filepath.Join(gone, "entry"))
		os.RemoveAll(gone)
	}
}

// entry is one directory of a kind in the cache.
type entry struct {
	dir  string
	used time.Time
	size int64 // bytes on disk
}

// surplus returns the entries to remove, so that the others take at most limit bytes and are all recent.
func surplus(entries []entry, now time.Time, limit int64) (gone []entry) {
	slices.SortFunc(entries, func(a, b entry) int { return b.used.Compare(a.used) })
	for _, e := range entries {
		age := now.Sub(e.used)
		if limit -= e.size; age > keepUnused || limit < 0 && age > keepUsed {
			gone = append(gone, e)
		}
	}
	return gone
}

// sizeOf returns the size of a directory's files on disk, in bytes: cores are sparse.
func sizeOf(dir string) (bytes int64) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			bytes += onDisk(info)
		}
	}
	return bytes
}

// onDisk returns the size of a file on disk, in bytes.
func onDisk(info os.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Blocks * 512 }

// must ends the test on an error outside the test's subject.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
