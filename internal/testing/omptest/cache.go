package omptest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// What a directory of the cache may hold.
const (
	// keepUnused is how long something that no test has asked for stays.
	keepUnused = 3 * 24 * time.Hour
	// keepBytes is the size on disk of all that stays: a run of all tests makes a
	// little less.
	keepBytes = 8 << 30
	// keepUsed is for how long a test may still read what it has asked for, so
	// that it stays however much there is.
	keepUsed = 30 * time.Minute
)

// cacheDir is the root of everything that this package keeps between runs.
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

// keyOf is a short name for the sum of all inputs.
func keyOf(inputs ...any) string {
	sum := sha256.New()
	for _, in := range inputs {
		fmt.Fprintf(sum, "%v\x00", in)
	}
	return hex.EncodeToString(sum.Sum(nil))[:20]
}

// hashFile is a hash of a file's content.
func hashFile(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return keyOf(string(data))
}

// cached returns the directory kind/name of the cache. If it is not there, fill makes its content
// in a new directory first, which then appears under its name at once and whole. One process fills,
// others wait. A fill that ends the test leaves nothing behind.
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

// touch marks a directory of the cache as used now; false if it is not there.
func touch(dir string) bool {
	now := time.Now()
	return os.Chtimes(dir, now, now) == nil
}

// lock takes an exclusive lock that other processes see, and returns what releases it.
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

// prune removes what is in a directory of the cache and has not been used for a while, also what a
// process that was killed has left half made, and what was used longest ago if all is too much. Lock
// files stay: another process may hold one.
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
		// Another process may have asked for it in the meantime.
		if info, err := os.Stat(e.dir); err == nil && info.ModTime().Equal(e.used) {
			discard(e.dir)
		}
	}
}

// discard removes a directory of the cache so that nobody finds a part of it.
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

// surplus tells which entries have to go, so that the others take at most limit bytes and none of
// them is old.
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

// sizeOf is what the files of a directory take on disk, in bytes: cores are sparse.
func sizeOf(dir string) (bytes int64) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			bytes += onDisk(info)
		}
	}
	return bytes
}

// onDisk is what a file takes on disk, in bytes.
func onDisk(info os.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Blocks * 512 }

// must ends the test on an error that no test can do anything about.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
