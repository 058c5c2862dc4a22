package rtltest

import (
	"maps"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// checkTasks counts the explicit tasks of all regions by kind, state, thread, and, if the runtime stores it,
// line.
func (s *Subject) checkTasks(t *testing.T) {
	type key struct {
		kind  picture.TaskKind
		state picture.TaskState
		line  int
		lwp   int
	}
	lwps := map[handles.Thread]int{}
	regions := map[handles.Parallel]bool{}
	for lwp, h := range s.ByLWP {
		lwps[h] = lwp
		if _, err := s.CurrentParallel(h); err == nil {
			for _, p := range s.Regions(t, h) {
				regions[p] = true
			}
		}
	}
	got := map[key]int{}
	for p := range regions {
		for h, err := range s.ExplicitTasks(p) {
			if err != nil {
				t.Error(err)
				continue
			}
			info, err := s.Task(h)
			if err != nil {
				t.Error(err)
			}
			k := key{kind: info.Kind, state: info.State, lwp: lwps[info.Thread]}
			if s.Expect.Sources {
				k.line = info.Source.Line
			}
			got[k]++
		}
	}
	want := map[key]int{}
	for _, w := range s.Truth.Tasks {
		k := key{kind: picture.TaskKind(w.Kind), state: picture.TaskState(w.State), lwp: w.LWP}
		if s.Expect.Sources {
			k.line = w.Line
		}
		want[k] += w.Count
	}
	if !maps.Equal(got, want) {
		t.Errorf("tasks %v, want %v", got, want)
	}
}

// checkStates compares states with those of the program's threads, and locks with the program's variables.
func (s *Subject) checkStates(t *testing.T) {
	for _, want := range s.Truth.Threads {
		h, ok := s.ByLWP[want.LWP]
		if !ok || want.State == "" {
			continue
		}
		st, err := s.State(h, s.Evidence(t, want.LWP))
		if err != nil || !s.fits(st.State, want.State) || st.Evidence == "" {
			t.Errorf("LWP %d: state %v (%s, %v), the program says %s", want.LWP, st.State, st.Evidence, err, want.State)
		}
		if st.Tracked && !s.Expect.Tracked {
			t.Errorf("LWP %d: state %v is tracked, but the runtime keeps none", want.LWP, st.State)
		}
		if s.Expect.Nameless { // the runtime's own locks are unknown
			continue
		}
		word := uint64(want.WaitID)
		if word != 0 && (st.WaitID == 0 || st.WaitVariable != word || s.Expect.OwnWord && st.WaitID != word) {
			t.Errorf("LWP %d: waits for %#x, variable %#x; the program says %#x (%s)", want.LWP,
				st.WaitID, st.WaitVariable, word, st.Evidence)
		}
		bare, err := s.State(h, nil)
		if err != nil || bare.Evidence == "" {
			t.Errorf("LWP %d without evidence: %v (%s, %v)", want.LWP, bare.State, bare.Evidence, err)
		}
	}
}

// fits reports whether a state is as precise a version of the wanted one as the runtime can give.
func (s *Subject) fits(got handles.State, want string) bool {
	switch {
	case got.String() == want:
		return true
	case s.Expect.Nameless && got == handles.StateUndefined &&
		slices.Contains([]string{"wait_critical", "wait_lock", "wait_ordered"}, want):
		return true
	}
	return s.Expect.Fits != nil && s.Expect.Fits(got.String(), want)
}
