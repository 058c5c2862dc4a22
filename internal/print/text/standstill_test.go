package text

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestStandstill checks that an automatic report states its reason.
func TestStandstill(t *testing.T) {
	for _, c := range []struct {
		still picture.Standstill
		want  string
	}{
		{picture.Standstill{Seconds: 20.04}, "no progress for 20.0 s, which is why this report was written: no " +
			"thread ran\n"},
		{picture.Standstill{Seconds: 2, WaitsOutside: true},
			"no thread ran; it waits for another process, or for input\n"},
		{picture.Standstill{Seconds: 2, Spinning: []picture.Spin{{LWP: 7, CPUSeconds: 1.5}, {LWP: 9, CPUSeconds: 2}}},
			"2 threads used 3.5 s of CPU time without making progress: LWP 7, 9\n"},
	} {
		var b strings.Builder
		p := New(&b, false, NoLimit)
		header{p, &picture.Picture{}}.printStandstill(&c.still)
		if !strings.HasSuffix(b.String(), c.want) {
			t.Errorf("%q, want %q", b.String(), c.want)
		}
	}
}
