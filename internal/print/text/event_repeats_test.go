package text

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// printEvents prints events with a printer that prepare changes. An event is "LWP TEXT", with the place step s.c:LWP,
// and each is a millisecond older than the next one.
func printEvents(prepare func(*Events), events []string) string {
	var out bytes.Buffer
	p := NewEvents(&out, false, NoLimit, func(pc uint64) picture.Frame {
		return picture.Frame{Kind: picture.FrameUser, Function: "step", File: "s.c", Line: int(pc)}
	})
	prepare(p)
	for i, e := range events {
		var lwp uint32
		head, text, _ := strings.Cut(e, " ")
		fmt.Sscan(head, &lwp)
		p.Event(time.Duration(len(events)-i)*time.Millisecond, lwp, Member{Num: lwp - 450, Size: 4}, []byte(text),
			uint64(lwp))
	}
	p.End()
	return out.String()
}

// TestFoldRepeats requires one line for the events that a thread repeats, also if other threads' events are in between,
// with the time of the last event, and a line for each other event.
func TestFoldRepeats(t *testing.T) {
	var events []string
	add := func(list ...string) { events = append(events, list...) }
	add("451 comes to an explicit barrier")
	for i := range 14000 {
		add("450 asks for critical (unnamed)", "450 acquires critical (unnamed)", "450 releases critical (unnamed)")
		if i < 3 {
			add("452 creates task 2.7")
		}
		add(fmt.Sprintf("453 creates task 3.%d", i))
	}
	add("450 asks for critical (unnamed)")
	got := printEvents((*Events).FoldRepeats, events)
	want := `    -56.005000    1 of 4      451  comes to an explicit barrier                         step s.c:451
    -56.001000    2 of 4      452  creates task 2.7                                     step s.c:452
    -55.996000    2 of 4      452  creates task 2.7                                     step s.c:452
    -55.991000    2 of 4      452  creates task 2.7                                     step s.c:452
     -0.003000    0 of 4      450  asks for, acquires, releases critical (unnamed) ×14,000 in 56s step s.c:450
     -0.002000    3 of 4      453  creates task ×14,000 in 56s                          step s.c:453
     -0.001000    0 of 4      450  asks for critical (unnamed)                          step s.c:450
  55998 events of repeats not shown; --all shows each
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	all := printEvents(func(p *Events) { p.FoldNothing(); p.FoldRepeats() }, events)
	if n := strings.Count(all, "\n"); n != len(events) || strings.Contains(all, "×") {
		t.Errorf("%d lines for %d events", n, len(events))
	}
}

// TestFoldBlocks requires that events are printed before there are too many of them, and that none is lost.
func TestFoldBlocks(t *testing.T) {
	events := make([]string, maxFolded+10)
	for i := range events {
		events[i] = "450 acquires lock a"
	}
	got := printEvents((*Events).FoldRepeats, events)
	for _, want := range []string{"acquires lock a ×262,144 in ", "acquires lock a ×10 in 9ms"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestJoinTexts requires the words at the end of all texts once.
func TestJoinTexts(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"begins a loop"}, "begins a loop"},
		{[]string{"begins a loop", "ends a loop"}, "begins, ends a loop"},
		{[]string{"begins a loop of 7", "ends a loop"}, "begins a loop of 7, ends a loop"},
		{[]string{"ends", "it ends"}, "ends, it ends"},
		{[]string{"", ""}, ", "},
	} {
		if got := joinTexts(c.texts); got != c.want {
			t.Errorf("%q: %q, want %q", c.texts, got, c.want)
		}
	}
}
