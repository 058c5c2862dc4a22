package waits

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestStatesWait checks that a state of runtime readers waits exactly if its word does.
func TestStatesWait(t *testing.T) {
	for _, s := range handles.States() {
		if got := s.Name().Waits(); got != s.Waiting() || s.String() != string(s.Name()) {
			t.Errorf("state %v waits: %v, want %v", s, got, s.Waiting())
		}
	}
	if got := handles.State(0x7ff).Name(); got != picture.StateUndefined {
		t.Errorf("a state that the specification lacks is %s", got)
	}
}

// TestWaitKinds checks that each kind of wait has one row, with a phrase and a state.
func TestWaitKinds(t *testing.T) {
	seen := map[picture.WaitKind]bool{}
	for _, row := range picture.WaitKinds() {
		if seen[row.Kind] || row.Phrase == "" || row.State == "" || row.Need == "" {
			t.Errorf("%+v", row)
		}
		seen[row.Kind] = true
	}
	if len(seen) < 23 {
		t.Errorf("only %d kinds", len(seen))
	}
}
