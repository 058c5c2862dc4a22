package verdicts

import (
	"slices"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestWokenByHandlers looks at threads that sleep until the handler of a signal wakes one of them, and at the same
// threads in a process without handlers.
func TestWokenByHandlers(t *testing.T) {
	for way, says := range []string{
		"2 threads wait for condition variable rang", "2 threads wait for the word word", "waits for semaphore bells",
	} {
		for _, unset := range []string{"0", "1"} {
			for i, run := range handoverRuns(t, "healthy_handled", strconv.Itoa(way), unset) {
				if i%3 == 1 {
					continue
				}
				t.Run(strconv.Itoa(way)+"/"+unset+"/"+handoverName(i, run), func(t *testing.T) {
					_, pic := e2e.Diagnose(t, strconv.Itoa(omptest.Start(t, run).PID))
					kinds, words := hangsIn(pic)
					switch {
					case unset == "0" && len(kinds) > 0:
						t.Errorf("hangs %v, which a handler may end:\n%s", kinds, words)
					case unset == "1" && !slices.Contains(kinds, picture.VerdictNeverWoken):
						t.Errorf("hangs %v:\n%s", kinds, words)
					case unset == "1":
						checkWords(t, words, []string{says}, nil)
					}
				})
			}
		}
	}
}
