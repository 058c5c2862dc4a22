package tracetest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Processor returns the CPU time that this process has used, minus since. Other processes on the machine do not
// affect it.
func Processor(tb testing.TB, since time.Duration) time.Duration {
	tb.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano()+u.Stime.Nano()) - since
}
