package libgomp_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// checkStates holds states against those that the program put its threads in,
// and locks against the program's variables. What GCC's code does not tell apart,
// the runtime's state does not either.
func (s *subject) checkStates(t *testing.T) {
	w := newWitness(t, s)
	for _, want := range s.truth.Threads {
		h, ok := s.threads[want.LWP]
		if !ok || want.State == "" {
			continue
		}
		st, err := s.State(h, w.evidence(t, want.LWP))
		if err != nil || !fits(st.State.String(), want.State) || st.Evidence == "" || st.Tracked {
			t.Errorf("LWP %d: state %v (%s, %v), the program says %s", want.LWP, st.State, st.Evidence, err, want.State)
		}
		if want.WaitID != 0 && (st.WaitID != uint64(want.WaitID) || st.WaitVariable != uint64(want.WaitID)) {
			t.Errorf("LWP %d: waits for %#x, variable %#x; the program says %#x (%s)", want.LWP, st.WaitID, st.WaitVariable, uint64(want.WaitID), st.Evidence)
		}
		bare, err := s.State(h, nil)
		if err != nil || bare.Evidence == "" {
			t.Errorf("LWP %d without evidence: %v (%s, %v)", want.LWP, bare.State, bare.Evidence, err)
		}
		t.Logf("LWP %d: %v wait %#x %s variable %#x (%#x): %s BARE %v %s", want.LWP, st.State, st.WaitID, st.WaitKind,
			st.WaitVariable, uint64(want.WaitID), st.Evidence, bare.State, bare.Evidence)
	}
}

func fits(got, want string) bool {
	switch want {
	case "wait_barrier_explicit", "wait_barrier_implicit_workshare":
		return got == want || got == "wait_barrier"
	}
	return got == want
}

// checkSleepers checks what the words that threads sleep on tell alone, where
// nothing tells the runtime's frames from the program's.
func (s *subject) checkSleepers(t *testing.T) {
	w := newWitness(t, s)
	for _, want := range s.truth.Threads {
		h, ok := s.threads[want.LWP]
		if !ok || want.State == "" {
			continue
		}
		ev := w.evidence(t, want.LWP)
		st, err := s.State(h, ev)
		switch want.State {
		case "wait_critical", "wait_lock", "wait_ordered", "": // the runtime's own locks are not known
			ok = st.State == rtl.StateUndefined || st.State.String() == want.State
		default:
			ok = fits(st.State.String(), want.State)
		}
		if err != nil || !ok || st.Evidence == "" {
			t.Errorf("LWP %d: state %v (%s, %v), the program says %s; futex %v", want.LWP, st.State, st.Evidence, err, want.State, ev.Futex)
		}
	}
}
