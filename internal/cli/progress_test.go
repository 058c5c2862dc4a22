package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgress checks that a long step prints its progress from the second second on, and not before, with the
// time left if the finished part is known.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		total int // 0: unknown
		want  string
	}{
		{0, "ompd-inspect: unpacking core.zst: 10 MiB\nompd-inspect: unpacking core.zst: 20 MiB\n"},
		{40, "ompd-inspect: unpacking core.zst: 10 MiB, about 3s left\n" +
			"ompd-inspect: unpacking core.zst: 20 MiB, about 2s left\n"},
	} {
		var got strings.Builder
		synctest.Test(t, func(*testing.T) {
			report := printProgress(&got, "unpacking core.zst", "MiB", 1<<20)
			for i := range 26 { // each tenth of a second
				part := 0.0
				if c.total > 0 {
					part = float64(i) / float64(c.total)
				}
				report(int64(i)<<20, part)
				<-time.After(time.Second / 10)
			}
		})
		if got.String() != c.want {
			t.Errorf("of %d: %q, want %q", c.total, got.String(), c.want)
		}
	}
}

// TestElapsed requires a line each second, with the limit if there is one, and none after the end.
func TestElapsed(t *testing.T) {
	for limit, want := range map[time.Duration]string{
		0: "ompd-inspect: inspecting core.7: 1s\nompd-inspect: inspecting core.7: 2s\n",
		10 * time.Second: "ompd-inspect: inspecting core.7: 1s of at most 10s of CPU time\n" +
			"ompd-inspect: inspecting core.7: 2s of at most 10s of CPU time\n",
	} {
		var got strings.Builder
		synctest.Test(t, func(*testing.T) {
			stop := printElapsed(&got, "inspecting core.7", limit)
			<-time.After(2500 * time.Millisecond)
			stop()
			<-time.After(time.Minute)
		})
		if got.String() != want {
			t.Errorf("limit %v: %q, want %q", limit, got.String(), want)
		}
	}
}
