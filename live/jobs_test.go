package live

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHeard gets and passes the same signals in several orders: the program gets as many
// as were typed and sent, but for those that come while one is under way.
func TestHeard(t *testing.T) {
	const s = unix.SIGINT
	for _, c := range []struct {
		// t: the program gets one that was typed, k: one that was sent to it; p: this process got one, u: the same
		// while the program has one to come
		name, order string
		sent        int // that are passed on
	}{
		{"in turn", "tptptp", 0},
		{"the program is faster", "tttppp", 0},
		{"this process is faster", "utut", 0},
		{"one overtakes the other", "utttpput", 0},
		{"several at once for the program", "uut", 0},
		{"sent to this process", "pkpk", 2},
		{"typed and sent", "tppk", 1},
		{"sent to the program", "kp", 1},
	} {
		h, sent := heard{}, 0
		for _, r := range c.order {
			switch r {
			case 't', 'k':
				h.got(s, r == 't')
			default:
				if h.pass(s, func(unix.Signal) bool { return r == 'u' }) {
					sent++
				}
			}
		}
		if sent != c.sent {
			t.Errorf("%s: %d signals passed on, want %d", c.name, sent, c.sent)
		}
	}
	h := heard{s: {count: 1, last: time.Now().Add(-2 * passTime)}}
	if !h.pass(s, func(unix.Signal) bool { return false }) {
		t.Error("a signal is not passed on, as another was typed long before")
	}
}
