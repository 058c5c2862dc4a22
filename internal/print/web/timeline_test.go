package web_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/web"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// timed adds a timeline of all threads to a picture: each worked, waits, and holds a lock; one second has n
// short spans.
func timed(pic *picture.Picture, n int) *picture.Picture {
	const s = int64(1e9)
	loop := picture.Frame{Kind: picture.FrameUser, File: "solve.c", Line: 7}
	line := &picture.Timeline{
		Nanoseconds: 4.2e9, Newest: 4 * s, Quiet: 12 * s,
		Activities: []picture.Activity{
			{Kind: picture.ActivityWork, Text: "loop", Frame: &loop},
			{Kind: picture.ActivityLockWait, Text: "wait for lock second"},
			{Kind: picture.ActivityLock, Text: "lock first"},
			{Kind: picture.ActivityBarrier, Text: "explicit barrier"},
		},
	}
	for i := range pic.Threads {
		r := picture.TimelineRow{Thread: pic.Threads[i].LWP, End: line.Nanoseconds}
		for k := range int64(n) {
			r.Spans = append(r.Spans, picture.TimelineSpan{
				Begin: k * s / int64(n), End: (k + 1) * s / int64(n), Activity: int(k % 4), Merged: 7,
			})
		}
		wait := 2*s + int64(i)*s/int64(len(pic.Threads))
		r.Spans = append(r.Spans, picture.TimelineSpan{Begin: s, End: wait},
			picture.TimelineSpan{Begin: wait, End: line.Nanoseconds, Activity: 1})
		r.Held = []picture.TimelineSpan{{Begin: s, End: line.Nanoseconds, Activity: 2}}
		line.Rows = append(line.Rows, r)
	}
	if pic.Facts == nil {
		pic.Facts = &picture.Facts{}
	}
	pic.Facts.History = &picture.History{Timeline: line}
	return pic
}

// TestTimeline checks that each thread's last activities are drawn and described; those that are too short have
// no element of their own.
func TestTimeline(t *testing.T) {
	page := draw(t, timed(golden(t, "llvm-deadlock"), 1000), web.Options{})
	_, section, _ := strings.Cut(page, `<section id="timeline"`)
	section, _, _ = strings.Cut(section, "</section>")
	for _, want := range []string{
		"the last 4 s before the newest event, which was 12 s ago", ">−1 s<", ">&#43;12 s<", "0 of 3 (LWP 5607)",
		"<title>wait for lock second: since −2 s</title>", "<title>lock first: since −3 s</title>",
		"<title>loop, solve.c:7: 1 s, from −3 s to −2 s</title>",
		"thread 0 of 3 (LWP 5607): at work ", "waits for a lock 58 % of the time", `aria-describedby="w-times"`,
		"A pale bar stands for several",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(section, "<rect"); n > 40 {
		t.Errorf("%d rectangles are drawn", n)
	}
	balanced(t, "timeline", page)
	if strings.Contains(draw(t, golden(t, "llvm-deadlock"), web.Options{}), `id="timeline"`) {
		t.Error("a program without recorder has a timeline")
	}
}

// TestTimelineMany draws 1,024 threads: some have a row, the others are one drawing, with at most their number
// at each moment.
func TestTimelineMany(t *testing.T) {
	pic := timed(large(1024, 0), 32)
	page := draw(t, pic, web.Options{})
	for _, want := range []string{
		"1012 other threads", "from none to 1012",
		"1012 other threads, threads 12-1023 of 1024 (LWP 5012-6023): at work ", "waits for a lock ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	with, without := len(page), len(draw(t, large(1024, 0), web.Options{}))
	if with-without > 128<<10 {
		t.Errorf("the timeline takes %d bytes", with-without)
	}
	_, layers, _ := strings.Cut(page, "from none to 1012")
	layers, _, _ = strings.Cut(layers, "</svg>")
	for _, m := range regexp.MustCompile(`[ML]\d+ (-?[\d.]+)H`).FindAllStringSubmatch(layers, -1) {
		var y float64
		if _, err := fmt.Sscan(m[1], &y); err != nil || y < 0 || y > 72 {
			t.Fatalf("a moment is drawn at %s", m[1])
		}
	}
	balanced(t, "many", page)
}

// TestTimelineHostile draws a picture with arbitrary numbers.
func TestTimelineHostile(t *testing.T) {
	const evil = "</svg><script>alert(1)</script>"
	for _, span := range []picture.TimelineSpan{
		{Begin: -1 << 62, End: 1 << 62, Activity: 1 << 40}, {Begin: 5, End: 3, Activity: -1, Merged: -3}, {},
	} {
		pic := large(40, 0)
		pic.Facts.History = &picture.History{Timeline: &picture.Timeline{
			Nanoseconds: 1 << 62, Newest: 1 << 61, Quiet: -4, Activities: []picture.Activity{{Kind: evil, Text: evil}},
		}}
		for i := range 40 {
			pic.Facts.History.Timeline.Rows = append(pic.Facts.History.Timeline.Rows, picture.TimelineRow{
				Thread: i, Begin: 9, End: -9, Spans: []picture.TimelineSpan{span}, Held: []picture.TimelineSpan{span},
			})
		}
		page := draw(t, pic, web.Options{})
		balanced(t, "hostile", page)
		if strings.Contains(page, "<script>alert") || !strings.Contains(page, `id="timeline"`) {
			t.Error(page)
		}
	}
}

// TestTimelineWhole checks that spans which are too short hide no later ones: a row of adjacent spans has no
// empty pixel.
func TestTimelineWhole(t *testing.T) {
	pic := timed(golden(t, "llvm-deadlock"), 0)
	line := pic.Facts.History.Timeline
	for i := range line.Rows {
		var spans []picture.TimelineSpan
		for at, k := int64(0), int64(0); at < line.Nanoseconds; k++ {
			end := min(at+1000, line.Nanoseconds) // within a pixel's five milliseconds
			if k%2 == 1 {
				end = min(at+12_000_000+k*1_000_000, line.Nanoseconds)
			}
			spans = append(spans, picture.TimelineSpan{Begin: at, End: end, Activity: int(k % 4), Merged: int(1 - k%2)})
			at = end
		}
		line.Rows[i].Spans = spans
	}
	page := draw(t, pic, web.Options{})
	_, row, _ := strings.Cut(page, `>0 of 3 (LWP 5607)</text>`)
	row, _, _ = strings.Cut(row, `<g data-name`)
	row, _, _ = strings.Cut(row, "</svg>")
	const lead, width = 190, 1080
	var drawn [width]bool
	mark := func(x, w string) {
		var from, wide int
		if _, err := fmt.Sscan(x+" "+w, &from, &wide); err != nil || from < 0 || from+wide > width {
			t.Fatalf("%s pixels at %s: %v", w, x, err)
		}
		for i := range wide {
			drawn[from+i] = true
		}
	}
	for _, m := range regexp.MustCompile(`M(\d+) 0h(\d+)v`).FindAllStringSubmatch(row, -1) {
		mark(m[1], m[2])
	}
	for _, m := range regexp.MustCompile(`<rect class="\w+(?: merged)?" x="(\d+)" y="\d+" width="(\d+)" height="16"`).
		FindAllStringSubmatch(row, -1) {
		mark(m[1], m[2])
	}
	for x := lead; x < width; x++ {
		if !drawn[x] {
			t.Errorf("nothing is drawn at %d", x)
		}
	}
}
