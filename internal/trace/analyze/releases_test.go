package analyze_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// spanCounter counts spans of held locks, also those without an end.
type spanCounter struct{ held, points int }

func (c *spanCounter) Begin(s *analyze.Span) {
	if s.What == analyze.LockHeld {
		c.held++
	}
}
func (c *spanCounter) End(*analyze.Span) {}
func (c *spanCounter) Point(_ *trace.Thread, _ uint32, e *trace.Event) {
	if e.Code == trace.MutexAcquired {
		c.points++
	}
}

// TestReleasesLeftOut checks that no lock counts as held if releases are not recorded.
func TestReleasesLeftOut(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		s := newScript(1)
		for range 3 {
			s.take(0, 1, 5)
			s.give(0, 5)
		}
		rec := s.Read(t)
		if !recorded {
			rec.Header.Events &^= 1 << trace.MutexReleased
		}
		var c spanCounter
		analyze.Walk(rec, analyze.Window{}, func(*trace.Thread) analyze.Sink { return &c })
		if want := (spanCounter{held: 3}); recorded && c != want {
			t.Errorf("with releases: %+v, want %+v", c, want)
		}
		if want := (spanCounter{points: 3}); !recorded && c != want {
			t.Errorf("without: %+v, want %+v", c, want)
		}
	}
}
