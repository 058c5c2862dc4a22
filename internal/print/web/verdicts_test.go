package web

import (
	"io"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestVerdictCards checks that the card of a verdict has its sources, its consequence and, for a crash, the stack,
// that a barrier with another missing thread has a card of its own, and that commands have no backquotes.
func TestVerdictCards(t *testing.T) {
	at := func(line int) picture.Frame {
		return picture.Frame{Function: "solve", File: "solve.c", Line: line, Kind: picture.FrameUser}
	}
	missing := func(lwp int) picture.Verdict {
		return picture.Verdict{Kind: picture.VerdictBarrierMissing, Severity: picture.SeverityHang,
			Summary: "2 arrived",
			Missing: []picture.MissingThread{{Thread: lwp}}}
	}
	deadlock := picture.Verdict{
		Kind: picture.VerdictSelfDeadlock, Severity: picture.SeverityHang, Threads: []int{7}, Fix: "type `make`",
		Cycle: []picture.CycleStep{{Thread: 7, HeldBy: 7, Frames: []picture.Frame{at(2)}}},
	}
	open := func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("first\nsecond\nthird\n")), nil
	}
	for _, c := range []struct {
		pic   picture.Picture
		cards int
		want  []string // in this order
	}{
		{picture.Picture{Verdicts: []picture.Verdict{deadlock, missing(7)}}, 1,
			[]string{"type make", "solve.c", "second", "waits here for", "Therefore:</b> 2 wait", "</article>"}},
		{picture.Picture{Verdicts: []picture.Verdict{deadlock, missing(8)}}, 2, []string{"second", "</article>",
			"2 arrived", "</article>"}},
		{picture.Picture{Target: picture.Target{Signal: "SIGSEGV", CrashedLWP: 7, Frames: []picture.Frame{at(3)}},
			Verdicts: []picture.Verdict{{Kind: picture.VerdictCrash, Severity: picture.SeverityCrash}}}, 1,
			[]string{"solve solve.c:3", "third", "SIGSEGV came here", "</article>"}},
	} {
		var b strings.Builder
		then := func(*picture.Verdict) []string { return []string{"2 wait"} }
		if err := Write(&b, &c.pic, Options{Source: open, Made: "made today", Consequences: then}); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		if n := strings.Count(page, "<article"); n != c.cards || !strings.Contains(page, "made today") {
			t.Errorf("%d cards, want %d, and the date", n, c.cards)
		}
		for rest, i := page, 0; i < len(c.want); i++ {
			_, after, found := strings.Cut(rest, c.want[i])
			if !found {
				t.Errorf("no %q, in this order, in\n%s", c.want[i], page[strings.Index(page, "<main"):])
				break
			}
			rest = after
		}
	}
}
