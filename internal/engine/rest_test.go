package engine

import (
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestRestAfter checks the time to the next sample: the mean cost of the last samples is a 50th of it.
func TestRestAfter(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		costs []cost
		share float64
		want  time.Duration
	}{
		{nil, 1, leastRest},
		{[]cost{{ms / 10, 9 * ms}}, 0, leastRest},
		{[]cost{{ms, 9 * ms}}, 0, 50 * ms},
		{[]cost{{ms, 9 * ms}}, 1, 500 * ms},
		{[]cost{{ms, 10 * ms}, {3 * ms, 30 * ms}}, .5, 600 * ms},
		{[]cost{{ms, 0}, {ms, 0}, {ms, 0}, {37 * ms, 0}}, 1, 500 * ms}, // one long stop
		{[]cost{{time.Second, 0}}, 1, mostRest},
	} {
		omptest.Equal(t, "rest", restAfter(c.costs, c.share), c.want)
	}
}
