package live

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHeard gets and passes the same signals in several orders. The program gets as many as were
// typed and sent, except those that arrive while one is pending.
func TestHeard(t *testing.T) {
	const s = unix.SIGINT
	for _, c := range []struct {
		// t: the program gets a typed one, k: one that was sent to it; p: this process got one, u:
		// the same while the program has a pending one
		name, order string
		sent        int // expected number of passed signals
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
		h, sent := terminalSignals{}, 0
		for _, r := range c.order {
			switch r {
			case 't', 'k':
				h.noteSignal(s, r == 't')
			default:
				if h.isNews(s, func(unix.Signal) bool { return r == 'u' }) {
					sent++
				}
			}
		}
		if sent != c.sent {
			t.Errorf("%s: %d signals passed on, want %d", c.name, sent, c.sent)
		}
	}
	h := terminalSignals{s: {count: 1, last: time.Now().Add(-2 * passTime)}}
	if !h.isNews(s, func(unix.Signal) bool { return false }) {
		t.Error("a signal is not passed on, as another was typed long before")
	}
}
