package pycode

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
)

// TestPauses reads the record of a pause in its states.
func TestPauses(t *testing.T) {
	const start, interpreter, requester = 0x10000, 0x4000, 0x5555
	threads := []Thread{{Address: requester, State: Attached}, {Address: 0x6666, State: Attached}}
	for _, tt := range []struct {
		name      string
		flags     [4]byte // mutex, requested, reached, global
		countdown uint64
		requester uint64
		found     bool
		reached   bool
		damaged   bool
	}{
		{"none", [4]byte{}, 0, 0, false, false, false},
		{"requested", [4]byte{1, 1}, 1, requester, true, false, false},
		{"requested, others wait for the mutex", [4]byte{3, 1}, 1, requester, true, false, false},
		{"about to be requested", [4]byte{1, 1}, 0, 0, false, false, false},
		{"reached", [4]byte{1, 0, 1}, 0, requester, true, true, false},
		{"by an unknown thread", [4]byte{1, 1}, 1, 0x7777, false, false, true},
		{"without its mutex", [4]byte{0, 1}, 1, requester, false, false, true},
		{"of more threads than there are", [4]byte{1, 1}, 3, requester, false, false, true},
		{"of all interpreters", [4]byte{1, 1, 0, 1}, 1, requester, false, false, true},
		{"no flag", [4]byte{1, 7}, 1, requester, false, false, true},
	} {
		for minor, o := range pauses {
			b := make([]byte, 0x8000)
			l := layout{minor: minor, freeThreaded: true, interpreters: 32, interpreterNext: 24}
			p := &Runtime{mem: callbackstest.Block{Start: start, Bytes: b}, l: l, address: start}
			binary.LittleEndian.PutUint64(b[32:], start+interpreter)
			b[o.inRuntime+pauseGlobal] = 1
			at := interpreter + o.inInterpreter
			copy(b[at:], tt.flags[:])
			binary.LittleEndian.PutUint64(b[at+pauseCountdown:], tt.countdown)
			binary.LittleEndian.PutUint64(b[at+pauseRequester:], tt.requester)
			var want []Pause
			if tt.found {
				want = []Pause{{start + at, tt.requester, tt.reached, start + interpreter}}
			}
			got, err := p.Pauses(threads)
			if !slices.Equal(got, want) || errors.Is(err, ErrDamaged) != tt.damaged {
				t.Errorf("3.%d, %s: %+v, %v; want %+v", minor, tt.name, got, err, want)
			}
			p.l.freeThreaded = false
			if got, err := p.Pauses(threads); got != nil || err != nil {
				t.Errorf("3.%d with a GIL, %s: %+v, %v", minor, tt.name, got, err)
			}
		}
	}
}
