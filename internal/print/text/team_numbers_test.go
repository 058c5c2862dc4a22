package text_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestMembers requires the numbers of a region's members: of a complete team from the order of its members, of others
// from the threads, and LWPs alone without them.
func TestMembers(t *testing.T) {
	for name, c := range map[string]struct {
		members []int
		alone   bool // without the threads
		want    string
	}{
		"complete":           {[]int{454, 455, 456, 457}, true, "team of 4: threads 0-3 (LWP 454-457)\n"},
		"two are left":       {[]int{455, 457}, false, "team of 4: threads 1, 3 (LWP 455, 457)\n"},
		"one is left":        {[]int{457}, false, "team of 4: thread 3 (LWP 457)\n"},
		"unknown numbers":    {[]int{455, 457}, true, "team of 4: LWP 455, 457\n"},
		"one unknown number": {[]int{455, 900}, false, "team of 4: LWP 455, 900\n"},
	} {
		pic := team(4, func(int) doing { return atBarrier })
		pic.Regions[1].Threads = c.members
		if c.alone {
			pic.Threads = nil
		}
		if got := printed(t, text.Regions, pic, false, text.NoLimit); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is not in\n%s", name, c.want, got)
		}
	}
}

// TestTaskThreads requires the numbers of threads that execute tasks, also from implicit tasks alone.
func TestTaskThreads(t *testing.T) {
	pic := team(2, func(int) doing { return atBarrier })
	pic.Tasks = append(pic.Tasks,
		picture.Task{ID: "e", Kind: picture.TaskExplicit, State: picture.TaskRunning, Thread: 455, Region: "0x1"},
		picture.Task{ID: "q", Kind: picture.TaskExplicit, State: picture.TaskRunning, Thread: 455, Region: "0x7"})
	pic.Tasks[3].Function = &picture.Code{Name: "other"} // else the explicit tasks are one row
	for name, c := range map[string]struct {
		print func(*text.Printer, *picture.Picture)
		want  []string
	}{
		"picture": {text.Tasks, []string{`explicit +running +1 of 2 +455\n`, `explicit +running +455 +other\n`}},
		"stream": {func(p *text.Printer, pic *picture.Picture) {
			text.TaskStream(p, slices.Values(pic.Tasks), true)
		}, []string{`explicit +running +1 +455 `, `explicit +running +455 +other `}},
	} {
		got := printed(t, c.print, pic, false, text.NoLimit)
		for _, want := range c.want {
			if !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("%s: %q does not match\n%s", name, want, got)
			}
		}
	}
}
