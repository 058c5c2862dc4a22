package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// stuckTeam is a team of n threads in a deadlock of threads 0 and 1, for which the others wait: for locks with names,
// or with addresses only.
func stuckTeam(n int, names bool) *picture.Picture {
	pic := team(n, func(num int) doing {
		name := ""
		if names {
			name = fmt.Sprintf("bucket[%d]", num)
		}
		return doing{"wait_lock", picture.WaitLock, name,
			[]picture.Frame{pseudo("lock_wait"), user("insert", 40), construct("main", "parallel", 27)}}
	})
	v := picture.Verdict{Kind: picture.VerdictDeadlock, Certainty: picture.Certain, Severity: picture.SeverityHang,
		Summary: "2 threads wait for each other and can never proceed"}
	for i := range pic.Threads {
		th := &pic.Threads[i]
		th.WaitID = ptr(picture.Hex(0x7f00_1000 + 64*i))
		if i < 2 {
			v.Threads = append(v.Threads, th.LWP)
		} else {
			v.Waiting = append(v.Waiting, th.LWP)
		}
	}
	pic.Verdicts = []picture.Verdict{v}
	return pic
}

// TestTherefore requires one clause for waits at one place, whether the locks have names or not.
func TestTherefore(t *testing.T) {
	for name, c := range map[string]struct {
		n     int
		names bool
		want  string
	}{
		"addresses": {12, false, "therefore 10 wait for a lock at mixed.c:40: threads 2-11 of 12 (LWP 456-465)\n"},
		"few names": {4, true, "therefore 1 waits for lock bucket[2] at mixed.c:40: thread 2 of 4 (LWP 456); " +
			"1 waits for lock bucket[3] at mixed.c:40: thread 3 of 4 (LWP 457)\n"},
		"many names": {12, true, "therefore 10 wait for a lock at mixed.c:40: threads 2-11 of 12 (LWP 456-465)\n"},
	} {
		got := printed(t, text.Verdicts, stuckTeam(c.n, c.names), false, text.NoLimit)
		if !strings.Contains(got, c.want) || strings.Count(got, "therefore") != 1 {
			t.Errorf("%s: %q is not in\n%s", name, c.want, got)
		}
	}
}

// TestBarrierAfterHang requires an incomplete barrier below the hang that it follows from: not at all if the hang lists
// its threads, else as a line.
func TestBarrierAfterHang(t *testing.T) {
	barrier := picture.Verdict{Kind: picture.VerdictBarrierMissing, Certainty: picture.Likely,
		Severity: picture.SeverityHang, Summary: "2 of 3 arrived at a barrier (mixed.c:31)",
		Missing: []picture.MissingThread{{Thread: firstLWP}}}
	for name, c := range map[string]struct {
		at   []int
		want string
	}{
		"listed":     {[]int{firstLWP + 2, firstLWP + 3}, ""},
		"not listed": {[]int{firstLWP + 2, firstLWP + 90}, "\n  therefore " + barrier.Summary + "\n"},
	} {
		pic := stuckTeam(4, false)
		barrier.Threads = c.at
		pic.Verdicts = append(pic.Verdicts, barrier)
		got := printed(t, text.Verdicts, pic, false, text.NoLimit)
		if !strings.Contains(got, c.want) || strings.Contains(got, barrier.Summary) != (c.want != "") {
			t.Errorf("%s: %q is not in\n%s", name, c.want, got)
		}
	}
}

// TestLibraryFrames requires one line for a call of the C++ standard library, before the program's frame.
func TestLibraryFrames(t *testing.T) {
	const headers = "/usr/include/c++/12/bits/"
	std := func(function, file string, line int) picture.Frame {
		return picture.Frame{Kind: picture.FrameUser, Function: function, File: headers + file, Line: line}
	}
	pic := deadlock(2)
	pic.Verdicts[0].Cycle[0].Frames = []picture.Frame{
		{Kind: picture.FrameSystem, Function: "pthread_mutex_lock", Module: "libc.so.6"},
		std("__gthread_mutex_lock", "gthr-default.h", 749), std("std::mutex::lock()", "std_mutex.h", 100),
		std("std::lock_guard<std::mutex>::lock_guard(std::mutex&)", "std_mutex.h", 229), user("transfer", 16),
	}
	pic.Stacks[0].Frames = pic.Verdicts[0].Cycle[0].Frames
	got := printed(t, text.Report, pic, false, text.NoLimit)
	const call = "std::lock_guard<std::mutex>::lock_guard\n"
	want := "\n      in " + call + "      at transfer mixed.c:16\n"
	if !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	got, want = printed(t, text.Stacks, pic, false, text.NoLimit), "\n    #0–#3 "+call+"    #4  transfer mixed.c:16\n"
	if !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	got, want = printed(t, func(p *text.Printer, pic *picture.Picture) {
		p.FoldNothing()
		text.Stacks(p, pic)
	}, pic, false, text.NoLimit), "\n    #1  __gthread_mutex_lock gthr-default.h:749\n"
	if !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}
