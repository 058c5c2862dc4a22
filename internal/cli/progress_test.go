package cli

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgress checks that a long step prints its progress on the standard error from the second second on, and
// not before.
func TestProgress(t *testing.T) {
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	synctest.Test(t, func(*testing.T) {
		tell := (&app{Command: Command{Stderr: stderr}}).progress("unpacking core.zst", "MiB", 1<<20)
		for i := range 26 { // each tenth of a second
			tell(int64(i) << 20)
			<-time.After(time.Second / 10)
		}
	})
	got, err := os.ReadFile(stderr.Name())
	if want := "ompd-inspect: unpacking core.zst: 10 MiB\nompd-inspect: unpacking core.zst: 20 MiB\n"; err != nil ||
		string(got) != want {
		t.Errorf("%q, want %q; %v", got, want, err)
	}
}
