package omptest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPrune checks the entries that the cache removes: old ones, and the oldest if all are too much, but never
// those that a test may be reading.
func TestPrune(t *testing.T) {
	now := time.Now()
	entries := []entry{
		{dir: "stale", used: now.Add(-4 * 24 * time.Hour), size: 1},
		{dir: "first", used: now.Add(-3 * time.Hour), size: 30},
		{dir: "second", used: now.Add(-2 * time.Hour), size: 30},
		{dir: "used", used: now.Add(-time.Minute), size: 30},
	}
	for _, c := range []struct {
		limit int64
		gone  string
	}{{1000, "stale"}, {90, "stale"}, {89, "first stale"}, {59, "second first stale"}, {1, "second first stale"}} {
		var gone string
		for _, e := range surplus(entries, now, c.limit) {
			gone += " " + e.dir
		}
		if gone != " "+c.gone {
			t.Errorf("at most %d bytes: %q go, want %q", c.limit, gone, c.gone)
		}
	}
}

// TestPruneDirectory checks the same on directories, and that sizes are those on disk.
func TestPruneDirectory(t *testing.T) {
	t.Setenv("OMPD_CACHE", t.TempDir())
	fill := func(dir string) {
		f, err := os.Create(filepath.Join(dir, "core"))
		must(t, err)
		defer f.Close()
		must(t, f.Truncate(2*keepBytes)) // sparse
	}
	old, recent := cached(t, "cores", "old", fill), cached(t, "cores", "recent", fill)
	then := time.Now().Add(-keepUnused - time.Hour)
	must(t, os.Chtimes(old, then, then))
	hour := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(recent, hour, hour))
	prune(t, "cores")
	if _, err := os.Stat(old); err == nil {
		t.Error("what was not used for days is there")
	}
	if _, err := os.Stat(recent); err != nil {
		t.Errorf("a sparse file counts as if it were full: %v", err)
	}
}

// TestSetFailedAside requires that a core with a failed test of an earlier process is made again, and that the
// old one is kept for inspection. A core with a failed test of this process stays, as other tests may be reading
// it.
func TestSetFailedAside(t *testing.T) {
	root := t.TempDir()
	t.Setenv("OMPD_CACHE", root)
	dir := filepath.Join(root, "cores", "key")
	mark := filepath.Join(dir, failedMark)
	must(t, os.MkdirAll(dir, 0o755))
	setFailedAside(t, "key")
	must(t, os.WriteFile(mark, nil, 0o644))
	setFailedAside(t, "key")
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("it was moved while a test may read it: %v", err)
	}
	before := begun.Add(-time.Second)
	must(t, os.Chtimes(mark, before, before))
	setFailedAside(t, "key")
	aside, err := filepath.Glob(filepath.Join(root, "cores", "failed-key-*", failedMark))
	if _, gone := os.Stat(dir); err != nil || len(aside) != 1 || gone == nil {
		t.Errorf("moved to %q (%v), still there: %t", aside, err, gone == nil)
	}
}
