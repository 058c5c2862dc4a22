package phrase

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// NumberedThread names a thread by its number in its team: "thread 1 (LWP 4712)"; by its LWP alone outside of
// parallel regions.
func NumberedThread(t picture.Thread) string {
	if t.ThreadNum == nil || t.Level == nil || *t.Level == 0 {
		return ThreadName(t)
	}
	return fmt.Sprintf("thread %d (%s)", *t.ThreadNum, ThreadName(t))
}
