package verdicts

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestTimedLocks looks at threads that wait for locks of each other. If a wait has a time limit, that is no deadlock:
// the report has the locks and their holders, and says that the wait ends by itself.
func TestTimedLocks(t *testing.T) {
	for way, names := range [][]string{
		{"mutex plates[1]", "mutex plates[0]"}, {"mutex plates[1]", "mutex plates[0]"},
		{"read-write lock books[1]", "read-write lock books[0]"},
		{"read-write lock books[1]", "read-write lock books[0]"},
		{"mutex plates[1]", "mutex plates[0]"}, {"mutex plates[0]", "mutex plates[0]"},
	} {
		for _, limited := range []string{"0", "1"} {
			for i, run := range handoverRuns(t, "verdict_timed_lock", strconv.Itoa(way), limited) {
				if i%3 == 1 {
					continue
				}
				t.Run(strconv.Itoa(way)+"/"+limited+"/"+handoverName(i, run), func(t *testing.T) {
					_, pic := e2e.Diagnose(t, strconv.Itoa(omptest.Start(t, run).PID))
					kinds, words := hangsIn(pic)
					if limited == "0" {
						want := picture.VerdictDeadlock
						if way == 5 {
							want = picture.VerdictSelfDeadlock
						}
						if !slices.Equal(kinds, []picture.VerdictKind{want}) {
							t.Errorf("hangs %v, want %s:\n%s", kinds, want, words)
						}
						return
					}
					if len(kinds) > 0 {
						t.Errorf("hangs %v of threads that wait until a time limit:\n%s", kinds, words)
					}
					checkTimed(t, pic, names, way < 4)
				})
			}
		}
	}
}

// checkTimed checks that the threads wait for these locks, thread 0 until a time limit, and thread 1 too if both is
// set. The picture has the holder of each lock.
func checkTimed(t *testing.T, pic *picture.Picture, names []string, both bool) {
	t.Helper()
	said := text.NoVerdict(pic)
	for n, name := range names {
		timed := n == 0 || both
		if !strings.Contains(said, "for "+name) || timed && !strings.Contains(said, name+" until a time limit") {
			t.Errorf("the text lacks the wait for %s: %s", name, said)
		}
		i := slices.IndexFunc(pic.Facts.Waits, func(w picture.Wait) bool { return w.Thread == pic.Threads[n].LWP })
		if i < 0 {
			t.Errorf("thread %d has no wait", n)
			continue
		}
		w := pic.Facts.Waits[i]
		own := n == 0 && names[0] == names[1]
		if w.Timed != timed || w.WaitOn == 0 || (w.WaitOn == w.Thread) != own {
			t.Errorf("the wait of thread %d: %+v", n, w)
		}
	}
}
