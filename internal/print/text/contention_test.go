package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// slow is a picture of a team in which thread 0 sleeps and holds a lock that the others wait for.
func slow(n int) *picture.Picture {
	f := picture.Frame{Kind: picture.FrameUser, Function: "rehash", File: "/src/slow.c", Line: 8}
	g := picture.Frame{Kind: picture.FrameUser, Function: "main", File: "/src/slow.c", Line: 12}
	pic := &picture.Picture{Target: picture.Target{Kind: "process", PID: 100},
		Facts: &picture.Facts{StacksComplete: true, Locks: []picture.Lock{{ID: "lock-1", Held: true,
			Holders: []picture.Holder{{Thread: 100, Certainty: picture.Certain, AcquiredAt: &g}}}}}}
	for i := range n {
		th := worker(100+i, i, n, "wait_lock", g)
		w := picture.Wait{Thread: th.LWP, Kind: picture.WaitLock, Name: "table", Lock: "lock-1", Asleep: true}
		if i == 0 {
			th = worker(100, 0, n, picture.StateSleep, f)
			th.Sleep = &picture.Sleep{Left: ref(999.8)}
			w = picture.Wait{Thread: 100, Kind: picture.WaitSleep, Name: "sleep", Sleep: th.Sleep}
		}
		th.WaitKind, th.WaitName = w.Kind, w.Name
		pic.Threads, pic.Facts.Waits = append(pic.Threads, th), append(pic.Facts.Waits, w)
	}
	return pic
}

// TestContention checks the line of each lock: its holder, the holder's place and the place of the acquisition,
// and the number of waiters. A lock in a verdict of a hang is left out, and at most three are printed.
func TestContention(t *testing.T) {
	const line = "lock table: held by thread 0 (LWP 100) in rehash slow.c:8, acquired at slow.c:12; 3 threads wait"
	pic := slow(4)
	if got := Contention(pic); !slices.Equal(got, []string{line}) {
		t.Errorf("%q", got)
	}
	pic.Facts.Locks[0].Holders[0].Certainty = picture.Likely
	if got := Contention(pic); len(got) != 1 || !strings.Contains(got[0], "slow.c:12 (likely); 3 threads wait") {
		t.Errorf("%q", got)
	}
	pic.Facts.Locks[0].Holders[0].Certainty = picture.Possible
	if got := Contention(pic); !slices.Equal(got, []string{"lock table: its holder is not known: perhaps thread 0 " +
		"(LWP 100) in rehash slow.c:8, acquired at slow.c:12, on some paths through its code; 3 threads wait"}) {
		t.Errorf("%q", got)
	}
	pic.Facts.Locks[0].Holders = nil
	if got := Contention(pic); !slices.Equal(got, []string{"lock table: its holder is not known: no thread's code " +
		"shows that it holds it; 3 threads wait"}) {
		t.Errorf("%q", got)
	}
	pic.Verdicts = []picture.Verdict{{Kind: picture.VerdictLockOrphaned, Severity: picture.SeverityHang,
		Threads: []int{101, 102, 103}}}
	if got := Contention(pic); len(got) != 0 {
		t.Errorf("%q", got)
	}
	pic = slow(2)
	for i := range 5 {
		id := picture.ID(fmt.Sprint("other-", i))
		pic.Facts.Locks = append(pic.Facts.Locks, picture.Lock{ID: id, Held: true, Owner: 100})
		pic.Facts.Waits = append(pic.Facts.Waits, picture.Wait{Thread: 200 + i, Kind: picture.WaitMutex, Lock: id})
	}
	got := Contention(pic)
	const more = "… 3 more such locks; the table of threads has their holders"
	if len(got) != maxContended+1 || got[maxContended] != more ||
		!strings.HasSuffix(got[0], "; 1 thread waits") {
		t.Errorf("%q", got)
	}
}

// TestResult checks that the cause of a missing progress is the end of the chains of waits, and that the report
// is not mentioned.
func TestResult(t *testing.T) {
	const end = "thread 0 (LWP 100) sleeps (sleep, 999.8 s left) in rehash slow.c:8, holds lock table; 3 threads " +
		"wait for it in the end"
	show := func(pic *picture.Picture, verdict string) string {
		var b strings.Builder
		Result(New(&b, false, NoLimit), &picture.Look{Picture: pic, Result: &picture.Change{Verdict: verdict}})
		return b.String()
	}
	for verdict, want := range map[string]bool{picture.WatchStuck: true, picture.WatchSpinning: true,
		picture.WatchProgress: false} {
		got := show(slow(4), verdict)
		if strings.Contains(got, end) != want || strings.Contains(got, "lock table: held by") != want ||
			strings.Contains(got, "next:") {
			t.Errorf("%s:\n%s", verdict, got)
		}
	}
	pic := slow(4)
	pic.Facts.Locks = nil // without known objects of waits: each is an end
	for i := range pic.Facts.Waits {
		pic.Facts.Waits[i].Lock = ""
	}
	const each = "threads 1-3 of 4 (LWP 101-103): each waits for lock table in main slow.c:12"
	if got := show(pic, picture.WatchStuck); !strings.Contains(got, each) {
		t.Error(got)
	}
	pic = slow(4)
	pic.Verdicts = []picture.Verdict{{Kind: picture.VerdictDeadlock, Severity: picture.SeverityHang,
		Summary: "it hangs"}}
	if got := show(pic, picture.WatchStuck); !strings.Contains(got, "DEADLOCK  it hangs") || strings.Contains(got,
		end) {
		t.Error(got)
	}
}

// TestHolds checks that the table of threads lists the held locks, if there are any.
func TestHolds(t *testing.T) {
	show := func(pic *picture.Picture) string {
		var b strings.Builder
		Threads(New(&b, false, NoLimit), pic)
		return b.String()
	}
	if got := show(slow(4)); !strings.Contains(got, "HOLDS") || !strings.Contains(got, "rehash slow.c:8  lock table") {
		t.Error(got)
	}
	pic := slow(4)
	pic.Facts = nil
	if got := show(pic); strings.Contains(got, "HOLDS") {
		t.Error(got)
	}
}
