package text

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestSmallTasks checks the note on the cost of recording: it is printed for many small tasks, over all places,
// but not for longer or fewer ones, nor for other rows.
func TestSmallTasks(t *testing.T) {
	row := func(says string, count int, mean time.Duration) picture.Statistic {
		return picture.Statistic{Text: says, Count: count, Total: int64(count) * mean.Nanoseconds()}
	}
	for _, c := range []struct {
		name string
		rows []picture.Statistic
		want string
	}{
		{"small", []picture.Statistic{row("task", 200, 300), row("barrier", 9, 9e9), row("task", 200, 900)},
			"400 tasks take 600ns on the mean, and it costs some 50ns to record one"},
		{"instant", []picture.Statistic{row("task", 256, 0)}, "256 tasks take 0s"},
		{"almost", []picture.Statistic{row("task", 1000, 1000)}, ""},
		{"long", []picture.Statistic{row("task", 1000, 300), row("task", 1, 1e6)}, ""},
		{"few", []picture.Statistic{row("task", 255, 100)}, ""},
		{"others", []picture.Statistic{row("taskgroup", 1000, 100)}, ""},
		{"nothing", nil, ""},
	} {
		var out bytes.Buffer
		p := NewEvents(&out, false, 200, nil)
		p.Statistics(&picture.Statistics{Rows: c.rows})
		told := strings.Contains(out.String(), "--events default,-tasks")
		if told != (c.want != "") || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %q is not in\n%s", c.name, c.want, &out)
		}
	}
}

// TestSeconds compares the ages of events with the standard library's numbers.
func TestSeconds(t *testing.T) {
	for _, ago := range []time.Duration{
		0, 1, 499, 501, 999, 1000, 1499, 2_500_001, 999_999_499, 999_999_501, 1e9, 12_345_678_901, 1e15, -1, -501,
		-3_000_000_000,
	} {
		want := fmt.Sprintf("%14.6f", -ago.Seconds())
		if got := string(appendSeconds(nil, ago)); got != want {
			t.Errorf("%d ns: %q, want %q", ago, got, want)
		}
	}
}

// TestEventThreads requires the number of a thread before its LWP, if it is known.
func TestEventThreads(t *testing.T) {
	var out bytes.Buffer
	p := NewEvents(&out, false, 0, func(uint64) picture.Frame { return picture.Frame{} })
	p.EventHeading()
	p.Event(time.Second, 455, Member{Num: 1, Size: 64}, []byte("acquires lock a"), 0)
	p.Event(time.Second, 454, Member{}, []byte("joins region 0.1"), 0)
	want := "       seconds    thread      LWP  event\n" +
		"     -1.000000   1 of 64      455  acquires lock a\n" +
		"     -1.000000                454  joins region 0.1\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}

// TestSummary requires one row for equal events of all threads, whatever the ids of their tasks.
func TestSummary(t *testing.T) {
	var out bytes.Buffer
	p := NewEvents(&out, false, 0, func(pc uint64) picture.Frame {
		return picture.Frame{Kind: picture.FrameUser, Function: "step", File: "s.c", Line: int(pc)}
	})
	p.Summarize()
	p.EventHeading()
	for i := range 14000 {
		p.Event(time.Second, uint32(450+i%4), Member{}, []byte("acquires critical (unnamed)"), 7)
	}
	for i := range 30 {
		p.Event(time.Second, 450, Member{}, fmt.Appendf(nil, "creates task 0.%d", i), 9)
	}
	p.Event(time.Second, 451, Member{}, []byte("acquires lock 0x4040e0"), 11)
	p.End()
	want := "  count    threads  event                        at\n" +
		"  14,000×  4        acquires critical (unnamed)  step s.c:7\n" +
		"  30×      1        creates task                 step s.c:9\n" +
		"  1×       1        acquires lock 0x4040e0       step s.c:11\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}

// TestShares requires the part of all threads' time first, names for all columns, and the tasks that contain all else
// last.
func TestShares(t *testing.T) {
	var out bytes.Buffer
	p := NewEvents(&out, false, 0, nil)
	p.Statistics(&picture.Statistics{Threads: 4, Events: 9, Nanoseconds: 1e9, Rows: []picture.Statistic{
		{Text: "implicit task", Count: 4, Total: 4e9, Longest: 1e9},
		{Text: "barrier", Count: 4, Total: 5e8, Longest: 2e8, Open: 1},
	}})
	want := "9 events of 4 threads in 1s\n" +
		"  of time  construct      count  total  mean   longest  notes\n" +
		"   12.5 %  barrier        4      500ms  125ms  200ms    1 not over\n" +
		"  100.0 %  implicit task  4      4s     1s     1s\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}
