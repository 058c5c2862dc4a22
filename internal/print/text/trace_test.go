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
